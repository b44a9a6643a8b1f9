//! The ratio of two samples' geometric means.

use super::student;

/// Fewest values of a sample for which an interval is given.
pub const LEAST: usize = 3;

/// `ln(geometric mean of b / geometric mean of a)` with what its interval is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    log: f64,
    spread: Result<Spread, NoInterval>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    standard_error: f64,
    /// Degrees of freedom (Welch 1947, Satterthwaite 1946).
    freedom: f64,
}

/// Why a ratio has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// A sample has fewer than [`LEAST`] values.
    TooFew,
    /// All values of each sample are equal: how far they spread cannot be told from them.
    NoSpread,
}

impl LogRatio {
    /// Of two samples of finite positive values. None when a sample is empty or a value has no logarithm.
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        let (x, y) = (logs(a)?, logs(b)?);
        let log = mean(&y) - mean(&x);
        let equal =
            |values: &[f64]| values.windows(2).all(|pair| matches!(pair, [x, y] if x.total_cmp(y).is_eq()));
        let spread = if a.len() < LEAST || b.len() < LEAST {
            Err(NoInterval::TooFew)
        } else if equal(a) && equal(b) {
            Err(NoInterval::NoSpread)
        } else {
            Ok(Spread::of(&x, &y))
        };
        Some(Self { log, spread })
    }

    /// The ratio, `b` over `a`. It may overflow when the values are as far apart as an f64 allows.
    pub fn ratio(&self) -> f64 {
        libm::exp(self.log)
    }

    /// Two-sided interval of the ratio by Welch's t on the logarithms.
    ///
    /// `confidence` lies between 0 and 1, for example 0.95.
    pub fn interval(&self, confidence: f64) -> Result<(f64, f64), NoInterval> {
        let Spread { standard_error, freedom } = self.spread?;
        let half = student::quantile(0.5 + confidence / 2.0, freedom) * standard_error;
        Ok((libm::exp(self.log - half), libm::exp(self.log + half)))
    }

    /// p of the two one-sided tests (Schuirmann 1987) that the ratio lies outside of `[1 / (1 + margin), 1 + margin]`:
    /// a small one shows that it lies inside. `margin` is positive, 0.05 for 5 %.
    pub fn equivalence(&self, margin: f64) -> Result<f64, NoInterval> {
        let Spread { standard_error, freedom } = self.spread?;
        let edge = libm::log1p(margin);
        let above = student::cdf((self.log - edge) / standard_error, freedom);
        let below = student::cdf((-self.log - edge) / standard_error, freedom);
        Ok(above.max(below))
    }
}

impl Spread {
    fn of(x: &[f64], y: &[f64]) -> Self {
        let (of_x, of_y) = (variance(x) / x.len() as f64, variance(y) / y.len() as f64);
        let share = of_x / (of_x + of_y);
        let freedom = 1.0
            / (share * share / (x.len() as f64 - 1.0)
                + (1.0 - share) * (1.0 - share) / (y.len() as f64 - 1.0));
        Self { standard_error: (of_x + of_y).sqrt(), freedom }
    }
}

