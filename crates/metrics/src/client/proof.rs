//! The thresholds, and what is beyond them by more than chance.

use super::{Activity, ClientProof, ClientVerdict, Criterion, CriterionState};
use crate::latency::Latencies;
use crate::quantile::{CONFIDENCE, interval_ranks, type7};
use crate::stats::binomial::lower_bound;
use plimsoll_record::{Ceiling, Environment, Level};

/// Sends later than this at the p99 are late.
const SEND_DELAY: f64 = 0.001;
/// Reads later than this at the p99 are late, whatever the time per token.
const READ_DELAY: f64 = 0.001;
/// So are reads later than this share of the median time per token.
const READ_DELAY_OF_TPOT: f64 = 0.05;
/// A runtime later than this at the p99 is busy.
const RUNTIME_LAG: f64 = 0.002;
/// A thread that uses more of a processor than this has no room left for bursts.
const BUSIEST: f64 = 0.7;
/// A self-test must have reached this many times the load.
const CEILING: f64 = 3.0;
/// Fewest observations from which anything is concluded.
const FEWEST: usize = 20;
const P99: u32 = 990_000;

/// What a level's proof rests on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proving<'a> {
    pub latencies: &'a Latencies,
    pub activity: &'a Activity,
    pub environment: &'a Environment,
    pub events_s: f64,
    pub requests_s: f64,
}

/// The proof of one level.
pub(crate) fn prove(of: &Proving<'_>) -> ClientProof {
    use CriterionState::{Exceeded, Open, Unknown};
    let decisive = [send_delay(of), read_delay(of), runtime_lag(of), busiest(of), throttling(of)];
    let limits = &of.environment.limits;
    let further = [
        prompts(of),
        ceiling(of),
        room("files", "open files", limits.files_needed, limits.files_allowed),
        room("ports", "local ports", limits.ports_needed, limits.ports_allowed),
    ];
    let texts = |criteria: &[Criterion], states: &[CriterionState]| -> Vec<String> {
        criteria.iter().filter(|c| states.contains(&c.state)).map(|c| c.text.clone()).collect()
    };
    let exceeded = texts(&decisive, &[Exceeded]);
    let mut doubts = texts(&decisive, &[Open, Unknown]);
    doubts.extend(texts(&further, &[Exceeded]));
    let unknown = texts(&further, &[Unknown]);
    let (verdict, reasons) = if !exceeded.is_empty() {
        (ClientVerdict::Limited, exceeded)
    } else if !doubts.is_empty() {
        (ClientVerdict::NotProven, [doubts, unknown].concat())
    } else {
        (ClientVerdict::Clear, unknown)
    };
    ClientProof {
        verdict,
        reasons: reasons.join("; "),
        criteria: decisive.into_iter().chain(further).collect(),
    }
}

/// The proof of a run: the gravest of its levels'.
pub(crate) fn of_run(levels: &[(Level, &ClientProof)]) -> ClientProof {
    let gravest = levels.iter().map(|(_, proof)| proof.verdict).max();
    let verdict = gravest.unwrap_or(ClientVerdict::NotProven);
    let same: Vec<&(Level, &ClientProof)> =
        levels.iter().filter(|(_, proof)| proof.verdict == verdict).collect();
    let mut names: Vec<String> = same.iter().map(|(level, _)| level.to_string()).collect();
    names.dedup();
    let reasons = match (same.last(), verdict) {
        (None, _) => "no level was measured".to_owned(),
        (Some((_, proof)), ClientVerdict::Clear) => proof.reasons.clone(),
        (Some((_, proof)), _) if levels.len() == 1 => proof.reasons.clone(),
        (Some((level, proof)), _) => format!("at {}; at {level}: {}", names.join(", "), proof.reasons),
    };
    ClientProof { verdict, reasons, criteria: Vec::new() }
}

/// Ends of what is known of a p99: its value (below n = 100 the largest), and the lower end of its interval.
fn p99(sorted: &[f64]) -> Option<(&'static str, f64, Option<f64>)> {
    let largest = *sorted.last()?;
    let rank = interval_ranks(sorted.len() as u64, P99, CONFIDENCE).low;
    let low = rank.and_then(|rank| sorted.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied());
    match type7(sorted, P99) {
        Some(value) if sorted.len() >= 100 => Some(("p99", value, low)),
        _ => Some(("largest", largest, low)),
    }
}

