use bytes::Bytes;
use std::fmt;

/// A value that is never shown.
#[derive(Clone)]
pub struct Secret(String);

/// What stands in a secret's place.
const BLOT: &str = "***";

/// How often JSON may have been put into JSON: a gateway tells an error of its server in a string.
const DEEPEST: u8 = 2;

impl Secret {
    /// Wraps the value.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// Shortest secret that is looked for in what a server sends, bytes. A shorter one, such as `EMPTY`, is a
    /// placeholder that ordinary words may hold.
    const SHORTEST: usize = 8;

    /// The value itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Takes the secret out of `text`: a server may repeat the key that it refuses, as it is or as a JSON string has it.
    pub(crate) fn blot(&self, text: &mut String) {
        if let Some(kept) = self.without(text.as_bytes()) {
            *text = String::from_utf8_lossy(&kept).into_owned();
        }
    }

    /// The same for a body that need not be text.
    pub(crate) fn blot_bytes(&self, bytes: Bytes) -> Bytes {
        match self.without(&bytes) {
            Some(kept) => kept.into(),
            None => bytes,
        }
    }

    /// The bytes without the secret; `None` when it is not in them.
    fn without(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.0.len() < Self::SHORTEST {
            return None;
        }
        let escapes = bytes.contains(&b'\\');
        let first = *self.0.as_bytes().first()?;
        let (mut kept, mut from, mut at) = (Vec::new(), 0, 0);
        while let Some(byte) = bytes.get(at) {
            let rest = bytes.get(at..).unwrap_or_default();
            let may_begin = *byte == first || *byte == b'\\';
            let length = may_begin.then(|| self.matches(rest, escapes)).flatten();
            match length {
                Some(length) => {
                    kept.extend_from_slice(bytes.get(from..at).unwrap_or_default());
                    kept.extend_from_slice(BLOT.as_bytes());
                    at += length;
                    from = at;
                }
                None => at += 1,
            }
        }
        if from == 0 {
            return None;
        }
        kept.extend_from_slice(bytes.get(from..).unwrap_or_default());
        Some(kept)
    }

    /// Bytes at the start of `text` that stand for the secret, or for so much of it as a text that was cut off can show.
    fn matches(&self, text: &[u8], escapes: bool) -> Option<usize> {
        let depths = if escapes { 0..=DEEPEST } else { 0..=0 };
        depths.into_iter().find_map(|depth| {
            let mut at = 0;
            for (seen, wanted) in self.0.char_indices() {
                match unescape(text.get(at..).unwrap_or_default(), depth) {
                    Some((found, length)) if found == u32::from(wanted) => at += length,
                    Some(_) => return None,
                    None => return (seen >= Self::SHORTEST).then_some(text.len()),
                }
            }
            Some(at)
        })
    }
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

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BLOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blotted(key: &str, text: &str) -> String {
        let mut text = text.to_owned();
        Secret::new(key.to_owned()).blot(&mut text);
        text
    }

    #[test]
    fn a_key_is_taken_out_of_text_and_bodies_and_a_placeholder_is_not() {
        assert_eq!(blotted("sk-12345", "bad key sk-12345, sk-12345!"), "bad key ***, ***!");
        let key = Secret::new("sk-12345".to_owned());
        let bytes = |body: &'static [u8]| key.blot_bytes(Bytes::from_static(body));
        assert_eq!(bytes(b"\xffsk-12345sk-12345."), &b"\xff******."[..]);
        assert_eq!(bytes(b"sk-12345"), &b"***"[..]);
        assert_eq!(bytes(b"sk-1234"), &b"sk-1234"[..]);
        assert_eq!(bytes(b"sk-123"), &b"sk-123"[..]);
        assert_eq!(bytes(b""), &b""[..]);
        assert_eq!(blotted("EMPTY", "EMPTY"), "EMPTY");
        assert_eq!(blotted("", "a"), "a");
    }

    #[test]
    fn escapes_of_json_do_not_hide_it() {
        let key = r#"a"b\c/d<é"#;
        // Python: json.dumps(key), with / and < escaped as PHP and Go do, and json.dumps(json.dumps(key)).
        for text in
            [r#"a"b\c/d<é"#, r#"a\"b\\c/d<\u00e9"#, r#"\u0061\"b\\c\/d\u003cé"#, r#"a\\\"b\\\\c/d<\\u00e9"#]
        {
            assert_eq!(blotted(key, &format!("<{text}>")), "<***>", "{text}");
        }
    }

    #[test]
    fn a_text_that_was_cut_off_inside_the_key_shows_none_of_it() {
        assert_eq!(blotted("sk-very-secret", "it is sk-very-se"), "it is ***");
        assert_eq!(blotted("sk-very-secret", "it is sk-very"), "it is sk-very");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn nothing_else_is_changed(text in "[ab\\\\\"u0é]{0,40}", key in "[ab\\\\\"é]{8,10}") {
            let kept = blotted(&key, &text);
            prop_assert!(!kept.contains(&key));
            if !kept.contains("***") {
                prop_assert_eq!(kept, text);
            }
        }

        #[test]
        fn a_key_inside_json_is_found(key in "[ -~]{8,20}", deep in 0..3) {
            let mut text = key.clone();
            for _ in 0..deep {
                text = serde_json::to_string(&text).unwrap();
            }
            prop_assert!(blotted(&key, &text).contains("***"), "{}", text);
        }
    }
}
