//! The binomial distribution and exact bounds of a share.

use super::beta::{invert, regularized_beta};

/// `P(X <= k)` for `X ~ Binomial(n, p)`.
pub fn cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n { 1.0 } else { regularized_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p, p) }
}

/// `P(X >= k)` for `X ~ Binomial(n, p)`.
pub fn upper_tail(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        1.0
    } else if k > n {
        0.0
    } else {
        regularized_beta(k as f64, (n - k) as f64 + 1.0, p, 1.0 - p)
    }
}

/// One-sided lower bound of the true share when `k` of `n` were seen (Clopper and Pearson 1934).
/// None when `n` is 0 or `k` larger than `n`.
pub fn lower_bound(k: u64, n: u64, confidence: f64) -> Option<f64> {
    if n == 0 || k > n {
        return None;
    }
    if k == 0 {
        return Some(0.0);
    }
    Some(invert(|p| upper_tail(k, n, p), 1.0 - confidence, 0.0, 1.0))
}

/// One-sided upper bound of the true share; see [`lower_bound`].
pub fn upper_bound(k: u64, n: u64, confidence: f64) -> Option<f64> {
    if n == 0 || k > n {
        return None;
    }
    if k == n {
        return Some(1.0);
    }
    Some(invert(|p| upper_tail(k + 1, n, p), confidence, 0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) -> bool {
        (value - expected).abs() <= 2e-9 * expected.abs()
    }

    #[test]
    fn values_of_scipy_stats_binom_cdf() {
        for (k, n, p, expected) in [
            (0, 10, 0.5, 0.000_976_562_5),
            (9, 30, 0.5, 0.021_386_972_628_533_847),
            (20, 30, 0.5, 0.978_613_027_371_466_2),
            (95, 100, 0.95, 0.564_018_699_314_288_8),
            (94, 100, 0.95, 0.384_000_872_043_859_6),
            (9_899_999, 10_000_000, 0.99, 0.499_158_946_281_596_24),
            (9_900_500, 10_000_000, 0.99, 0.944_250_341_626_303_3),
            (0, 10_000_000, 1e-7, 0.367_879_422_777_469_54),
            (3, 10_000_000, 1e-7, 0.981_011_849_255_170_4),
            (999, 1000, 0.999, 0.632_304_575_229_036_3),
        ] {
            assert!(close(cdf(k, n, p), expected), "B({k}; {n}, {p}) = {}", cdf(k, n, p));
            assert!((upper_tail(k + 1, n, p) - (1.0 - expected)).abs() < 2e-9);
        }
        assert_eq!(cdf(5, 5, 0.3), 1.0);
        assert_eq!(upper_tail(0, 5, 0.3), 1.0);
    }

    #[test]
    fn bounds_of_scipy_stats_beta_ppf() {
        for (k, n, lower, upper) in [
            (0, 1, 0.0, 0.95),
            (1, 1, 0.05, 1.0),
            (0, 59, 0.0, 0.049_507_609_888_226_93),
            (59, 59, 0.950_492_390_111_773, 1.0),
            (58, 59, 0.922_102_078_481_181_6, 0.999_130_999_928_474_4),
            (50, 100, 0.413_621_714_630_911_74, 0.586_378_285_369_088_2),
            (99, 100, 0.953_440_188_546_461_1, 0.999_487_198_583_737_7),
            (98, 100, 0.938_380_799_603_959_3, 0.996_434_847_396_743_3),
            (90, 100, 0.836_282_376_724_185_2, 0.944_736_762_317_13),
            (91, 100, 0.848_204_571_386_406_5, 0.952_243_364_086_822_4),
            (950, 1000, 0.937_136_596_487_620_3, 0.960_836_464_074_410_7),
            (9_500_000, 10_000_000, 0.949_886_490_052_339_2, 0.950_113_317_507_643_8),
            (0, 10_000_000, 0.0, 2.995_731_824_833_442_4e-7),
            (10_000_000, 10_000_000, 0.999_999_700_426_817_5, 1.0),
            (1, 10_000_000, 5.129_329_425_600_043e-9, 4.743_863_629_843_794e-7),
            (9_999_999, 10_000_000, 0.999_999_525_613_637, 0.999_999_994_870_670_6),
        ] {
            let (low, high) = (lower_bound(k, n, 0.95).unwrap(), upper_bound(k, n, 0.95).unwrap());
            assert!(close(low, lower), "lower of {k}/{n}: {low}, not {lower}");
            assert!(close(high, upper), "upper of {k}/{n}: {high}, not {upper}");
        }
        assert_eq!(lower_bound(0, 0, 0.95), None);
        assert_eq!(upper_bound(3, 2, 0.95), None);
    }
}
