//! Quantiles of exact samples, their distribution-free intervals, and what may be printed of them.
//!
//! A probability is a whole number of millionths, so that a rank is exact: `⌈0.07 · 100⌉` is 8 in floating point.

use crate::stats::binomial;
use crate::summary::{Interval, Reading};

/// A probability of one, in millionths.
pub const ONE: u32 = 1_000_000;

/// Coverage of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Type-7 quantile (Hyndman and Fan 1996; numpy's default): linear between the order statistics around `(n - 1) p`.
/// None without samples. `sorted` must rise.
pub fn type7(sorted: &[f64], ppm: u32) -> Option<f64> {
    let last = sorted.len().checked_sub(1)? as u128;
    let position = last * u128::from(ppm.min(ONE));
    let (below, rest) = (position / u128::from(ONE), position % u128::from(ONE));
    let low = *sorted.get(below as usize)?;
    let high = sorted.get(below as usize + 1).copied().unwrap_or(low);
    Some(low + (high - low) * (rest as f64 / f64::from(ONE)))
}

/// Nearest-rank quantile: `x_(⌈n p⌉)`. None without samples. `sorted` must rise.
pub fn nearest_rank(sorted: &[f64], ppm: u32) -> Option<f64> {
    let rank = (sorted.len() as u128 * u128::from(ppm.min(ONE))).div_ceil(u128::from(ONE));
    sorted.get((rank as usize).max(1) - 1).copied()
}

/// Ranks, from 1, of the order statistics that bound a quantile (Hahn and Meeker 1991, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// None: no order statistic is known to lie below.
    pub low: Option<u64>,
    /// None: no order statistic is known to lie above.
    pub high: Option<u64>,
}

/// Two-sided ranks: the largest `l` with `B(l - 1; n, p) <= α/2` and the smallest `u` with `B(u - 1; n, p) >= 1 - α/2`.
pub fn interval_ranks(n: u64, ppm: u32, confidence: f64) -> Ranks {
    let p = share(ppm);
    let tail = (1.0 - confidence) / 2.0;
    // The first k in 0..n at which the distribution function fulfils a rising condition.
    let first = |fulfilled: &dyn Fn(u64) -> bool| {
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = low + (high - low) / 2;
            if fulfilled(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    };
    let above_lower = first(&|k| binomial::cdf(k, n, p) > tail);
    let at_upper = first(&|k| binomial::upper_tail(k + 1, n, p) <= tail);
    Ranks { low: (above_lower > 0).then_some(above_lower), high: (at_upper < n).then_some(at_upper + 1) }
}

/// Smallest n at which the largest sample bounds the quantile from above with this one-sided confidence: `p^n <= 1 - c`.
/// A two-sided interval of confidence `c` exists from `smallest_n(ppm, (1 + c) / 2)` on.
pub fn smallest_n(ppm: u32, confidence: f64) -> u64 {
    let p = share(ppm);
    if !(p > 0.0 && p < 1.0) {
        return 1;
    }
    let n = libm::ceil(libm::log(1.0 - confidence) / libm::log(p) - 1e-9);
    (n as u64).max(1)
}

/// What may be said of a quantile at this n.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// How `value` is to be read.
    pub reading: Reading,
    /// The quantile, its lower bound, or nothing.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Why there is none.
    pub interval_reason: Option<String>,
    /// Why there is no value.
    pub reason: Option<String>,
}

/// Applies the print policy: an estimate only with both ends of its interval; else "at least" the lower end; nothing
/// when fewer than one sample is expected above it, as it would be the largest sample under another name.
pub fn estimate(sorted: &[f64], ppm: u32) -> Estimate {
    let n = sorted.len() as u64;
    let name = label(ppm);
    let (bounded, two_sided) = (smallest_n(ppm, CONFIDENCE), smallest_n(ppm, f64::midpoint(1.0, CONFIDENCE)));
    let absent = |reason: String| Estimate {
        reading: Reading::Absent,
        value: None,
        interval: None,
        interval_reason: None,
        reason: Some(reason),
    };
    if n == 0 {
        return absent("no observations".to_owned());
    }
    if u128::from(n) * u128::from(ONE - ppm.min(ONE)) < u128::from(ONE) {
        return absent(format!(
            "n = {n}: {name} needs at least {bounded} observations for the largest to bound it, {two_sided} for an interval"
        ));
    }
    let ranks = interval_ranks(n, ppm, CONFIDENCE);
    let at = |rank: u64| sorted.get(rank.saturating_sub(1) as usize).copied();
    let ends = (
        ranks.low.and_then(|rank| Some((rank, at(rank)?))),
        ranks.high.and_then(|rank| Some((rank, at(rank)?))),
    );
    match ends {
        (Some((low_rank, low)), Some((high_rank, high))) => Estimate {
            reading: Reading::Estimate,
            value: type7(sorted, ppm),
            interval: Some(Interval {
                low,
                high: Some(high),
                confidence: CONFIDENCE,
                method: format!("order statistics {low_rank} and {high_rank}"),
            }),
            interval_reason: None,
            reason: None,
        },
        (Some((low_rank, low)), None) => Estimate {
            reading: Reading::AtLeast,
            value: Some(low),
            interval: Some(Interval {
                low,
                high: None,
                confidence: CONFIDENCE,
                method: format!("order statistic {low_rank}, no upper one at n = {n}"),
            }),
            interval_reason: Some(format!("n = {n}: an upper end needs at least {two_sided} observations")),
            reason: None,
        },
        _ => absent(format!("n = {n}: an interval of {name} needs at least {two_sided} observations")),
    }
}

