use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// How many tokens a prompt or an answer shall have. Drawn per request by `plimsoll-workload`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthLaw {
    /// `256`: always the same.
    Fixed(u32),
    /// `256:50`: normal with this mean and standard deviation, rounded, never under 1.
    Normal {
        /// Mean, tokens.
        mean: u32,
        /// Standard deviation, tokens.
        sd: u32,
    },
    /// `200-300`: uniform, both ends included.
    Uniform {
        /// Smallest, tokens.
        low: u32,
        /// Largest, tokens.
        high: u32,
    },
}

/// A text that is not a law of lengths.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not a length in tokens: {reason}; write 256, 256:50 (mean:sd) or 200-300 (uniform)")]
pub struct LengthError {
    text: String,
    reason: &'static str,
}

impl LengthLaw {
    /// The largest length accepted, tokens.
    pub const MAX: u32 = 10_000_000;

    /// The law's mean, tokens (of the untruncated normal).
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(n) => f64::from(n),
            Self::Normal { mean, .. } => f64::from(mean),
            Self::Uniform { low, high } => f64::midpoint(f64::from(low), f64::from(high)),
        }
    }
}

impl FromStr for LengthLaw {
    type Err = LengthError;

    fn from_str(text: &str) -> Result<Self, LengthError> {
        let error = |reason| LengthError { text: text.chars().take(40).collect(), reason };
        let number = |part: &str| match part.trim().parse::<u32>() {
            Ok(n) if n <= Self::MAX => Ok(n),
            Ok(_) => Err(error("larger than 10 million")),
            Err(_) => Err(error("not a whole number")),
        };
        if let Some((mean, sd)) = text.split_once(':') {
            let (mean, sd) = (number(mean)?, number(sd)?);
            return if mean == 0 {
                Err(error("the mean must be at least 1"))
            } else {
                Ok(Self::Normal { mean, sd })
            };
        }
        if let Some((low, high)) = text.split_once('-') {
            let (low, high) = (number(low)?, number(high)?);
            return match (low, high) {
                (0, _) => Err(error("the smallest must be at least 1")),
                (low, high) if low > high => Err(error("the smallest is larger than the largest")),
                _ => Ok(Self::Uniform { low, high }),
            };
        }
        match number(text)? {
            0 => Err(error("must be at least 1")),
            n => Ok(Self::Fixed(n)),
        }
    }
}

impl fmt::Display for LengthLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(n) => write!(f, "{n}"),
            Self::Normal { mean, sd } => write!(f, "{mean}:{sd}"),
            Self::Uniform { low, high } => write!(f, "{low}-{high}"),
        }
    }
}

impl Serialize for LengthLaw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LengthLaw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws() {
        assert_eq!("256".parse(), Ok(LengthLaw::Fixed(256)));
        assert_eq!("256:50".parse(), Ok(LengthLaw::Normal { mean: 256, sd: 50 }));
        assert_eq!("200-300".parse(), Ok(LengthLaw::Uniform { low: 200, high: 300 }));
        for text in ["256", "256:50", "200-300"] {
            assert_eq!(text.parse::<LengthLaw>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refused() {
        for text in
            ["", "0", "-5", "300-200", "0-4", "0:3", "a", "1.5", "5:", ":5", "99999999999", "10000001"]
        {
            assert!(text.parse::<LengthLaw>().is_err(), "{text}");
        }
    }
}
