//! Numbers of each target address, where requests are shared out over several.

use crate::number::{Kind, plain, quantile};
use crate::quantile::{ONE, interval_ranks, type7};
use crate::stats::binomial::{lower_bound, upper_bound};
use crate::summary::{Flag, Number};
use crate::timing::Timing;
use plimsoll_record::{FailureKind, RequestRecord};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One target of a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// Its number, from 0, in the order of the plan's addresses.
    pub target: u32,
    /// Measured requests that went to it, failures included.
    pub n: u64,
    /// Of these, complete ones.
    pub ok: u64,
    /// Of these, failures by kind.
    pub failures: BTreeMap<String, u64>,
    /// `ttft_p50`, `ttft_p95`, `e2e_p50`, `e2e_p95`, and `token_share`: its part of the level's output tokens.
    pub numbers: Vec<Number>,
}

/// How often the median of one target must be that of the others for a strong difference.
const STRONG: f64 = 1.5;
/// Confidence of the intervals that must lie apart. High, as each target is compared at each level.
const CONFIDENCE: f64 = 0.999;

/// By target, where the records name one.
pub(crate) fn by_target(cohort: &[&RequestRecord]) -> Vec<TargetSummary> {
    let all: u64 = cohort.iter().map(|request| tokens(request)).sum();
    let targets = parts(cohort);
    targets.into_iter().map(|(target, requests)| of_target(target, &requests, all)).collect()
}

fn parts<'a>(cohort: &[&'a RequestRecord]) -> BTreeMap<u32, Vec<&'a RequestRecord>> {
    let mut targets: BTreeMap<u32, Vec<&RequestRecord>> = BTreeMap::new();
    for request in cohort {
        if let Some(target) = request.target {
            targets.entry(target).or_default().push(request);
        }
    }
    targets
}

fn of_target(target: u32, requests: &[&RequestRecord], all: u64) -> TargetSummary {
    let mut numbers = Vec::new();
    for (family, of) in FAMILIES {
        let sorted = sorted(requests, of);
        for (suffix, ppm) in [("p50", 500_000), ("p95", 950_000)] {
            let (name, formula) = (format!("{family}_{suffix}"), format!("{family}_quantile"));
            let kind = Kind { name: &name, unit: "s", formula: &formula, source: "client stamps" };
            numbers.push(quantile(kind, &sorted, ppm));
        }
    }
    let own: u64 = requests.iter().map(|request| tokens(request)).sum();
    let share = if all > 0 { Ok(own as f64 / all as f64) } else { Err("no token was counted".to_owned()) };
    let kind = Kind { name: "token_share", unit: "share", formula: "token_share", source: "server usage" };
    numbers.push(plain(kind, share, requests.len() as u64, "a count, not a sample"));
    TargetSummary {
        target,
        n: requests.len() as u64,
        ok: requests.iter().filter(|request| request.outcome.is_ok()).count() as u64,
        failures: failures(requests),
        numbers,
    }
}

/// Failures by kind; statuses apart, as 429 and 503 are other findings than 500, and time limits, as a server that takes
/// no connection is another finding than one that stalls.
pub(crate) fn failures(requests: &[&RequestRecord]) -> BTreeMap<String, u64> {
    let mut failures = BTreeMap::new();
    for request in requests {
        let Some(kind) = request.outcome.failure() else { continue };
        let name = match (kind, request.http_status, request.time_limit) {
            (FailureKind::HttpStatus, Some(status), _) => format!("http_{status}"),
            (FailureKind::Timeout, _, Some(limit)) => format!("timeout_{}", limit.name()),
            _ => kind.name().to_owned(),
        };
        *failures.entry(name).or_insert(0) += 1;
    }
    failures
}

/// A finding when one target is much slower than the others together, or fails more often, beyond chance.
pub(crate) fn differ(cohort: &[&RequestRecord]) -> Option<Flag> {
    let targets = parts(cohort);
    let mut found = Vec::new();
    for target in targets.keys() {
        let (own, others): (Vec<&RequestRecord>, Vec<&RequestRecord>) =
            cohort.iter().copied().filter(|r| r.target.is_some()).partition(|r| r.target == Some(*target));
        if others.is_empty() {
            continue;
        }
        // Of two targets, one is enough: the slower.
        found.extend(FAMILIES.iter().find_map(|(family, of)| slower(family, *target, &own, &others, *of)));
        found.extend(fails_more(*target, &own, &others));
    }
    (!found.is_empty()).then(|| {
        let text = format!("{} Numbers over all targets mix unlike servers.", found.join(" "));
        crate::integrity::warn("targets_differ", Vec::new(), text)
    })
}

type Latency = fn(&Timing) -> Option<f64>;

const FAMILIES: [(&str, Latency); 2] = [("ttft", |timing| timing.ttft), ("e2e", |timing| timing.e2e)];

