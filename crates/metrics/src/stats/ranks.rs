//! Two samples by rank: which tends to be larger, and how sure that is.

use core::f64::consts::FRAC_1_SQRT_2;

/// Most values, of both samples together, for which the exact distribution is counted out.
pub const EXACT_UP_TO: usize = 60;

/// What the ranks of two samples, `a` and `b`, tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Mann and Whitney's U of `b`: pairs in which `b` is larger, a tie counting half.
    pub u: f64,
    /// Cliff's delta: the share of pairs in which `b` is larger less the share in which `a` is, from -1 to 1.
    pub delta: f64,
    /// Two-sided p under "both come from one distribution": twice the smaller tail, at most 1.
    pub p: f64,
    /// The smallest p that any assignment of these values to samples of these sizes can give. Above 0.05 no outcome
    /// could have been significant: 0.10 for 3 against 3.
    pub least_p: f64,
    /// True when `p` counts every assignment; false for the normal approximation.
    pub exact: bool,
}

/// Mann and Whitney's test (1947) with Cliff's delta (1993). None when a sample is empty or holds a NaN.
///
/// Up to [`EXACT_UP_TO`] values the distribution of the rank sum is counted out, given the ties that there are; beyond
/// that it is the normal approximation with corrections for ties and continuity.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<RankTest> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| value.is_nan()) {
        return None;
    }
    let pooled = Pooled::of(a, b);
    let (of_a, of_b) = (a.len() as f64, b.len() as f64);
    // Doubled midranks are whole numbers, and so is 2 U.
    let u = (pooled.sum_of_b as f64 - of_b * (of_b + 1.0)) / 2.0;
    let exact = pooled.ranks.len() <= EXACT_UP_TO;
    let (p, least_p) = if exact { exactly(&pooled, b.len()) } else { nearly(&pooled, u, of_a, of_b) };
    Some(RankTest { u, delta: 2.0 * u / (of_a * of_b) - 1.0, p, least_p, exact })
}

/// Both samples in one order.
struct Pooled {
    /// Twice the midrank of each value, in order.
    ranks: Vec<u64>,
    /// Sum of these over the values of `b`.
    sum_of_b: u64,
    /// `Σ t³ - t` over groups of `t` equal values.
    ties: f64,
}

impl Pooled {
    fn of(a: &[f64], b: &[f64]) -> Self {
        // Adding 0 makes -0 equal to 0 for the total order too.
        let mut all: Vec<(f64, bool)> = a.iter().map(|value| (value + 0.0, false)).collect();
        all.extend(b.iter().map(|value| (value + 0.0, true)));
        all.sort_by(|(x, _), (y, _)| x.total_cmp(y));
        let mut pooled = Self { ranks: Vec::with_capacity(all.len()), sum_of_b: 0, ties: 0.0 };
        for group in all.chunk_by(|(x, _), (y, _)| x.total_cmp(y).is_eq()) {
            let before = pooled.ranks.len() as u64;
            let doubled = 2 * before + group.len() as u64 + 1;
            pooled.ranks.extend(group.iter().map(|_| doubled));
            pooled.sum_of_b += doubled * group.iter().filter(|(_, of_b)| *of_b).count() as u64;
            let t = group.len() as f64;
            pooled.ties += t * t * t - t;
        }
        pooled
    }
}

/// The two-sided p and the least one that can occur, over all ways to choose the values of `b`.
fn exactly(pooled: &Pooled, chosen: usize) -> (f64, f64) {
    let ways = ways(&pooled.ranks, chosen);
    let all: f64 = ways.iter().sum();
    let at = pooled.sum_of_b as usize;
    let below: f64 = ways.iter().take(at + 1).sum();
    let above: f64 = ways.iter().skip(at).sum();
    let mut occurring = ways.iter().filter(|count| **count > 0.0);
    let first = occurring.next().copied().unwrap_or(all);
    let last = occurring.next_back().copied().unwrap_or(first);
    let two_sided = |tail: f64| (2.0 * tail / all).min(1.0);
    (two_sided(below.min(above)), two_sided(first.min(last)))
}

/// How many of the ways to choose `chosen` ranks have which sum. Counts up to `C(60, 30)` are exact in an f64 but for
/// its last digits.
fn ways(ranks: &[u64], chosen: usize) -> Vec<f64> {
    let largest: u64 = ranks.iter().rev().take(chosen).sum();
    let width = largest as usize + 1;
    let mut by_number = vec![vec![0.0; width]; chosen + 1];
    if let Some(one) = by_number.first_mut().and_then(|none_chosen| none_chosen.first_mut()) {
        *one = 1.0;
    }
    for rank in ranks {
        let rank = *rank as usize;
        // From many to few, so that no rank is chosen twice.
        for number in (1..=chosen).rev() {
            let (fewer, these) = by_number.split_at_mut(number);
            if let (Some(fewer), Some(these)) = (fewer.last(), these.first_mut()) {
                for (sum, count) in these.iter_mut().skip(rank).zip(fewer) {
                    *sum += count;
                }
            }
        }
    }
    by_number.pop().unwrap_or_default()
}

