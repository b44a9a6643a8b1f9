use super::{Clause, Metric, Objective};
use crate::quantile::{CONFIDENCE, ONE, label};
use crate::stats::binomial::{lower_bound, upper_bound, upper_tail};
use crate::summary::{SloLevel, Verdict};
use crate::timing::{Timing, gaps};
use plimsoll_record::{Level, RequestRecord};

/// The measured requests of a level, repeats pooled, and why they must not be judged by a metric.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    pub level: Level,
    pub requests: Vec<&'a RequestRecord>,
    /// Names of withheld numbers with the flag that withholds them.
    pub withheld: Vec<(String, String)>,
}

/// Whether one request met a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    Yes,
    No,
    /// Its token count is not known.
    Unknown,
}

/// Flags of levels at which a failure stands although numbers are withheld: what fails at less load than asked, or
/// while the backlog still grows, fails at the load asked and later on.
const FAILS_ALL_THE_MORE: [&str; 2] = ["in_flight_low", crate::integrity::NOT_STEADY];

/// Judges an objective at a level: the share of measured requests that met all clauses together, with one-sided
/// Clopper-Pearson bounds, against the largest of the clauses' shares.
pub(crate) fn judge(objective: &Objective, pool: &Pool<'_>) -> SloLevel {
    let n = pool.requests.len() as u64;
    let target = share(objective.target_ppm());
    let each: Vec<Vec<Met>> = objective
        .clauses
        .iter()
        .map(|clause| pool.requests.iter().map(|r| met(clause, r)).collect())
        .collect();
    let joint: Vec<Met> = (0..pool.requests.len())
        .map(|index| each.iter().filter_map(|clause| clause.get(index)).fold(Met::Yes, |a, b| a.and(*b)))
        .collect();
    let (ok, unknown) = counts(&joint);
    // A request that cannot be judged is a miss for the lower bound and a success for the upper one.
    let (lower, upper) = (lower_bound(ok, n, CONFIDENCE), upper_bound(ok + unknown, n, CONFIDENCE));
    let concerns = |(number, _): &&(String, String)| {
        objective.clauses.iter().any(|clause| {
            number.strip_prefix(clause.metric.name()).is_some_and(|suffix| suffix.starts_with('_'))
        })
    };
    let measured = three_state(lower, upper, target);
    let stands = |flag: &str| measured == Verdict::Fail && FAILS_ALL_THE_MORE.contains(&flag);
    let invalid = pool.withheld.iter().filter(concerns).find(|(_, flag)| !stands(flag));
    let verdict = if invalid.is_some() { Verdict::Inconclusive } else { measured };
    let mut text = vec![match (n, lower, upper) {
        (0, ..) | (_, None, _) | (_, _, None) => "No request was measured.".to_owned(),
        (_, Some(lower), Some(upper)) => format!(
            "{}: {ok} of {n} requests ({}) met {}; the true share is at least {} and at most {} (each with 95 % confidence), {} is asked.",
            state(verdict),
            percent(ok as f64 / n as f64),
            if objective.clauses.len() > 1 { "all clauses" } else { "it" },
            percent(lower),
            percent_above(upper),
            percent(target),
        ),
    }];
    if unknown > 0 {
        text.push(format!("{unknown} complete requests have no token count and could not be judged."));
    }
    match invalid {
        Some((_, flag)) => text.push(format!("Not judged: the measurements failed a check ({flag}).")),
        None if verdict == Verdict::Inconclusive && n > 0 => text.push(needed(ok, n, target)),
        None => {}
    }
    if objective.clauses.len() > 1 && n > 0 {
        text.extend(objective.clauses.iter().zip(&each).map(|(clause, met)| {
            let (ok, unknown) = counts(met);
            let bounds = (lower_bound(ok, n, CONFIDENCE), upper_bound(ok + unknown, n, CONFIDENCE));
            let alone = three_state(bounds.0, bounds.1, share(clause.quantile_ppm));
            format!("{clause} alone: {}, {ok} of {n}.", state(alone).to_lowercase())
        }));
    }
    SloLevel { level: pool.level, verdict, ok, n, target, lower, upper, text: text.join(" ") }
}

fn three_state(lower: Option<f64>, upper: Option<f64>, target: f64) -> Verdict {
    match (lower, upper) {
        (Some(lower), _) if lower >= target => Verdict::Pass,
        (_, Some(upper)) if upper < target => Verdict::Fail,
        _ => Verdict::Inconclusive,
    }
}

impl Met {
    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Yes, Self::Yes) => Self::Yes,
        }
    }
}

