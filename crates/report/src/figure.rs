//! Figures as text.

use plimsoll_metrics::{Interval, Number, Reading};

/// Stands where there is no figure.
pub const NONE: &str = "–";

/// Three significant digits; whole numbers of more digits in full. Rust formats floats exactly, on every platform.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounded first, so that 99.96 is 100 and not 100.0.
    let scientific = format!("{value:.2e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    if !(-6..15).contains(&exponent) {
        return scientific;
    }
    let decimals = usize::try_from(2 - exponent).unwrap_or(0);
    format!("{value:.decimals$}")
}

/// The unit that figures are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As it is.
    One,
    /// Seconds in milliseconds.
    Milli,
    /// Shares in percent.
    Percent,
}

impl Scale {
    /// For a single figure: ms below 1 s.
    pub fn of(unit: &str, value: f64) -> Self {
        match unit {
            "s" if value.abs() < 1.0 => Self::Milli,
            "share" => Self::Percent,
            _ => Self::One,
        }
    }

    /// For a column: ms, unless a value reaches 10 s.
    pub fn of_column(unit: &str, largest: f64) -> Self {
        match unit {
            "s" if largest < 10.0 => Self::Milli,
            "share" => Self::Percent,
            _ => Self::One,
        }
    }

    /// A figure without its unit.
    pub fn show(self, value: f64) -> String {
        significant(match self {
            Self::One => value,
            Self::Milli => value * 1e3,
            Self::Percent => value * 1e2,
        })
    }

    /// The name of the unit as shown.
    pub fn unit(self, unit: &str) -> &str {
        match self {
            Self::One => unit,
            Self::Milli => "ms",
            Self::Percent => "%",
        }
    }
}

/// The figure with its unit: `87.3 ms`, `≥ 551 ms (n=150)`, `–`.
pub fn with_unit(number: &Number) -> String {
    let Some(value) = number.value else { return NONE.to_owned() };
    let scale = Scale::of(&number.unit, value);
    let shown = format!("{} {}", scale.show(value), scale.unit(&number.unit));
    match number.reading {
        Reading::Estimate => shown,
        Reading::AtLeast => format!("≥ {shown} (n={})", number.n),
        Reading::Absent => NONE.to_owned(),
    }
}

/// The figure and its interval in one unit: `587 ms [551, 642]`.
pub fn with_interval(number: &Number) -> String {
    let shown = with_unit(number);
    match (number.reading, number.value, &number.interval) {
        (Reading::Estimate, Some(value), Some(interval)) => {
            format!("{shown} {}", interval_in(interval, Scale::of(&number.unit, value)))
        }
        _ => shown,
    }
}

fn interval_in(interval: &Interval, scale: Scale) -> String {
    let high = interval.high.map_or_else(|| "not known".to_owned(), |high| scale.show(high));
    format!("[{}, {high}]", scale.show(interval.low))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: Option<f64>, reading: Reading, interval: Option<(f64, Option<f64>)>) -> Number {
        Number {
            name: "ttft_p95".into(),
            unit: "s".into(),
            formula: "ttft".into(),
            value,
            reading,
            n: 150,
            interval: interval.map(|(low, high)| Interval {
                low,
                high,
                confidence: 0.95,
                method: "order statistics".into(),
            }),
            interval_reason: None,
            source: "client stamps".into(),
            reason: None,
            withheld: None,
        }
    }

    #[test]
    fn three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.005_123, "0.00512"),
            (0.999_6, "1.00"),
            (5.125_5, "5.13"),
            (99.96, "100"),
            (512.4, "512"),
            (5123.4, "5123"),
            (123_456.7, "123457"),
            (-0.25, "-0.250"),
            (1.5e-9, "1.50e-9"),
            (2e20, "2.00e20"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn readings() {
        let estimate = seconds(Some(0.587), Reading::Estimate, Some((0.551, Some(1.042))));
        assert_eq!(with_interval(&estimate), "587 ms [551, 1042]");
        assert_eq!(with_unit(&seconds(Some(1.587), Reading::Estimate, None)), "1.59 s");
        let at_least = seconds(Some(0.55), Reading::AtLeast, Some((0.55, None)));
        assert_eq!(with_interval(&at_least), "≥ 550 ms (n=150)");
        assert_eq!(with_interval(&seconds(None, Reading::Absent, None)), "–");
    }

    #[test]
    fn columns_keep_one_unit() {
        assert_eq!(Scale::of_column("s", 9.9), Scale::Milli);
        assert_eq!(Scale::of_column("s", 12.0), Scale::One);
        assert_eq!(Scale::Milli.show(0.0123), "12.3");
        assert_eq!(Scale::of_column("share", 0.5).show(0.5), "50.0");
    }
}
