use crate::{Trace, TransportError};
use bytes::Bytes;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use plimsoll_record::{FailureKind, Outcome};
use std::fmt;

/// A value that is never shown.
#[derive(Clone)]
pub struct Secret(String);

/// What stands in a secret's place.
const BLOT: &str = "***";

impl Secret {
    /// Wraps the value.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Shortest secret that is looked for in what a server sends, bytes. A shorter one, such as `EMPTY`, is a
    /// placeholder that ordinary words may hold.
    const SHORTEST: usize = 8;

    /// Takes the secret out of `text`: a server may repeat the key that it refuses.
    pub(crate) fn blot(&self, text: &mut String) {
        if self.0.len() >= Self::SHORTEST && text.contains(&self.0) {
            *text = text.replace(&self.0, BLOT);
        }
    }

    /// The same for a body that need not be text.
    pub(crate) fn blot_bytes(&self, bytes: Bytes) -> Bytes {
        let key = self.0.as_bytes();
        let mut kept = Vec::new();
        let mut rest: &[u8] = &bytes;
        while let Some(at) = find(rest, key).filter(|_| key.len() >= Self::SHORTEST) {
            kept.extend_from_slice(rest.get(..at).unwrap_or_default());
            kept.extend_from_slice(BLOT.as_bytes());
            rest = rest.get(at + key.len()..).unwrap_or_default();
        }
        if kept.is_empty() {
            return bytes;
        }
        kept.extend_from_slice(rest);
        kept.into()
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len().max(1)).position(|window| window == part)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BLOT)
    }
}

/// The headers that every request of a run carries; made once.
#[derive(Clone, Debug)]
pub struct Head {
    pub(crate) headers: HeaderMap,
    key: Option<Secret>,
}

impl Head {
    /// `host` as it stands in the URL, with its port. The key becomes `Authorization: Bearer`.
    pub fn new(host: &str, key: Option<&Secret>) -> Result<Self, TransportError> {
        let mut headers = HeaderMap::new();
        let invalid = |what: &str| {
            TransportError::new(
                FailureKind::BadPayload,
                format!("{what} has characters that no HTTP header may have"),
            )
        };
        headers.insert(HOST, HeaderValue::from_str(host).map_err(|_| invalid("the host name"))?);
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("plimsoll/", env!("CARGO_PKG_VERSION"))));
        if let Some(Secret(key)) = key {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| invalid("the API key"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { headers, key: key.cloned() })
    }

    /// Takes the key out of all words that the server has sent.
    pub(crate) fn blot(&self, trace: &mut Trace) {
        let Some(key) = &self.key else { return };
        key.blot(&mut trace.text);
        if let Some(reason) = &mut trace.finish_reason {
            key.blot(reason);
        }
        if let Some(Outcome::Failed { message, .. }) = &mut trace.outcome {
            key.blot(message);
        }
    }

    /// The same for a whole body.
    pub(crate) fn blot_body(&self, body: Bytes) -> Bytes {
        match &self.key {
            Some(key) => key.blot_bytes(body),
            None => body,
        }
    }

    /// The same for one line of text.
    pub(crate) fn blot_text(&self, mut text: String) -> String {
        if let Some(key) = &self.key {
            key.blot(&mut text);
        }
        text
    }

    /// With one more header, in place of another one of the same name. Of a `secret` value nothing is ever shown: neither by
    /// this client, nor where a server repeats it.
    pub fn with_header(mut self, name: &str, value: &str, secret: bool) -> Result<Self, TransportError> {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        let name: HeaderName =
            name.parse().map_err(|_| TransportError::usage(format!("`{shown}` is no name of a header")))?;
        let value = HeaderValue::from_str(value);
        let mut value = value.map_err(|_| {
            TransportError::usage(format!(
                "the value of the header {shown} has characters that no HTTP header may have"
            ))
        })?;
        value.set_sensitive(secret);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_out_of_text_and_bodies_and_a_placeholder_is_not() {
        let key = Secret::new("sk-12345".to_owned());
        let mut text = "bad key sk-12345, sk-12345!".to_owned();
        key.blot(&mut text);
        assert_eq!(text, "bad key ***, ***!");
        let blotted = |body: &'static [u8]| key.blot_bytes(Bytes::from_static(body));
        assert_eq!(blotted(b"\xffsk-12345sk-12345."), &b"\xff******."[..]);
        assert_eq!(blotted(b"sk-12345"), &b"***"[..]);
        assert_eq!(blotted(b"sk-1234"), &b"sk-1234"[..]);
        assert_eq!(blotted(b""), &b""[..]);
        let placeholder = Secret::new("EMPTY".to_owned());
        assert_eq!(placeholder.blot_bytes(Bytes::from_static(b"EMPTY")), &b"EMPTY"[..]);
        assert_eq!(Secret::new(String::new()).blot_bytes(Bytes::from_static(b"a")), &b"a"[..]);
    }
}