/// `p95` for 950 000, `p99.9` for 999 000.
pub fn label(ppm: u32) -> String {
    let (whole, rest) = (ppm / 10_000, ppm % 10_000);
    if rest == 0 {
        format!("p{whole}")
    } else {
        let digits = format!("{rest:04}");
        format!("p{whole}.{}", digits.trim_end_matches('0'))
    }
}

fn share(ppm: u32) -> f64 {
    f64::from(ppm.min(ONE)) / f64::from(ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_to(n: u32) -> Vec<f64> {
        (1..=n).map(f64::from).collect()
    }

    fn close(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 1e-12 * expected.abs().max(1.0))
    }

    /// Type 7 from numpy, nearest rank by hand.
    #[test]
    fn both_definitions() {
        let cases: [(&[f64], u32, f64, f64); 21] = [
            (&one_to(30), 500_000, 15.5, 15.0),
            (&one_to(30), 900_000, 27.1, 27.0),
            (&one_to(30), 950_000, 28.55, 29.0),
            (&one_to(30), 990_000, 29.71, 30.0),
            (&one_to(100), 990_000, 99.01, 99.0),
            (&one_to(101), 990_000, 100.0, 100.0),
            (&[15., 20., 35., 40., 50.], 250_000, 20., 20.),
            (&[15., 20., 35., 40., 50.], 750_000, 40., 40.),
            (&[15., 20., 35., 40., 50.], 900_000, 46., 50.),
            (&[15., 20., 35., 40., 50.], 950_000, 48., 50.),
            (&[15., 20., 35., 40., 50.], 990_000, 49.6, 50.),
            (&[3., 6., 7., 8., 8., 10., 13., 15., 16., 20.], 250_000, 7.25, 7.),
            (&[3., 6., 7., 8., 8., 10., 13., 15., 16., 20.], 500_000, 9., 8.),
            (&[3., 6., 7., 8., 8., 10., 13., 15., 16., 20.], 750_000, 14.5, 15.),
            (&[3., 6., 7., 8., 8., 10., 13., 15., 16., 20.], 900_000, 16.4, 16.),
            (&[3., 6., 7., 8., 8., 10., 13., 15., 16., 20.], 950_000, 18.2, 20.),
            (&[1., 3.], 500_000, 2., 1.),
            (&[1., 3.], 990_000, 2.98, 3.),
            (&[7.], 999_000, 7., 7.),
            (&[-3., -1., 0., 4., 9., 11.], 250_000, -0.75, -1.),
            (&[-3., -1., 0., 4., 9., 11.], 500_000, 2., 0.),
        ];
        for (sorted, ppm, linear, nearest) in cases {
            assert!(close(type7(sorted, ppm), linear), "{sorted:?} {ppm}: {:?}", type7(sorted, ppm));
            assert_eq!(nearest_rank(sorted, ppm), Some(nearest), "{sorted:?} {ppm}");
        }
        assert_eq!((type7(&[], 500_000), nearest_rank(&[], 500_000)), (None, None));
    }

    #[test]
    fn ranks_do_not_suffer_from_floating_point() {
        assert_eq!(nearest_rank(&one_to(100), 70_000), Some(7.0));
        for ppm in [290_000, 570_000] {
            assert_eq!(nearest_rank(&one_to(100), ppm), Some(f64::from(ppm / 10_000)));
        }
        assert_eq!(nearest_rank(&one_to(100), 0), Some(1.0));
        assert_eq!(nearest_rank(&one_to(100), ONE), Some(100.0));
    }

    /// Ranks from scipy.stats.binom.
    #[test]
    fn intervals() {
        for (n, ppm, low, high) in [
            (30, 500_000, Some(10), Some(21)),
            (50, 900_000, Some(41), Some(50)),
            (71, 990_000, Some(68), None),
            (100, 950_000, Some(90), Some(100)),
            (100, 990_000, Some(97), None),
            (300, 950_000, Some(277), Some(293)),
            (500, 990_000, Some(490), Some(500)),
            (1000, 990_000, Some(983), Some(997)),
            (5000, 990_000, Some(4936), Some(4964)),
            (1_000_000, 990_000, Some(989_805), Some(990_196)),
            (10_000_000, 999_000, Some(9_989_804), Some(9_990_196)),
            (5, 500_000, None, None),
            (6, 500_000, Some(1), Some(6)),
            (0, 500_000, None, None),
            (10, 0, None, Some(1)),
            (10, ONE, Some(10), None),
        ] {
            assert_eq!(interval_ranks(n, ppm, 0.95), Ranks { low, high }, "{n} {ppm}");
        }
    }

    #[test]
    fn smallest_sample_sizes() {
        let all = [500_000, 900_000, 950_000, 990_000, 999_000];
        assert_eq!(all.map(|ppm| smallest_n(ppm, 0.975)), [6, 36, 72, 368, 3688]);
        assert_eq!(all.map(|ppm| smallest_n(ppm, 0.95)), [5, 29, 59, 299, 2995]);
        assert_eq!(all.map(|ppm| smallest_n(ppm, 0.99)), [7, 44, 90, 459, 4603]);
        for ppm in all {
            let n = smallest_n(ppm, 0.975);
            assert!(interval_ranks(n, ppm, 0.95).high.is_some(), "{ppm}");
            assert!(interval_ranks(n - 1, ppm, 0.95).high.is_none(), "{ppm}");
        }
    }

    #[test]
    fn print_policy() {
        let reading = |n, ppm| estimate(&one_to(n), ppm).reading;
        assert_eq!(reading(30, 990_000), Reading::Absent);
        assert_eq!(reading(99, 990_000), Reading::Absent);
        assert_eq!(reading(100, 990_000), Reading::AtLeast);
        assert_eq!(reading(367, 990_000), Reading::AtLeast);
        assert_eq!(reading(368, 990_000), Reading::Estimate);
        assert_eq!(reading(5, 500_000), Reading::Absent);
        assert_eq!(reading(0, 500_000), Reading::Absent);
        let at_least = estimate(&one_to(100), 990_000);
        assert_eq!(at_least.value, Some(97.0));
        assert_eq!(at_least.interval.unwrap().high, None);
        let whole = estimate(&one_to(1000), 990_000);
        assert!(close(whole.value, 990.01));
        assert_eq!(whole.interval.map(|i| (i.low, i.high)), Some((983.0, Some(997.0))));
        assert!(estimate(&one_to(50), 990_000).reason.unwrap().contains("299"));
    }

    #[test]
    fn labels() {
        assert_eq!([500_000, 950_000, 999_000].map(label), ["p50", "p95", "p99.9"]);
    }

    /// The interval of a median and of a p90 holds the truth in at least 95 % of seeded uniform samples.
    #[test]
    fn coverage() {
        let mut state = 20_260_726_u64;
        let mut uniform = || {
            // Knuth's MMIX generator; its high bits are good enough to sample with.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (n, ppm, truth) in [(30, 500_000, 0.5), (80, 900_000, 0.9), (100, 950_000, 0.95)] {
            let runs = 4000;
            let mut inside = 0;
            for _ in 0..runs {
                let mut sample: Vec<f64> = (0..n).map(|_| uniform()).collect();
                sample.sort_by(f64::total_cmp);
                let interval = estimate(&sample, ppm).interval.unwrap();
                inside += u32::from(interval.low <= truth && truth <= interval.high.unwrap());
            }
            let share = f64::from(inside) / f64::from(runs);
            assert!((0.945..0.995).contains(&share), "n = {n}, {ppm}: {share}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_the_definition(mut values in prop::collection::vec(0_u32..1000, 1..60), ppm in 0..=ONE) {
            values.sort_unstable();
            let sorted: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let nearest = nearest_rank(&sorted, ppm).unwrap();
            let not_above = sorted.iter().filter(|x| **x <= nearest).count() as u64;
            let below = sorted.iter().filter(|x| **x < nearest).count() as u64;
            prop_assert!(not_above * u64::from(ONE) >= u64::from(ppm) * sorted.len() as u64);
            prop_assert!(below == 0 || below * u64::from(ONE) < u64::from(ppm) * sorted.len() as u64);
            let linear = type7(&sorted, ppm).unwrap();
            let at = (sorted.len() - 1) as f64 * f64::from(ppm) / 1e6;
            let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            prop_assert!(low <= linear && linear <= high);
        }

        #[test]
        fn bounds_lie_around_the_estimate(n in 1_u32..400, ppm in prop::sample::select(vec![500_000, 900_000, 950_000, 990_000])) {
            let sample = one_to(n);
            let told = estimate(&sample, ppm);
            if let (Some(value), Some(interval)) = (told.value, told.interval) {
                prop_assert!(interval.low <= value);
                prop_assert!(interval.high.is_none_or(|high| value <= high));
            }
        }
    }
}
