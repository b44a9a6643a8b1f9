//! Reading straight into what a chunk is made of: no list, no copy and no intermediate value per choice.

use super::lenient::Text;
use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{borrow::Cow, fmt};

/// Something that takes whatever value comes, and what it can use of it. The defaults use nothing.
pub trait Fill<'de> {
    /// A string.
    fn text(&mut self, _text: Cow<'de, str>) {}

    /// A number that is a count.
    fn count(&mut self, _n: u64) {}

    /// An object.
    fn map<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        skip_map(map)
    }

    /// A list.
    fn seq<A: SeqAccess<'de>>(&mut self, seq: A) -> Result<(), A::Error> {
        skip_seq(seq)
    }
}

/// Reads a value into the place that it borrows.
pub struct Place<'f, T>(pub &'f mut T);

impl<'de, T: Fill<'de>> DeserializeSeed<'de> for Place<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Fill<'de>> Visitor<'de> for Place<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.0.text(Cow::Borrowed(text));
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.text(Cow::Owned(text.to_owned()));
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.map(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.0.seq(seq)
    }
    fn visit_u64<E>(self, n: u64) -> Result<(), E> {
        self.0.count(n);
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

/// The same, but any value other than an object is an error: for the payload as a whole.
pub struct Whole<'f, T>(pub &'f mut T);

impl<'de, T: Fill<'de>> DeserializeSeed<'de> for Whole<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Fill<'de>> Visitor<'de> for Whole<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.map(map)
    }
}

/// Fills the same target from every item of a list.
pub fn each<'de, A: SeqAccess<'de>, T: Fill<'de>>(mut seq: A, target: &mut T) -> Result<(), A::Error> {
    while seq.next_element_seed(Place(&mut *target))?.is_some() {}
    Ok(())
}

pub fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

pub fn skip_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// The text of an entry's value.
pub fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Cow<'de, str>, A::Error> {
    map.next_value::<Text<'de>>().map(|text| text.0)
}

/// Passes over an entry's value.
pub fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// Reads the whole of a JSON text into `target`.
pub fn read<'de, T: Fill<'de>, R: serde_json::de::Read<'de>>(
    read: R,
    target: &mut T,
) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::new(read);
    Whole(target).deserialize(&mut deserializer)?;
    deserializer.end()
}
