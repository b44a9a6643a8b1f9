use plimsoll_record::Histogram;

/// A quantile of a histogram: known only to lie in a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucketed {
    /// Linear inside the bucket.
    pub value: f64,
    /// The bucket's lower bound, open.
    pub low: f64,
    /// Its upper bound, closed; None for `+Inf`, and then `value` is the highest finite bound.
    pub high: Option<f64>,
}

/// What a cumulative histogram gained. None when a count fell or the bounds changed: the server was restarted.
pub(crate) fn gained(before: &Histogram, after: &Histogram) -> Option<Histogram> {
    if before.buckets.len() != after.buckets.len() {
        return None;
    }
    let difference = |from: f64, to: f64| Some(to - from).filter(|d| d.is_finite() && *d >= 0.0);
    let buckets = before.buckets.iter().zip(&after.buckets).map(|((bound, from), (same, to))| {
        (bound.to_bits() == same.to_bits()).then_some((*bound, difference(*from, *to)?))
    });
    Some(Histogram {
        sum: difference(before.sum, after.sum)?,
        count: difference(before.count, after.count)?,
        buckets: buckets.collect::<Option<_>>()?,
    })
}

/// Quantile of a histogram (`histogram_quantile` of Prometheus): linear in the bucket, the first bucket from 0, in `+Inf` the
/// highest finite bound, counts forced up where they fall. None without observations.
pub fn bucket_quantile(histogram: &Histogram, q: f64) -> Option<Bucketed> {
    if !(histogram.count > 0.0 && (0.0..=1.0).contains(&q)) {
        return None;
    }
    let total = histogram.buckets.iter().fold(histogram.count, |most, (_, count)| count.max(most));
    let rank = q * total;
    let (mut low, mut below) = (0.0, 0.0_f64);
    for (index, (bound, count)) in histogram.buckets.iter().enumerate() {
        let count = count.max(below);
        if count >= rank && count > 0.0 {
            if index == 0 && *bound <= 0.0 {
                return Some(Bucketed { value: *bound, low: *bound, high: Some(*bound) });
            }
            let inside = count - below;
            let value = if inside > 0.0 { low + (bound - low) * ((rank - below) / inside) } else { low };
            return Some(Bucketed { value, low, high: Some(*bound) });
        }
        (low, below) = (*bound, count);
    }
    histogram.buckets.last().map(|(bound, _)| Bucketed { value: *bound, low: *bound, high: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(bounds: &[f64], counts: &[f64]) -> Histogram {
        let count = counts.last().copied().unwrap_or(0.0);
        Histogram { sum: 0.0, count, buckets: bounds.iter().copied().zip(counts.iter().copied()).collect() }
    }

    fn value(histogram: &Histogram, q: f64) -> f64 {
        bucket_quantile(histogram, q).unwrap().value
    }

    /// The example in the documentation of `ClickHouse`'s quantile of a Prometheus histogram.
    #[test]
    fn inside_a_bucket_and_in_the_infinite_one() {
        let example = histogram(&[0.0, 0.5, 1.0], &[6.0, 11.0, 14.0, 19.0]);
        assert!((value(&example, 0.5) - 0.35).abs() < 1e-12);
        assert_eq!(bucket_quantile(&example, 0.9), Some(Bucketed { value: 1.0, low: 1.0, high: None }));
    }

    #[test]
    fn a_run_is_the_difference() {
        let bounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0];
        let before = histogram(&bounds, &[2., 10., 40., 55., 60., 60., 60., 60.]);
        let after = histogram(&bounds, &[2., 12., 60., 115., 150., 158., 160., 160.]);
        let run = gained(&before, &after).unwrap();
        assert_eq!(run.buckets.iter().map(|b| b.1).collect::<Vec<_>>(), [0., 2., 20., 60., 90., 98., 100.]);
        for (q, expected) in [(0.5, 0.0875), (0.9, 0.25), (0.95, 0.40625), (0.99, 0.75)] {
            assert!((value(&run, q) - expected).abs() < 1e-12, "{q}: {}", value(&run, q));
        }
        assert!((value(&after, 0.5) - 0.068_181_8).abs() < 1e-6);
        assert_eq!(gained(&after, &before), None);
    }

    #[test]
    fn empty_and_absurd() {
        assert_eq!(bucket_quantile(&Histogram::default(), 0.5), None);
        let falling = histogram(&[1.0, 2.0], &[5.0, 3.0, 5.0]);
        assert!((0.0..=1.0).contains(&value(&falling, 0.9)));
        assert_eq!(bucket_quantile(&falling, f64::NAN), None);
    }
}