fn nearly(pooled: &Pooled, u: f64, m: f64, n: f64) -> (f64, f64) {
    let all = m + n;
    let variance = m * n / 12.0 * (all + 1.0 - pooled.ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return (1.0, 1.0);
    }
    let two_sided = |u: f64| {
        let z = ((u - m * n / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
        libm::erfc(z * FRAC_1_SQRT_2).min(1.0)
    };
    (two_sided(u), two_sided(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, expected: f64) -> bool {
        (value - expected).abs() <= 1e-12 + 1e-9 * expected.abs()
    }

    /// The smallest p of samples without ties: `2 / C(2n, n)`.
    #[test]
    fn the_smallest_p_of_equal_sizes() {
        for (n, expected) in
            [(1, 1.0), (2, 1.0 / 3.0), (3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0), (6, 2.0 / 924.0)]
        {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let b: Vec<f64> = (n..2 * n).map(f64::from).collect();
            let test = mann_whitney(&a, &b).unwrap();
            assert!(close(test.p, expected) && close(test.least_p, expected), "{n}: {test:?}");
            assert_eq!((test.u, test.delta), (f64::from(n * n), 1.0));
            assert_eq!(mann_whitney(&b, &a).unwrap().delta, -1.0);
        }
    }

    #[test]
    fn values_of_scipy_stats_mannwhitneyu() {
        // With ties: its permutation method over all assignments.
        for (a, b, u, p) in [
            (&[1.2, 1.5, 1.1, 1.9][..], &[1.6, 2.1, 2.2, 1.8][..], 14.0, 0.114_285_714_285_714_28),
            (
                &[100.0, 101.0, 99.0, 102.0, 98.0][..],
                &[104.0, 103.0, 106.0, 105.0, 101.5][..],
                24.0,
                0.015_873_015_873_015_872,
            ),
            (&[0.5, 0.5, 0.7][..], &[0.7, 0.7, 0.9, 1.1][..], 11.0, 0.171_428_571_428_571_43),
            (
                &[3.0, 1.0, 4.0, 1.0, 5.0][..],
                &[9.0, 2.0, 6.0, 5.0, 3.0, 5.0][..],
                23.5,
                0.147_186_147_186_147_2,
            ),
            (&[10.0, 10.1, 9.9][..], &[10.05, 9.95, 10.02][..], 5.0, 1.0),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][..], &[8.5, 2.5][..], 9.0, 0.666_666_666_666_666_6),
        ] {
            let test = mann_whitney(a, b).unwrap();
            assert!(test.exact && test.u == u && close(test.p, p), "{test:?}, not {u}, {p}");
        }
        let (a, b): (Vec<f64>, Vec<f64>) =
            ((0..25).map(f64::from).collect(), (0..30).map(|k| f64::from(k) + 9.5).collect());
        let test = mann_whitney(&a, &b).unwrap();
        assert!(test.exact && test.u == 630.0 && close(test.p, 5.735_976_140_938_784e-6), "{test:?}");
        // Beyond what is counted out: its asymptotic method, with ties.
        let a: Vec<f64> = (0..40).map(|k| f64::from(k % 13)).collect();
        let b: Vec<f64> = (0..35).map(|k| f64::from(7 * k % 17)).collect();
        let test = mann_whitney(&a, &b).unwrap();
        assert!(!test.exact && test.u == 854.0 && close(test.p, 0.102_334_090_062_538_66), "{test:?}");
    }

    #[test]
    fn what_is_no_sample() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[]), None);
        assert_eq!(mann_whitney(&[1.0], &[f64::NAN]), None);
        let infinite = mann_whitney(&[f64::NEG_INFINITY, 1.0], &[2.0, f64::INFINITY]).unwrap();
        assert_eq!((infinite.u, infinite.delta), (4.0, 1.0));
        let equal = mann_whitney(&[0.0, -0.0], &[-0.0, 0.0]).unwrap();
        assert_eq!((equal.p, equal.least_p, equal.delta), (1.0, 1.0, 0.0));
        let many = mann_whitney(&[1.0; 40], &[1.0; 40]).unwrap();
        assert_eq!((many.p, many.delta, many.exact), (1.0, 0.0, false));
    }

    /// Every assignment by brute force: bit k of a mask says that value k belongs to `b`.
    fn by_hand(a: &[f64], b: &[f64]) -> (f64, f64) {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let u = |mask: u32| -> f64 {
            let of = |in_b: bool| all.iter().enumerate().filter(move |(k, _)| (mask >> k & 1 == 1) == in_b);
            of(true)
                .flat_map(|(_, y)| {
                    of(false).map(move |(_, x)| {
                        if y > x {
                            1.0
                        } else if y < x {
                            0.0
                        } else {
                            0.5
                        }
                    })
                })
                .sum()
        };
        let seen = u(((1 << b.len()) - 1) << a.len());
        let every: Vec<f64> =
            (0..1_u32 << all.len()).filter(|mask| mask.count_ones() as usize == b.len()).map(u).collect();
        let share = |keep: &dyn Fn(f64) -> bool| {
            every.iter().filter(|u| keep(**u)).count() as f64 / every.len() as f64
        };
        let tail = share(&|u| u <= seen).min(share(&|u| u >= seen));
        let least = every
            .iter()
            .map(|seen| 2.0 * share(&|u| u <= *seen).min(share(&|u| u >= *seen)))
            .fold(1.0, f64::min);
        ((2.0 * tail).min(1.0), least)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn counting_gives_what_every_assignment_gives(
            a in proptest::collection::vec(0..5_i32, 1..5),
            b in proptest::collection::vec(0..5_i32, 1..5),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
            let test = mann_whitney(&a, &b).unwrap();
            let (p, least_p) = by_hand(&a, &b);
            prop_assert!(close(test.p, p) && close(test.least_p, least_p), "{test:?}, not {p}, {least_p}");
        }

        #[test]
        fn swapping_the_samples_turns_the_sign_alone(
            a in proptest::collection::vec(-1e3..1e3_f64, 1..50),
            b in proptest::collection::vec(-1e3..1e3_f64, 1..50),
        ) {
            let (one, other) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
            prop_assert!(close(one.p, other.p) && close(one.delta, -other.delta) && close(one.least_p, other.least_p));
            prop_assert!((0.0..=1.0).contains(&one.p) && one.least_p <= one.p + 1e-12);
        }
    }
}
