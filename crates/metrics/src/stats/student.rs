//! Student's t distribution.

use super::beta::{invert, regularized_beta};

/// `P(T <= t)` with `freedom > 0` degrees of freedom; NaN outside of that.
pub fn cdf(t: f64, freedom: f64) -> f64 {
    let square = t * t;
    let (x, y) = if square.is_infinite() {
        (0.0, 1.0)
    } else {
        (freedom / (freedom + square), square / (freedom + square))
    };
    let tail = 0.5 * regularized_beta(freedom / 2.0, 0.5, x, y);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The `t` with `P(T <= t) = p`, for `0 < p < 1` and `freedom > 0`; NaN outside of that.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    if !(p > 0.0 && p < 1.0 && freedom > 0.0) {
        return f64::NAN;
    }
    // The lower half is the one whose probabilities keep their digits.
    if p > 0.5 {
        return -quantile(1.0 - p, freedom);
    }
    if p >= 0.5 {
        return 0.0;
    }
    let mut low = -1.0;
    while cdf(low, freedom) > p && low > -1e300 {
        low *= 2.0;
    }
    invert(|t| cdf(t, freedom), p, low, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_scipy_stats_t() {
        for (freedom, p, expected) in [
            (1.0, 0.975, 12.706_204_736_174_694),
            (2.0, 0.975, 4.302_652_729_749_462),
            (4.0, 0.975, 2.776_445_105_197_793_4),
            (19.0, 0.975, 2.093_024_054_408_308_7),
            (1e6, 0.975, 1.959_966_356_814_107),
            (1.0, 0.6, 0.324_919_696_232_906_34),
            (3.0, 0.01, -4.540_702_858_568_133_5),
            (29.0, 0.995, 2.756_385_903_670_605),
        ] {
            let value = quantile(p, freedom);
            assert!((value / expected - 1.0).abs() < 1e-9, "t({p}, {freedom}) = {value}, not {expected}");
        }
        assert_eq!(quantile(0.5, 9.0), 0.0);
        for (freedom, t, expected) in [
            (1.0, 1.0, 0.75),
            (2.0, -4.0, 0.028_595_479_208_968_315),
            (19.0, 2.093, 0.974_998_810_528_586_1),
            (5.0, 0.0, 0.5),
            (3.0, 50.0, 0.999_991_191_423_979_4),
        ] {
            assert!((cdf(t, freedom) - expected).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn outside_the_domain() {
        assert!(quantile(0.0, 3.0).is_nan());
        assert!(quantile(0.5, 0.0).is_nan());
        assert_eq!(cdf(f64::INFINITY, 3.0), 1.0);
    }
}
