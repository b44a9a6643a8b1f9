use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// The load of one level: so many requests in flight (closed loop), or so many arrivals per second (open loop).
/// Ordered by kind, then by size. In files a concurrency is a number, `8`, and a rate a text, `"2.5/s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Requests in flight at once.
    Concurrency(u32),
    /// Requests that arrive per second, whatever the server does.
    Rate(Rate),
}

/// Requests per second, above 0, to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A text or number that is not a rate or level.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not {wanted}")]
pub struct LevelError {
    text: String,
    wanted: &'static str,
}

const RATE: &str = "a rate; write requests per second from 0.000001 to 1000000, for example 2.5";
const LEVEL: &str = "a level; write a concurrency such as 8, or a rate such as 2.5/s";

impl Level {
    /// Its size: requests in flight, or requests per second.
    pub fn value(self) -> f64 {
        match self {
            Self::Concurrency(slots) => f64::from(slots),
            Self::Rate(rate) => rate.per_second(),
        }
    }

    /// The requests in flight of a closed loop.
    pub const fn concurrency(self) -> Option<u32> {
        match self {
            Self::Concurrency(slots) => Some(slots),
            Self::Rate(_) => None,
        }
    }

    /// The rate of an open loop.
    pub const fn rate(self) -> Option<Rate> {
        match self {
            Self::Concurrency(_) => None,
            Self::Rate(rate) => Some(rate),
        }
    }

    /// True for a rate.
    pub const fn is_open_loop(self) -> bool {
        matches!(self, Self::Rate(_))
    }

    /// In words: `concurrency 8`, `2.5 req/s`.
    pub fn words(self) -> String {
        match self {
            Self::Concurrency(slots) => format!("concurrency {slots}"),
            Self::Rate(rate) => format!("{rate} req/s"),
        }
    }

    /// A number that no other level has, for streams of draws.
    pub const fn number(self) -> u64 {
        match self {
            Self::Concurrency(slots) => slots as u64,
            Self::Rate(Rate(micro)) => micro | 1 << 63,
        }
    }
}

impl Rate {
    /// Of so many requests per second. None when that is not between a millionth and a million.
    pub fn new(per_second: f64) -> Option<Self> {
        let micro = (per_second * 1e6).round();
        (1.0..=1e12).contains(&micro).then_some(Self(micro as u64))
    }

    /// Requests per second.
    pub fn per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl From<u32> for Level {
    fn from(slots: u32) -> Self {
        Self::Concurrency(slots)
    }
}

impl From<Rate> for Level {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.per_second())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Concurrency(slots) => f.pad(&slots.to_string()),
            Self::Rate(rate) => f.pad(&format!("{rate}/s")),
        }
    }
}

impl FromStr for Rate {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, LevelError> {
        let error = || LevelError { text: text.chars().take(40).collect(), wanted: RATE };
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let trimmed = text.trim();
        let number = Some(trimmed).filter(|text| text.chars().all(digits)).and_then(|text| text.parse().ok());
        number.and_then(Self::new).ok_or_else(error)
    }
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, LevelError> {
        let error = || LevelError { text: text.chars().take(40).collect(), wanted: LEVEL };
        match text.trim().strip_suffix("/s") {
            Some(rate) => rate.parse().map(Self::Rate).map_err(|_| error()),
            None => text.trim().parse().map(Self::Concurrency).map_err(|_| error()),
        }
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Concurrency(slots) => serializer.serialize_u32(*slots),
            Self::Rate(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Level;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(LEVEL)
            }
            fn visit_u64<E: de::Error>(self, slots: u64) -> Result<Level, E> {
                u32::try_from(slots).map(Level::Concurrency).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, slots: i64) -> Result<Level, E> {
                u32::try_from(slots).map(Level::Concurrency).map_err(E::custom)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Level, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.per_second())
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let per_second = f64::deserialize(deserializer)?;
        let error = || LevelError { text: per_second.to_string(), wanted: RATE };
        Self::new(per_second).ok_or_else(|| de::Error::custom(error()))
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::Level;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use std::borrow::Cow;

    impl JsonSchema for Level {
        fn schema_name() -> Cow<'static, str> {
            "Level".into()
        }
        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "description": "The load of one level: a concurrency as a number, a rate as a text such as 2.5/s.",
                "anyOf": [
                    { "type": "integer", "minimum": 1 },
                    { "type": "string", "pattern": "^[0-9.]+/s$" },
                ],
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn levels_in_files() {
        let json = |level: Level| serde_json::to_string(&level).unwrap();
        assert_eq!(json(Level::Concurrency(8)), "8");
        assert_eq!(json(Level::Rate(Rate::new(2.5).unwrap())), "\"2.5/s\"");
        assert!(
            serde_json::from_str::<Level>("-1").is_err() && serde_json::from_str::<Level>("\"8 s\"").is_err()
        );
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in ["", "0", "-1", "nan", "inf", "1e3", "x", "1.2.3", "99999999", "0.0000001"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert_eq!(Rate::new(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn rates_survive_their_text(micro in 1_u64..=1_000_000_000_000) {
            let level = Level::Rate(Rate(micro));
            prop_assert_eq!(level.to_string().parse(), Ok(level));
            let json = serde_json::to_string(&level).unwrap();
            prop_assert_eq!(serde_json::from_str::<Level>(&json).unwrap(), level);
        }
    }
}
