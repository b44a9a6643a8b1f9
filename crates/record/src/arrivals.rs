use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};
use thiserror::Error;

use crate::{Rate, Span};

/// How requests arrive in an open loop whose level gives the mean rate.
///
/// As people write it: `constant`, `poisson`, `gamma:B` (burstiness B: the gaps' coefficient of variation is 1/√B),
/// `weibull:K` (shape K), `on-off:HIGH/LOW,ON,OFF` (rates relative to each other, mean lengths of the two states),
/// `ramp:FROM[:linear|exponential]` (the rate goes from FROM to the level's over the measured window).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Equal gaps.
    Constant,
    /// Exponential gaps: independent users.
    Poisson,
    /// Gamma gaps of this shape; below 1 they come in bursts, above 1 more evenly than Poisson.
    Gamma(f64),
    /// Weibull gaps of this shape.
    Weibull(f64),
    /// Poisson arrivals whose rate switches between two values at exponentially distributed times.
    OnOff {
        /// Weight of the rate in the on state.
        high: f64,
        /// Weight of the rate in the off state; may be 0.
        low: f64,
        /// Mean length of the on state.
        on: Span,
        /// Mean length of the off state.
        off: Span,
    },
    /// Poisson arrivals whose rate changes over the measured window; needs a fixed window.
    Ramp {
        /// Rate at the window's start.
        from: Rate,
        /// How it changes.
        shape: RampShape,
    },
}

/// How the rate of a ramp changes with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RampShape {
    /// By equal amounts in equal times.
    Linear,
    /// By equal factors in equal times.
    Exponential,
}

/// A text that is no arrival process.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{text}` is no arrival process; write constant, poisson, gamma:0.5, weibull:0.7, on-off:20/1,5s,5s, ramp:1 or \
     ramp:1:exponential"
)]
pub struct ArrivalsError {
    text: String,
}

impl FromStr for Arrivals {
    type Err = ArrivalsError;

    fn from_str(text: &str) -> Result<Self, ArrivalsError> {
        parse(text.trim()).ok_or_else(|| ArrivalsError { text: text.chars().take(60).collect() })
    }
}

fn parse(text: &str) -> Option<Arrivals> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    match (name, rest) {
        ("constant", None) => Some(Arrivals::Constant),
        ("poisson", None) => Some(Arrivals::Poisson),
        ("gamma", Some(shape)) => number(shape).filter(|shape| in_shape(*shape)).map(Arrivals::Gamma),
        ("weibull", Some(shape)) => number(shape).filter(|shape| in_shape(*shape)).map(Arrivals::Weibull),
        ("on-off", Some(rest)) => {
            let [rates, on, off] = rest.split(',').collect::<Vec<_>>().try_into().ok()?;
            let (high, low) = rates.split_once('/')?;
            let (high, low) = (number(high)?, number(low)?);
            let (on, off) = (on.parse::<Span>().ok()?, off.parse::<Span>().ok()?);
            let sound = high > 0.0 && on.nanos() > 0 && off.nanos() > 0;
            sound.then_some(Arrivals::OnOff { high, low, on, off })
        }
        ("ramp", Some(rest)) => {
            let (from, shape) = match rest.split_once(':') {
                None | Some((_, "linear")) => (rest.split(':').next()?, RampShape::Linear),
                Some((from, "exponential")) => (from, RampShape::Exponential),
                Some(_) => return None,
            };
            Some(Arrivals::Ramp { from: from.parse().ok()?, shape })
        }
        _ => None,
    }
}

/// Shapes beyond these bounds give gaps that are all alike, or that no run lives to see.
fn in_shape(shape: f64) -> bool {
    (0.05..=1000.0).contains(&shape)
}

fn number(text: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let text = Some(text.trim()).filter(|text| text.chars().all(digits))?;
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value <= 1e6)
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::Gamma(shape) => write!(f, "gamma:{shape}"),
            Self::Weibull(shape) => write!(f, "weibull:{shape}"),
            Self::OnOff { high, low, on, off } => write!(f, "on-off:{high}/{low},{on},{off}"),
            Self::Ramp { from, shape: RampShape::Linear } => write!(f, "ramp:{from}"),
            Self::Ramp { from, shape: RampShape::Exponential } => write!(f, "ramp:{from}:exponential"),
        }
    }
}

impl Serialize for Arrivals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "constant",
            "poisson",
            "gamma:0.5",
            "weibull:0.542693",
            "on-off:20/0,5s,5s",
            "ramp:1",
            "ramp:0.5:exponential",
        ] {
            assert_eq!(text.parse::<Arrivals>().unwrap().to_string(), text);
        }
        assert_eq!("ramp:1:linear".parse::<Arrivals>().unwrap().to_string(), "ramp:1");
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "exponential",
            "gamma",
            "gamma:0",
            "gamma:-1",
            "gamma:nan",
            "weibull:inf",
            "weibull:1e3",
            "on-off:1",
            "on-off:0/1,1s,1s",
            "on-off:2/1,0s,1s",
            "on-off:2/1,1s",
            "ramp:",
            "ramp:0",
            "ramp:1:cubic",
            "poisson:1",
        ] {
            assert!(text.parse::<Arrivals>().is_err(), "{text}");
        }
    }
}