/// A failed request is a miss. A request with a single token has no time per token and no gaps: it meets limits on them.
fn met(clause: &Clause, request: &RequestRecord) -> Met {
    if !request.outcome.is_ok() {
        return Met::No;
    }
    let timing = Timing::of(request);
    let value = match clause.metric {
        Metric::Ttft => timing.ttft,
        Metric::E2e => timing.e2e,
        Metric::Tpot => match request.output_tokens {
            None => return Met::Unknown,
            Some(0 | 1) => return Met::Yes,
            Some(_) => timing.tpot,
        },
        Metric::Itl => match gaps(request).iter().map(|gap| gap.ns).reduce(f64::max) {
            None => return Met::Yes,
            longest => longest,
        },
    };
    let limit = clause.limit_ns as f64;
    match value {
        Some(value) if value < limit || (clause.or_equal && value <= limit) => Met::Yes,
        // Without the stamps that a complete request must have, nothing shows that it was fast enough.
        _ => Met::No,
    }
}

fn counts(met: &[Met]) -> (u64, u64) {
    let count = |wanted| met.iter().filter(|met| **met == wanted).count() as u64;
    (count(Met::Yes), count(Met::Unknown))
}

/// Which number of requests would settle the matter at the share seen.
fn needed(ok: u64, n: u64, target: f64) -> String {
    const MOST: u64 = 1 << 20;
    let alpha = 1.0 - CONFIDENCE;
    let passes = |n: u64, ok: u64| upper_tail(ok, n, target) <= alpha;
    let fails = |n: u64, ok: u64| 1.0 - upper_tail(ok + 1, n, target) <= alpha;
    let at_same_share = |more: u64| (u128::from(ok) * u128::from(more) / u128::from(n.max(1))) as u64;
    let settled = |more: u64| passes(more, at_same_share(more)) || fails(more, at_same_share(more));
    let clean = {
        let (mut low, mut high) = (1, MOST);
        while low < high {
            let middle = u64::midpoint(low, high);
            if passes(middle, middle) { high = middle } else { low = middle + 1 }
        }
        low
    };
    if n < clean {
        return format!("It needs n >= {clean}: with fewer requests not even a run without a miss passes.");
    }
    let mut above = n.max(1);
    while above < MOST && !settled(above) {
        above = above.saturating_mul(2);
    }
    if above >= MOST {
        return "The share seen is so near the target that no feasible n settles it.".to_owned();
    }
    let (mut low, mut high) = (above / 2, above);
    while low < high {
        let middle = u64::midpoint(low, high);
        if settled(middle) { high = middle } else { low = middle + 1 }
    }
    format!("At the share seen, about n = {low} would settle it.")
}

fn share(ppm: u32) -> f64 {
    f64::from(ppm) / f64::from(ONE)
}

fn percent(share: f64) -> String {
    // Rounded away from certainty: 99.96 % is not 100 %.
    let hundredths = libm::floor(share * 1e4 + 1e-6);
    format!("{:.2} %", hundredths / 100.0)
}

/// The same for an upper bound, which must not be shown lower than it is.
fn percent_above(share: f64) -> String {
    let hundredths = libm::ceil(share * 1e4 - 1e-6).abs();
    format!("{:.2} %", hundredths / 100.0)
}

const fn state(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "Pass",
        Verdict::Fail => "Fail",
        Verdict::Inconclusive => "Inconclusive",
    }
}

