use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr, time::Duration};
use thiserror::Error;

/// A length of time as people write it: `250ms`, `1.5s`, `2m`, `90` (seconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

/// A text that is not a length of time.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not a length of time; write for example 250ms, 1.5s, 2m or 1h")]
pub struct SpanError {
    text: String,
}

/// The longest span.
const CENTURY_NS: f64 = 100.0 * 366.0 * 86_400e9;

impl Span {
    /// From a duration.
    pub const fn new(duration: Duration) -> Self {
        Self(duration)
    }

    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }

    /// As the standard library's type.
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// In whole nanoseconds; spans are bounded to a century, which fits.
    pub fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let error = || SpanError { text: text.chars().take(40).collect() };
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let value: f64 = number.parse().map_err(|_| error())?;
        let factor = match unit.trim() {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" | "" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            _ => return Err(error()),
        };
        let nanos = (value * factor).round();
        if !nanos.is_finite() || nanos > CENTURY_NS {
            return Err(error());
        }
        Ok(Self(Duration::from_nanos(nanos as u64)))
    }
}

/// The largest unit that gives a whole number, so that parsing gives the same span back.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.nanos();
        let units = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
        ];
        for (size, unit) in units {
            if nanos > 0 && nanos.is_multiple_of(size) {
                return write!(f, "{}{unit}", nanos / size);
            }
        }
        write!(f, "{nanos}ns")
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        for (text, ms) in
            [("250ms", 250), ("1.5s", 1500), ("2m", 120_000), ("90", 90_000), ("1h", 3_600_000), ("0s", 0)]
        {
            assert_eq!(text.parse(), Ok(Span::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn refused() {
        for text in ["", "s", "-1s", "1x", "1..2s", "nan", "inf", "1e3s", "9999999999h"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trip(nanos in 0_u64..4_000_000_000_000_000) {
            let span = Span::new(Duration::from_nanos(nanos));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