fn sorted(requests: &[&RequestRecord], of: Latency) -> Vec<f64> {
    let complete = requests.iter().filter(|request| request.outcome.is_ok());
    let mut values: Vec<f64> = complete.filter_map(|r| of(&Timing::of(r))).map(|ns| ns / 1e9).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn slower(
    family: &str,
    target: u32,
    own: &[&RequestRecord],
    others: &[&RequestRecord],
    of: Latency,
) -> Option<String> {
    let (own, others) = (sorted(own, of), sorted(others, of));
    let (mine, theirs) = (type7(&own, ONE / 2)?, type7(&others, ONE / 2)?);
    let end =
        |sorted: &[f64], rank: Option<u64>| sorted.get(usize::try_from(rank?).ok()?.checked_sub(1)?).copied();
    let low = end(&own, interval_ranks(own.len() as u64, ONE / 2, CONFIDENCE).low)?;
    let high = end(&others, interval_ranks(others.len() as u64, ONE / 2, CONFIDENCE).high)?;
    (mine > STRONG * theirs && low > high).then(|| {
        format!(
            "Target {} has a median {} of {:.1} ms (n = {}), the others of {:.1} ms (n = {}).",
            target + 1,
            family.to_uppercase(),
            1e3 * mine,
            own.len(),
            1e3 * theirs,
            others.len()
        )
    })
}

fn fails_more(target: u32, own: &[&RequestRecord], others: &[&RequestRecord]) -> Option<String> {
    let failed = |requests: &[&RequestRecord]| {
        (requests.iter().filter(|request| !request.outcome.is_ok()).count() as u64, requests.len() as u64)
    };
    let ((mine, n), (theirs, m)) = (failed(own), failed(others));
    let apart = lower_bound(mine, n, CONFIDENCE)? > upper_bound(theirs, m, CONFIDENCE)?;
    apart.then(|| {
        format!("Target {}: {mine} of {n} requests failed, of the others' {theirs} of {m}.", target + 1)
    })
}

fn tokens(request: &RequestRecord) -> u64 {
    request.output_tokens.map_or(0, u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Request;
    use plimsoll_record::Outcome;

    /// `n` requests in turn to two targets; the second answers `slower` ms later.
    fn cohort(n: u32, slower: u64) -> Vec<RequestRecord> {
        (0..n)
            .map(|k| {
                let first = 100 + u64::from(k % 7) + u64::from(k % 2) * slower;
                let mut record = Request::new(0).tokens_at(&[first, first + 100]).build();
                record.target = Some(k % 2);
                record
            })
            .collect()
    }

    fn flag(records: &[RequestRecord]) -> Option<String> {
        differ(&records.iter().collect::<Vec<_>>()).map(|flag| flag.text)
    }

    #[test]
    fn each_target_has_its_numbers() {
        let mut records = cohort(40, 50);
        records[1].outcome = Outcome::Failed { kind: FailureKind::HttpStatus, message: String::new() };
        (records[1].http_status, records[1].output_tokens) = (Some(429), None);
        let found = by_target(&records.iter().collect::<Vec<_>>());
        assert_eq!(
            found.iter().map(|t| (t.target, t.n, t.ok)).collect::<Vec<_>>(),
            [(0, 20, 20), (1, 20, 19)]
        );
        assert_eq!(found[1].failures, BTreeMap::from([("http_429".to_owned(), 1)]));
        let share =
            |index: usize| found[index].numbers.iter().find(|n| n.name == "token_share").unwrap().value;
        assert!(
            (share(0).unwrap() - 40.0 / 78.0).abs() < 1e-12
                && (share(1).unwrap() - 38.0 / 78.0).abs() < 1e-12
        );
        assert!(by_target(&[&Request::new(0).build()]).is_empty());
    }

    #[test]
    fn a_strong_difference_is_told_and_a_small_or_chance_one_is_not() {
        let text = flag(&cohort(60, 100)).unwrap();
        assert!(
            text.contains("Target 2 has a median TTFT of 203.0 ms (n = 30), the others of 103.0 ms"),
            "{text}"
        );
        assert_eq!(flag(&cohort(60, 20)), None);
        assert_eq!(flag(&cohort(12, 300)), None);
        // Medians of 100 and 400 ms, of twenty requests each with two ways to be answered: chance.
        let two_ways: Vec<RequestRecord> = (0..40)
            .map(|k| {
                let slow = (k / 2) % 20 < if k % 2 == 0 { 9 } else { 11 };
                let mut record = Request::new(0).tokens_at(&[if slow { 400 } else { 100 }, 500]).build();
                record.target = Some(k % 2);
                record
            })
            .collect();
        assert_eq!(flag(&two_ways), None);
        let mut failing = cohort(60, 0);
        for record in failing.iter_mut().filter(|record| record.target == Some(0)).take(15) {
            record.outcome = Outcome::Failed { kind: FailureKind::Closed, message: String::new() };
        }
        assert!(
            flag(&failing).unwrap().contains("Target 1: 15 of 30 requests failed, of the others' 0 of 30")
        );
        failing.iter_mut().filter(|r| !r.outcome.is_ok()).skip(3).for_each(|r| r.outcome = Outcome::Ok);
        assert_eq!(flag(&failing), None);
    }
}