/// Natural logarithms. None when there is no value, or one that is not finite and positive.
pub(super) fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let log = |value: &f64| (value.is_finite() && *value > 0.0).then(|| libm::log(*value));
    values.iter().map(log).collect::<Option<Vec<f64>>>().filter(|logs| !logs.is_empty())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, expected: f64) -> bool {
        (value - expected).abs() <= 1e-9 * expected.abs()
    }

    #[test]
    fn values_of_scipy_stats_ttest_ind_on_logs() {
        for (a, b, ratio, low, high, equivalence) in [
            (
                &[1.2, 1.5, 1.1, 1.9][..],
                &[1.6, 2.1, 2.2, 1.8][..],
                1.371_367_705_586_838_3,
                0.948_423_654_113_529,
                1.982_921_214_343_089_7,
                0.939_442_882_833_034_6,
            ),
            (
                &[100.0, 101.0, 99.0, 102.0, 98.0][..],
                &[104.0, 103.0, 106.0, 105.0, 101.5][..],
                1.038_986_228_066_937_3,
                1.014_511_785_414_858_2,
                1.064_051_100_866_542_8,
                0.168_677_842_976_539_07,
            ),
            (
                &[0.5, 0.5, 0.7][..],
                &[0.7, 0.7, 0.9, 1.1][..],
                1.492_033_138_640_750_8,
                0.990_880_153_824_506,
                2.246_652_007_520_623,
                0.961_079_507_106_525_9,
            ),
            (
                &[3.0, 1.0, 4.0, 1.0, 5.0][..],
                &[9.0, 2.0, 6.0, 5.0, 3.0, 5.0][..],
                1.975_986_256_980_949_4,
                0.754_198_599_120_692_2,
                5.177_047_123_038_680_5,
                0.917_892_427_421_784_7,
            ),
            (
                &[10.0, 10.1, 9.9][..],
                &[10.05, 9.95, 10.02][..],
                1.000_691_241_247_359_6,
                0.980_179_273_775_761_3,
                1.021_632_457_552_117_8,
                0.002_583_427_964_544_465_3,
            ),
        ] {
            let seen = LogRatio::of(a, b).unwrap();
            let interval = seen.interval(0.95).unwrap();
            assert!(
                close(seen.ratio(), ratio) && close(interval.0, low) && close(interval.1, high),
                "{interval:?}"
            );
            assert!(close(seen.equivalence(0.05).unwrap(), equivalence), "{:?}", seen.equivalence(0.05));
        }
    }

    #[test]
    fn by_hand() {
        let one = LogRatio::of(&[1.0, 4.0], &[6.0]).unwrap();
        assert!(close(one.ratio(), 3.0));
        assert_eq!(one.interval(0.95), Err(NoInterval::TooFew));
        assert_eq!(one.equivalence(0.05), Err(NoInterval::TooFew));
        // Whose logarithms' mean is not exact: equality is told from the values.
        let equal = LogRatio::of(&[0.1; 3], &[0.3; 7]).unwrap();
        assert!(close(equal.ratio(), 3.0));
        assert_eq!(equal.interval(0.95), Err(NoInterval::NoSpread));
        // A side without spread adds no degrees of freedom: t with 2.
        let half = LogRatio::of(&[1.0; 5], &[1.0, libm::exp(1.0), libm::exp(2.0)]).unwrap();
        let (low, high) = half.interval(0.95).unwrap();
        let width = 4.302_652_729_749_462 / 3_f64.sqrt();
        assert!(close(low, libm::exp(1.0 - width)) && close(high, libm::exp(1.0 + width)), "{low} {high}");
    }

    #[test]
    fn what_has_no_logarithm_has_no_ratio() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(LogRatio::of(&[1.0, bad], &[1.0]), None);
            assert_eq!(LogRatio::of(&[1.0], &[bad]), None);
        }
        assert_eq!(LogRatio::of(&[], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_ratio_and_turns_with_the_sides(
            a in proptest::collection::vec(1e-9..1e9_f64, 3..20),
            b in proptest::collection::vec(1e-9..1e9_f64, 3..20),
        ) {
            let (one, other) = (LogRatio::of(&a, &b).unwrap(), LogRatio::of(&b, &a).unwrap());
            let ((low, high), (low_other, high_other)) = (one.interval(0.95).unwrap(), other.interval(0.95).unwrap());
            prop_assert!(low <= one.ratio() && one.ratio() <= high);
            prop_assert!(close(low * high_other, 1.0) && close(high * low_other, 1.0));
            // The tests at 5 % and the 90 % interval say the same.
            let (low, high) = one.interval(0.9).unwrap();
            let inside = low > 1.0 / 1.5 && high < 1.5;
            prop_assert_eq!(one.equivalence(0.5).unwrap() < 0.05, inside);
        }
    }
}