fn of_times(name: &str, what: &str, sorted: &[f64], threshold: f64, unknown: &str) -> Criterion {
    let n = sorted.len() as u64;
    let limit = format!("limit {:.3} ms", 1e3 * threshold);
    let (state, value, text) = match p99(sorted) {
        None => (CriterionState::Unknown, None, format!("{what} not known: {unknown}")),
        Some((statistic, value, low)) => {
            let state = if sorted.len() < FEWEST {
                CriterionState::Open
            } else if value < threshold {
                CriterionState::Met
            } else if low.is_some_and(|low| low >= threshold) {
                CriterionState::Exceeded
            } else {
                CriterionState::Open
            };
            let few = if sorted.len() < FEWEST { ", too few" } else { "" };
            let text = format!("{what} {statistic} {:.3} ms, n = {n}{few}, {limit}", 1e3 * value);
            (state, Some(value), text)
        }
    };
    Criterion { name: name.to_owned(), state, value, threshold, unit: "s".to_owned(), n, text }
}

fn send_delay(of: &Proving<'_>) -> Criterion {
    of_times("send_delay", "send delay", &of.latencies.send_delay, SEND_DELAY, "no request was sent")
}

fn runtime_lag(of: &Proving<'_>) -> Criterion {
    of_times("runtime_lag", "runtime lag", &of.activity.runtime_lag, RUNTIME_LAG, "no heartbeat was kept")
}

/// From the kernel's receipt to the read. A record keeps the longest of its reads: where the p99 over requests of the
/// longest is within the limit, so is the p99 over reads. One read in a hundred is late when more requests than
/// `1 - 0.99^m` have a late one, of `m` reads each.
fn read_delay(of: &Proving<'_>) -> Criterion {
    let tpot = type7(&of.latencies.tpot_all, 500_000);
    let threshold = tpot.map_or(READ_DELAY, |tpot| READ_DELAY.min(READ_DELAY_OF_TPOT * tpot));
    let sorted = &of.latencies.kernel_lag;
    let mut found = of_times(
        "read_delay",
        "read delay (longest per request)",
        sorted,
        threshold,
        "the kernel's receive stamps are not kept here",
    );
    if found.state == CriterionState::Exceeded {
        let late = sorted.iter().filter(|lag| **lag >= threshold).count() as u64;
        let reads = of.latencies.reads_per_request.unwrap_or(1.0).max(1.0);
        let expected = 1.0 - libm::pow(0.99, reads);
        let share = late as f64 / sorted.len().max(1) as f64;
        if lower_bound(late, sorted.len() as u64, CONFIDENCE).is_none_or(|low| low <= expected) {
            found.state = CriterionState::Open;
        }
        found.text = format!(
            "{}; {:.0} % of the requests have a late read, {:.0} % would if one read in a hundred were late",
            found.text,
            100.0 * share,
            100.0 * expected
        );
    }
    found
}

fn busiest(of: &Proving<'_>) -> Criterion {
    let (state, value, n, text) = match of.activity.busiest {
        None => (CriterionState::Unknown, None, 0, "busiest thread not known: no samples of it".to_owned()),
        Some((share, n)) => {
            let state = if share < BUSIEST { CriterionState::Met } else { CriterionState::Exceeded };
            let text =
                format!("busiest thread {:.0} %, n = {n}, limit {:.0} %", 100.0 * share, 100.0 * BUSIEST);
            (state, Some(share), n, text)
        }
    };
    let name = "busiest_thread".to_owned();
    Criterion { name, state, value, threshold: BUSIEST, unit: "share".to_owned(), n, text }
}

fn throttling(of: &Proving<'_>) -> Criterion {
    let limits = &of.environment.limits;
    // Where the limits were looked up and no quota was found, nothing throttles.
    let no_quota = limits.files_allowed.is_some() && limits.cpu_quota.is_none();
    let n = of.activity.samples;
    let (state, value, text) = match of.activity.throttled {
        Some(0) => (CriterionState::Met, Some(0.0), "not throttled".to_owned()),
        Some(periods) => {
            let time = of.activity.throttled_s.map_or_else(String::new, |s| format!(", {s:.3} s in all"));
            let text =
                format!("throttled in {periods} periods of its processor quota{time}, n = {n}, limit 0");
            (CriterionState::Exceeded, Some(periods as f64), text)
        }
        None if no_quota => (CriterionState::Met, None, "no processor quota".to_owned()),
        None => (CriterionState::Unknown, None, "throttling not known".to_owned()),
    };
    let name = "throttling".to_owned();
    Criterion { name, state, value, threshold: 0.0, unit: "periods".to_owned(), n, text }
}

/// Requests are made ahead of their use; where that falls behind, a thread that sends stands still.
fn prompts(of: &Proving<'_>) -> Criterion {
    let (state, n, text) = match of.activity.starved {
        Some((0, n)) => {
            (CriterionState::Met, n, "every prompt was made before its request was due".to_owned())
        }
        Some((count, n)) => {
            let text = format!(
                "{count} requests were due before their prompts had been made, n = {n}, limit 0: shorter prompts, a lower \
                 rate or a faster client"
            );
            (CriterionState::Exceeded, n, text)
        }
        None => (CriterionState::Unknown, 0, "waits for prompts not known".to_owned()),
    };
    let value = of.activity.starved.map(|(count, _)| count as f64);
    let name = "prompts".to_owned();
    Criterion { name, state, value, threshold: 0.0, unit: "requests".to_owned(), n, text }
}

