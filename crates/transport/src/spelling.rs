//! How a server may spell what it was sent.

use crate::proxy::base64;

/// How characters are written.
#[derive(Clone, Copy, Debug)]
pub enum Spelling {
    /// As in JSON strings within JSON strings, so deep. A gateway tells an error of its server in a string, and one before it
    /// tells that in a string again. Every level doubles the backslashes, so that a bound is needed: four are two gateways,
    /// a server, and a request that it repeats.
    Json(u8),
    /// `%2F`, as in addresses.
    Percent,
    /// `&amp;`, `&#38;` or `&#x26;`, as in HTML.
    Entity,
}

impl Spelling {
    pub const ALL: [Self; 7] = [
        Self::Json(0),
        Self::Json(1),
        Self::Json(2),
        Self::Json(3),
        Self::Json(4),
        Self::Percent,
        Self::Entity,
    ];

    /// False when a text shows no sign of it.
    pub fn is_in(self, text: &[u8]) -> bool {
        match self {
            Self::Json(0) => true,
            Self::Json(_) => text.contains(&b'\\'),
            Self::Percent => text.contains(&b'%'),
            Self::Entity => text.contains(&b'&'),
        }
    }

    /// The first character of `text` and its length in bytes. `None` at the end, also in the middle of an escape.
    pub fn character(self, text: &[u8]) -> Option<(u32, usize)> {
        match self {
            Self::Json(depth) => unescape(text, depth),
            Self::Percent => percent(text),
            Self::Entity => entity(text),
        }
    }
}

/// What base64, at each of its three alignments and in both alphabets, and hexadecimal digits make of `bytes`: only digits
/// that depend on nothing beside them.
pub fn codes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut codes: Vec<Vec<u8>> =
        vec![bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()];
    for before in 0..3 {
        let text = base64(&[&[0, 0, 0][..before], bytes].concat());
        let whole = (8 * before).div_ceil(6)..8 * (before + bytes.len()) / 6;
        let digits = text.get(whole).unwrap_or_default();
        codes.push(digits.into());
        if digits.contains(['+', '/']) {
            codes.push(digits.replace('+', "-").replace('/', "_").into());
        }
    }
    codes.retain(|code| !code.is_empty());
    codes
}

/// The first character of `text` and its length in bytes, after `depth` levels of JSON escapes are undone. `None` at the
/// end, also in the middle of an escape.
fn unescape(text: &[u8], depth: u8) -> Option<(u32, usize)> {
    let Some(inner) = depth.checked_sub(1) else { return character(text) };
    let mut at = 0;
    let mut next = || {
        let (found, length) = unescape(text.get(at..).unwrap_or_default(), inner)?;
        at += length;
        char::from_u32(found)
    };
    let found = match next()? {
        '\\' => match next()? {
            'u' => {
                let mut hex = || (0..4).try_fold(0, |number, _| Some(number << 4 | next()?.to_digit(16)?));
                hex()?
            }
            other => u32::from(other),
        },
        other => u32::from(other),
    };
    Some((found, at))
}

/// The first character of UTF-8; a byte that is none stands for itself.
fn character(text: &[u8]) -> Option<(u32, usize)> {
    let first = *text.first()?;
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let found = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok()?.chars().next());
    Some(found.map_or((u32::from(first), 1), |found| (u32::from(found), length)))
}

/// The same of percent encoding: the bytes of one character of UTF-8.
fn percent(text: &[u8]) -> Option<(u32, usize)> {
    let byte = |at: usize| {
        let [b'%', high, low] = text.get(at..at + 3)? else { return None };
        let digit = |digit: &u8| char::from(*digit).to_digit(16);
        u8::try_from(digit(high)? << 4 | digit(low)?).ok()
    };
    if text.first() == Some(&b'%') && text.len() < 3 {
        return None;
    }
    let Some(first) = byte(0) else { return character(text) };
    let bytes: Vec<u8> = (0..4).map_while(|place| byte(3 * place)).collect();
    let (found, length) = character(&bytes).unwrap_or((u32::from(first), 1));
    Some((found, 3 * length))
}

/// The same of HTML: named and numeric references.
fn entity(text: &[u8]) -> Option<(u32, usize)> {
    /// Longest reference, bytes.
    const LONGEST: usize = 10;
    if text.first() != Some(&b'&') {
        return character(text);
    }
    let Some(end) = text.iter().take(LONGEST).position(|byte| *byte == b';') else {
        return if text.len() < LONGEST { None } else { character(text) };
    };
    let name = text.get(1..end).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
    let found = match name {
        "amp" => Some(u32::from('&')),
        "lt" => Some(u32::from('<')),
        "gt" => Some(u32::from('>')),
        "quot" => Some(u32::from('"')),
        "apos" => Some(u32::from('\'')),
        _ => match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => name.strip_prefix('#').and_then(|number| number.parse().ok()),
        },
    };
    found.map_or_else(|| character(text), |found| Some((found, end + 1)))
}