impl std::fmt::Display for Clause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.or_equal { "<=" } else { "<" };
        let limit = plimsoll_record::Span::new(std::time::Duration::from_nanos(self.limit_ns));
        write!(f, "{} {} {sign} {limit}", self.metric.name(), label(self.quantile_ppm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slo::Slo;
    use crate::testing::Request;
    use plimsoll_record::{FailureKind, Outcome};

    fn run(n: u64, misses: u64) -> Vec<RequestRecord> {
        (0..n)
            .map(|k| Request::new(0).tokens_at(&[if k < misses { 2000 } else { 100 }, 2010]).build())
            .collect()
    }

    fn judged(slo: &str, records: &[RequestRecord]) -> SloLevel {
        let objective = Slo::parse(slo).unwrap().remove(0);
        judge(&objective, &Pool { level: 4.into(), requests: records.iter().collect(), withheld: Vec::new() })
    }

    /// Counts from scipy's Clopper-Pearson bounds.
    #[test]
    fn bounds_are_rounded_outwards() {
        assert_eq!((percent(0.009_97), percent_above(0.009_97)), ("0.99 %".to_owned(), "1.00 %".to_owned()));
        assert_eq!((percent(0.95), percent_above(0.95)), ("95.00 %".to_owned(), "95.00 %".to_owned()));
        assert_eq!((percent_above(0.0), percent_above(1.0)), ("0.00 %".to_owned(), "100.00 %".to_owned()));
    }

    #[test]
    fn three_states() {
        for (n, pass, fail) in [(100, 99, 90), (200, 196, 184), (500, 484, 466), (1000, 962, 937)] {
            for (ok, expected) in [
                (pass, Verdict::Pass),
                (pass - 1, Verdict::Inconclusive),
                (fail + 1, Verdict::Inconclusive),
                (fail, Verdict::Fail),
            ] {
                let found = judged("ttft p95 < 1s", &run(n, n - ok));
                assert_eq!((found.verdict, found.ok), (expected, ok), "{ok} of {n}");
            }
        }
        assert_eq!(judged("ttft p95 < 1s", &run(59, 0)).verdict, Verdict::Pass);
        let short = judged("ttft p95 < 1s", &run(58, 0));
        assert_eq!(short.verdict, Verdict::Inconclusive);
        assert!(short.text.contains("n >= 59"), "{}", short.text);
        assert_eq!(judged("ttft p95 < 1s", &[]).verdict, Verdict::Inconclusive);
        assert!(judged("ttft p99 < 1s", &run(100, 0)).text.contains("n >= 299"));
        assert!(judged("ttft p95 < 1s", &run(100, 2)).text.contains("about n = "));
    }

    #[test]
    fn clauses_are_judged_together() {
        // Five of a hundred miss each clause, never the same request.
        let mut records: Vec<_> = (0..100).map(|_| Request::new(0).tokens_at(&[100, 120]).build()).collect();
        for record in &mut records[..5] {
            *record = Request::new(0).tokens_at(&[2000, 2020]).build();
        }
        for record in &mut records[5..10] {
            *record = Request::new(0).tokens_at(&[100, 900]).build();
        }
        let found = judged("ttft p50 < 1s, tpot p95 <= 20ms", &records);
        assert_eq!((found.ok, found.verdict, found.target), (90, Verdict::Fail, 0.95));
        assert!(found.text.contains("ttft p50 < 1s alone: pass, 95 of 100"), "{}", found.text);
        assert!(found.text.contains("tpot p95 <= 20ms alone: inconclusive, 95 of 100"), "{}", found.text);
    }

    #[test]
    fn what_is_a_miss() {
        let mut failed = run(60, 0);
        failed[0].outcome = Outcome::Failed { kind: FailureKind::Timeout, message: String::new() };
        assert_eq!(judged("ttft p50 < 1s", &failed).ok, 59);
        let single: Vec<_> = (0..60).map(|_| Request::new(0).tokens_at(&[100]).build()).collect();
        assert_eq!(judged("tpot p95 < 1ms, itl p95 < 1ms", &single).ok, 60);
        let mut unknown = run(60, 0);
        for record in &mut unknown {
            record.output_tokens = None;
        }
        let found = judged("tpot p95 < 1s", &unknown[..0]).verdict;
        assert_eq!(found, Verdict::Inconclusive);
        let found = judged("tpot p95 < 10s", &unknown);
        assert_eq!((found.ok, found.verdict), (0, Verdict::Inconclusive));
        assert_eq!(judged("itl p95 < 1s", &run(60, 0)).ok, 0);
        assert_eq!(
            (judged("ttft p95 < 100ms", &run(60, 0)).ok, judged("ttft p95 <= 100ms", &run(60, 0)).ok),
            (0, 60)
        );
    }

    #[test]
    fn withheld_measurements_are_not_judged() {
        let objective = Slo::parse("ttft p95 < 1s").unwrap().remove(0);
        let records = run(60, 0);
        let pool = |number: &str| Pool {
            level: 4.into(),
            requests: records.iter().collect(),
            withheld: vec![(number.to_owned(), "in_flight_low".to_owned())],
        };
        assert_eq!(judge(&objective, &pool("ttft_p95")).verdict, Verdict::Inconclusive);
        assert_eq!(judge(&objective, &pool("tpot_p95")).verdict, Verdict::Pass);
        // What fails at less load than asked fails at the load asked; a late sender proves nothing.
        let strict = Slo::parse("ttft p95 < 1ms").unwrap().remove(0);
        assert_eq!(judge(&strict, &pool("ttft_p95")).verdict, Verdict::Fail);
        let late = Pool { withheld: vec![("ttft_p95".to_owned(), "send_delay".to_owned())], ..pool("") };
        assert_eq!(judge(&strict, &late).verdict, Verdict::Inconclusive);
    }

    /// Seeded: at a true share of exactly the target or just under it, a pass is at most the stated error.
    #[test]
    fn a_pass_is_seldom_wrong() {
        let mut state = 99_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let passes = (0..4000)
            .filter(|_| {
                let ok = (0..200).filter(|_| uniform() < 0.95).count() as u64;
                three_state(lower_bound(ok, 200, CONFIDENCE), upper_bound(ok, 200, CONFIDENCE), 0.95)
                    == Verdict::Pass
            })
            .count();
        assert!(passes <= 220, "{passes} of 4000");
    }
}
