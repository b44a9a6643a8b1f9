use crate::spelling::{Spelling, codes};
use bytes::Bytes;
use std::fmt;

/// A value that is never shown.
#[derive(Clone)]
pub struct Secret {
    value: String,
    /// Its base64 and its hexadecimal digits.
    codes: Vec<Vec<u8>>,
}

/// What stands in a secret's place.
const BLOT: &str = "***";

impl Secret {
    /// Wraps the value.
    pub fn new(value: String) -> Self {
        let codes = codes(value.as_bytes());
        Self { value, codes }
    }

    /// Shortest secret that is looked for in what a server sends, bytes. A shorter one, such as `EMPTY`, is a
    /// placeholder that ordinary words may hold.
    const SHORTEST: usize = 8;

    /// The value itself.
    pub(crate) fn expose(&self) -> &str {
        &self.value
    }

    /// Takes the secret out of `text`: a server may repeat the key that it refuses, as it is, as JSON, HTML or an address
    /// spells it, or as base64 or hexadecimal digits.
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
        if self.value.len() < Self::SHORTEST {
            return None;
        }
        let begins = self.begins();
        let spellings: Vec<Spelling> =
            Spelling::ALL.into_iter().filter(|spelling| spelling.is_in(bytes)).collect();
        let (mut kept, mut from, mut at) = (Vec::new(), 0, 0);
        while let Some(byte) = bytes.get(at) {
            let rest = bytes.get(at..).unwrap_or_default();
            let may_begin = begins.get(usize::from(*byte)) == Some(&true);
            let length = may_begin.then(|| self.matches(rest, &spellings)).flatten();
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

    /// Which bytes it may begin with, in any spelling.
    fn begins(&self) -> [bool; 256] {
        let firsts = self.codes.iter().filter_map(|code| code.first()).chain(self.value.as_bytes().first());
        let firsts = firsts.flat_map(|byte| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]);
        let mut begins = [false; 256];
        for byte in firsts.chain(*br"\%&") {
            if let Some(begin) = begins.get_mut(usize::from(byte)) {
                *begin = true;
            }
        }
        begins
    }

    /// Bytes at the start of `text` that stand for the secret, or for so much of it as a text that was cut off, or a server
    /// that masks its end, can show.
    fn matches(&self, text: &[u8], spellings: &[Spelling]) -> Option<usize> {
        let code = self
            .codes
            .iter()
            .find(|code| text.get(..code.len()).is_some_and(|text| text.eq_ignore_ascii_case(code)));
        if let Some(code) = code {
            return Some(code.len());
        }
        let most = Self::SHORTEST.max(self.value.len() * 3 / 4);
        spellings.iter().find_map(|spelling| {
            let mut at = 0;
            for (seen, wanted) in self.value.char_indices() {
                match spelling.character(text.get(at..).unwrap_or_default()) {
                    Some((found, length)) if same(found, wanted) => at += length,
                    Some(_) => return (seen >= most).then_some(at),
                    None => return (seen >= Self::SHORTEST).then_some(text.len()),
                }
            }
            Some(at)
        })
    }
}

/// Whatever the case: a server may have changed it.
fn same(found: u32, wanted: char) -> bool {
    char::from_u32(found).is_some_and(|found| found.eq_ignore_ascii_case(&wanted))
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
    fn other_spellings_do_not_hide_it() {
        let key = r#"sk-ab/CD+ef=="q&Z9~x"#;
        // Python: urllib.parse.quote(key), quote(key, safe=''), html.escape(key), base64.b64encode, urlsafe_b64encode (of
        // the key, of "u:" and of "Bearer " before it), key.encode().hex(), key.upper(), each in other text.
        for (text, rest) in [
            ("<sk-ab/CD%2Bef%3D%3D%22q%26Z9~x>", "<***>"),
            ("<sk-ab%2FCD%2Bef%3D%3D%22q%26Z9~x>", "<***>"),
            ("<sk-ab%2fCD%2bef%3d%3d%22q%26Z9~x>", "<***>"),
            ("<%73%6b-ab%2fCD%2bef%3d%3d%22q%26Z9%7ex>", "<***>"),
            ("<sk-ab/CD+ef==&quot;q&amp;Z9~x>", "<***>"),
            ("<sk-ab/CD&#43;ef&#x3D;&#x3d;&#34;q&amp;Z9~x>", "<***>"),
            ("<736b2d61622f43442b65663d3d2271265a397e78>", "<***>"),
            ("<736B2D61622F43442B65663D3D2271265A397E78>", "<***>"),
            ("<SK-AB/CD+EF==\"Q&Z9~X>", "<***>"),
            ("<sk-ab/CD+ef==\"q****>", "<*******>"),
            ("<c2stYWIvQ0QrZWY9PSJxJlo5fng=>", "<***g=>"),
            ("<dTpzay1hYi9DRCtlZj09InEmWjl+eA==>", "<dTp***A==>"),
            ("<QmVhcmVyIHNrLWFiL0NEK2VmPT0icSZaOX54>", "<QmVhcmVyIH***>"),
            ("<dTpzay1hYi9DRCtlZj09InEmWjl-eA==>", "<dTp***A==>"),
        ] {
            assert_eq!(blotted(key, text), rest, "{text}");
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
        fn a_key_inside_json_is_found(key in "[ -~]{8,20}", deep in 0..=4) {
            let mut text = key.clone();
            for _ in 0..deep {
                text = serde_json::to_string(&text).unwrap();
            }
            prop_assert!(blotted(&key, &text).contains("***"), "{}", text);
        }
    }
}