/// Events and requests per second of the self-test over those of the level; the smaller of the two.
fn ceiling(of: &Proving<'_>) -> Criterion {
    let times = |ceiling: &Ceiling| {
        [(ceiling.events_s, of.events_s), (ceiling.requests_s, of.requests_s)]
            .into_iter()
            .filter(|(_, measured)| *measured > 0.0)
            .map(|(most, measured)| most / measured)
            .filter(|times| times.is_finite())
            .reduce(f64::min)
    };
    let (state, value, text) = match of.environment.ceiling.as_ref().map(times) {
        None => (CriterionState::Unknown, None, "no self-test ceiling was measured".to_owned()),
        Some(None) => (CriterionState::Unknown, None, "no event to compare with the self-test".to_owned()),
        Some(Some(times)) => {
            let (state, verdict) = if times >= CEILING {
                (CriterionState::Met, "")
            } else {
                (CriterionState::Exceeded, "client-limited possible: ")
            };
            let text =
                format!("{verdict}the self-test reached {times:.1} times this load, {CEILING:.0} are asked");
            (state, Some(times), text)
        }
    };
    let name = "ceiling".to_owned();
    Criterion { name, state, value, threshold: CEILING, unit: "times".to_owned(), n: 1, text }
}

fn room(name: &str, what: &str, needed: Option<u64>, allowed: Option<u64>) -> Criterion {
    let (state, text) = match (needed, allowed) {
        (Some(needed), Some(allowed)) if needed <= allowed => {
            (CriterionState::Met, format!("{needed} {what} needed, {allowed} allowed"))
        }
        (Some(needed), Some(allowed)) => {
            (CriterionState::Exceeded, format!("{needed} {what} needed, only {allowed} allowed"))
        }
        _ => (CriterionState::Unknown, format!("{what} needed and allowed not known")),
    };
    Criterion {
        name: name.to_owned(),
        state,
        value: needed.map(|count| count as f64),
        threshold: allowed.map_or(0.0, |count| count as f64),
        unit: name.to_owned(),
        n: 1,
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::ClientLimits;

    fn sound() -> (Latencies, Activity, Environment) {
        let latencies = Latencies {
            send_delay: vec![0.000_2; 200],
            kernel_lag: vec![0.000_1; 200],
            tpot_all: vec![0.01; 200],
            reads_per_request: Some(100.0),
            ..Latencies::default()
        };
        let activity = Activity {
            runtime_lag: vec![0.000_3; 3000],
            busiest: Some((0.3, 30)),
            throttled: Some(0),
            starved: Some((0, 30)),
            samples: 30,
            ..Activity::default()
        };
        let environment = Environment {
            limits: ClientLimits {
                files_needed: Some(100),
                files_allowed: Some(1024),
                ports_needed: Some(64),
                ports_allowed: Some(28_000),
                cpu_quota: Some(2.0),
            },
            ceiling: Some(Ceiling { events_s: 100_000.0, requests_s: 5000.0, ..Ceiling::default() }),
            ..Environment::default()
        };
        (latencies, activity, environment)
    }

    fn proof(change: impl FnOnce(&mut Latencies, &mut Activity, &mut Environment)) -> ClientProof {
        let (mut latencies, mut activity, mut environment) = sound();
        change(&mut latencies, &mut activity, &mut environment);
        prove(&Proving {
            latencies: &latencies,
            activity: &activity,
            environment: &environment,
            events_s: 10_000.0,
            requests_s: 100.0,
        })
    }

    #[test]
    fn clear_only_when_everything_is_known_and_met() {
        let clear = proof(|_, _, _| {});
        assert_eq!((clear.verdict, clear.text().as_str()), (ClientVerdict::Clear, "clear"));
        let no_test = proof(|_, _, environment| environment.ceiling = None);
        assert_eq!(no_test.text(), "clear (no self-test ceiling was measured)");
        for (unknown, text) in [
            (
                proof(|latencies, _, _| latencies.kernel_lag.clear()),
                "read delay (longest per request) not known",
            ),
            (proof(|_, activity, _| activity.runtime_lag.clear()), "runtime lag not known"),
            (proof(|_, activity, _| activity.busiest = None), "busiest thread not known"),
            (proof(|_, activity, _| activity.throttled = None), "throttling not known"),
            (proof(|latencies, _, _| latencies.send_delay.truncate(19)), "n = 19, too few"),
        ] {
            assert_eq!(unknown.verdict, ClientVerdict::NotProven, "{text}");
            assert!(unknown.reasons.contains(text), "{text}: {}", unknown.reasons);
        }
        let no_quota = proof(|_, activity, environment| {
            activity.throttled = None;
            environment.limits.cpu_quota = None;
        });
        assert_eq!(no_quota.verdict, ClientVerdict::Clear);
    }

    #[test]
    fn prompts_that_were_late_are_a_doubt() {
        let late = proof(|_, activity, _| activity.starved = Some((3, 30)));
        assert_eq!(late.verdict, ClientVerdict::NotProven);
        assert!(
            late.reasons
                .starts_with("3 requests were due before their prompts had been made, n = 30, limit 0"),
            "{}",
            late.reasons
        );
        let unknown = proof(|_, activity, _| activity.starved = None);
        assert_eq!(unknown.verdict, ClientVerdict::Clear);
    }

    #[test]
    fn each_threshold_bites() {
        for (limited, text) in [
            (
                proof(|latencies, _, _| latencies.send_delay = vec![0.001_1; 200]),
                "send delay p99 1.100 ms, n = 200, limit 1.000 ms",
            ),
            (
                proof(|latencies, _, _| latencies.kernel_lag = vec![0.000_6; 200]),
                "limit 0.500 ms; 100 % of the requests",
            ),
            (
                proof(|_, activity, _| activity.runtime_lag = vec![0.002_1; 3000]),
                "runtime lag p99 2.100 ms, n = 3000, limit 2.000 ms",
            ),
            (
                proof(|_, activity, _| activity.busiest = Some((0.7, 9))),
                "busiest thread 70 %, n = 9, limit 70 %",
            ),
            (proof(|_, activity, _| activity.throttled = Some(2)), "throttled in 2 periods"),
        ] {
            assert_eq!(limited.verdict, ClientVerdict::Limited, "{text}");
            assert!(limited.reasons.contains(text), "{text}: {}", limited.reasons);
        }
        let near = proof(|latencies, activity, _| {
            latencies.send_delay = vec![0.000_99; 200];
            latencies.kernel_lag = vec![0.000_49; 200];
            activity.runtime_lag = vec![0.001_99; 3000];
            activity.busiest = Some((0.699, 9));
        });
        assert_eq!(near.verdict, ClientVerdict::Clear, "{}", near.reasons);
    }

    /// One late send in 72, or four late reads in 200 requests of 100 reads, prove nothing against a client.
    #[test]
    fn hiccups_leave_it_open() {
        let once = proof(|latencies, _, _| {
            latencies.send_delay = [vec![0.000_2; 71], vec![0.004]].concat();
        });
        assert_eq!(once.verdict, ClientVerdict::NotProven);
        assert!(once.reasons.contains("send delay largest 4.000 ms, n = 72"), "{}", once.reasons);
        let late = |count: usize| {
            let of = proof(|latencies, _, _| {
                latencies.kernel_lag = [vec![0.000_1; 200 - count], vec![0.004; count]].concat();
            });
            of.verdict
        };
        // At 1 - 0.99^100 = 63.4 %, 139 or more of 200 come with a chance of 4.2 %, 138 with one of 5.7 %.
        assert_eq!([4, 127, 138].map(late), [ClientVerdict::NotProven; 3]);
        assert_eq!([0, 139].map(late), [ClientVerdict::Clear, ClientVerdict::Limited]);
    }

    #[test]
    fn a_low_ceiling_and_too_few_files_are_doubts() {
        let low = proof(|_, _, environment| {
            environment.ceiling =
                Some(Ceiling { events_s: 29_000.0, requests_s: 5000.0, ..Ceiling::default() });
        });
        assert_eq!(low.verdict, ClientVerdict::NotProven);
        assert!(
            low.reasons.contains("client-limited possible: the self-test reached 2.9 times"),
            "{}",
            low.reasons
        );
        let files = proof(|_, _, environment| environment.limits.files_allowed = Some(99));
        assert!(files.reasons.contains("100 open files needed, only 99 allowed"), "{}", files.reasons);
    }

    #[test]
    fn a_run_is_as_its_gravest_level() {
        let (clear, limited) =
            (proof(|_, _, _| {}), proof(|_, activity, _| activity.busiest = Some((0.9, 9))));
        let run = of_run(&[(1.into(), &clear), (8.into(), &limited), (16.into(), &limited)]);
        assert_eq!(run.text(), "limited (at 8, 16; at 16: busiest thread 90 %, n = 9, limit 70 %)");
        assert_eq!(of_run(&[(1.into(), &clear)]).verdict, ClientVerdict::Clear);
        assert_eq!(of_run(&[]).verdict, ClientVerdict::NotProven);
    }
}
