use super::series::sum;
use crate::prometheus::PromSample;
use plimsoll_record::Histogram;
use std::collections::BTreeMap;

/// Bounds and cumulative counts.
type Buckets = Vec<(f64, f64)>;

/// Adds up the histograms of all label sets. Bounds that are not in all of them (servers choose them by model length
/// and version) are left out: cumulative counts stay right at the common ones. The count is the bucket `+Inf`.
pub fn merge(
    buckets: &[&PromSample<'_>],
    counts: &[&PromSample<'_>],
    sums: &[&PromSample<'_>],
) -> Option<Histogram> {
    let mut by_labels: BTreeMap<Vec<(&str, &str)>, Buckets> = BTreeMap::new();
    for sample in buckets {
        let bound = sample.label("le").and_then(|le| le.parse::<f64>().ok()).filter(|bound| !bound.is_nan());
        let Some(bound) = bound.filter(|_| sample.value.is_finite()) else { continue };
        let labels =
            sample.labels.iter().filter(|(label, _)| label != "le").map(|(a, b)| (&**a, &**b)).collect();
        by_labels.entry(labels).or_default().push((bound, sample.value));
    }
    let mut all: Option<Buckets> = None;
    for (_, mut series) in by_labels {
        series.sort_by(|a, b| a.0.total_cmp(&b.0));
        all = Some(match all {
            None => series,
            Some(all) => add_common(&all, &series),
        });
    }
    let mut buckets = all.unwrap_or_default();
    let infinite = buckets.pop_if(|(bound, _)| *bound == f64::INFINITY).map(|(_, count)| count);
    buckets.retain(|(bound, _)| bound.is_finite());
    Some(Histogram { sum: sum(sums)?, count: infinite.or_else(|| sum(counts))?, buckets })
}

/// Both are sorted by bound.
fn add_common(a: &[(f64, f64)], b: &[(f64, f64)]) -> Buckets {
    let mut others = b.iter().peekable();
    let mut common = Vec::with_capacity(a.len());
    for (bound, count) in a {
        while others.next_if(|other| other.0 < *bound).is_some() {}
        // Bounds are written in decimal and read alike: equal ones are the same number.
        if let Some(other) = others.next_if(|other| other.0.total_cmp(bound).is_eq()) {
            common.push((*bound, count + other.1));
        }
    }
    common
}
