//! Values that take whatever type comes, so that one odd field does not cost the whole chunk.

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use std::{borrow::Cow, fmt, marker::PhantomData};

/// A string; empty for any other type. Content parts (`[{"type":"text","text":"..."}]`) are joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

/// A count; absent for any other type, for negative numbers and beyond `u32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub Option<u32>);

/// An object; absent for any other type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<T>(pub Option<T>);

/// A list of objects, [`LIST_LIMIT`] at most; empty for any other type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

/// No honest list is that long; a hostile one would take far more memory than it has bytes.
const LIST_LIMIT: usize = 1 << 16;

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Visitor methods for types that carry nothing for us.
macro_rules! ignore {
    ($value:expr; $($kind:ident)*) => { $(ignore!(@ $kind $value);)* };
    (@ scalars $value:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($value) }
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($value) }
    };
    (@ numbers $value:expr) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($value) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($value) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($value) }
    };
    (@ string $value:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($value) }
    };
    (@ map $value:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
    (@ seq $value:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}

fn anything(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("any value")
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let mut all = Text::default();
                while let Some(part) = parts.next_element::<Text<'de>>()? {
                    append(&mut all.0, part.0);
                }
                Ok(all)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                #[derive(Deserialize)]
                struct Part<'a> {
                    #[serde(borrow, default)]
                    text: Text<'a>,
                    #[serde(borrow, default)]
                    refusal: Text<'a>,
                }
                let Part { mut text, refusal } = Part::deserialize(MapAccessDeserializer::new(map))?;
                append(&mut text.0, refusal.0);
                Ok(text)
            }
            ignore!(Text::default(); scalars numbers);
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl<'de> Visitor<'de> for CountVisitor {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_u64<E>(self, n: u64) -> Result<Count, E> {
                Ok(Count(u32::try_from(n).ok()))
            }
            fn visit_i64<E>(self, n: i64) -> Result<Count, E> {
                Ok(Count(u32::try_from(n).ok()))
            }
            fn visit_f64<E>(self, n: f64) -> Result<Count, E> {
                let whole = n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&n);
                Ok(Count(whole.then_some(n as u32)))
            }
            ignore!(Count(None); scalars string map seq);
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|value| Object(Some(value)))
            }
            ignore!(Object(None); scalars numbers string seq);
        }
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while list.len() < LIST_LIMIT {
                    let Some(item) = seq.next_element::<Object<T>>()? else { break };
                    list.extend(item.0);
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(List(list))
            }
            ignore!(List(Vec::new()); scalars numbers string map);
        }
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// Appends without a copy while only one part is not empty.
#[inline]
pub fn append<'a>(all: &mut Cow<'a, str>, part: Cow<'a, str>) {
    if all.is_empty() {
        *all = part;
    } else if !part.is_empty() {
        all.to_mut().push_str(&part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_lists_are_cut() {
        let json = format!("[{}{{}}]", "{},".repeat(LIST_LIMIT));
        let list: List<IgnoredAny> = serde_json::from_str(&json).unwrap();
        assert_eq!(list.0.len(), LIST_LIMIT);
    }
}
