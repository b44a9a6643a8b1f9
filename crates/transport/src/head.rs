use crate::{Dial, Proxy, Secret, Trace, TransportError, proxy::percent_decoded};
use bytes::Bytes;
use hyper::header::{
    AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
};
use plimsoll_record::{FailureKind, Outcome};

/// Headers of the connection and of the message's framing (RFC 9110, 7.6.1 and 8.6; RFC 9112, 6.1).
const OWN: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// The headers that every request of a run carries; made once.
#[derive(Clone, Debug)]
pub struct Head {
    pub(crate) headers: HeaderMap,
    /// What servers may not have repeated in anything that is kept.
    secrets: Vec<Secret>,
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
        if let Some(key) = key {
            let value = HeaderValue::from_str(&format!("Bearer {}", key.expose()));
            let mut value = value.map_err(|_| invalid("the API key"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { headers, secrets: key.cloned().into_iter().collect() })
    }

    /// The server's name, with its port.
    pub(crate) fn host(&self) -> &[u8] {
        self.headers.get(HOST).map_or(b"", HeaderValue::as_bytes)
    }

    /// With what the way to the server asks for: credentials for a proxy.
    pub(crate) fn dressed(mut self, dial: &Dial) -> Self {
        if let Some(credentials) = dial.proxy().and_then(Proxy::credentials) {
            self.keep_secret(credentials.expose());
        }
        let forwarder = dial.forwarder().and_then(Proxy::credentials);
        if let Some(mut value) = forwarder.and_then(|value| HeaderValue::from_str(value.expose()).ok()) {
            value.set_sensitive(true);
            self.headers.insert(PROXY_AUTHORIZATION, value);
        }
        self
    }

    /// A value such as `Bearer KEY` is repeated whole or without its first word.
    fn keep_secret(&mut self, value: &str) {
        let value = value.trim();
        self.secrets.push(Secret::new(value.to_owned()));
        if let Some((_, last)) = value.rsplit_once(' ') {
            self.secrets.push(Secret::new(last.to_owned()));
        }
    }

    /// Takes the key out of all words that the server has sent.
    pub(crate) fn blot(&self, trace: &mut Trace) {
        for key in &self.secrets {
            key.blot(&mut trace.text);
            if let Some(reason) = &mut trace.finish_reason {
                key.blot(reason);
            }
            if let Some(Outcome::Failed { message, .. }) = &mut trace.outcome {
                key.blot(message);
            }
        }
    }

    /// The same for a whole body.
    pub(crate) fn blot_body(&self, body: Bytes) -> Bytes {
        self.secrets.iter().fold(body, |body, key| key.blot_bytes(body))
    }

    /// The same for one line of text.
    pub(crate) fn blot_text(&self, mut text: String) -> String {
        for key in &self.secrets {
            key.blot(&mut text);
        }
        text
    }

    /// With one more header, in place of another one of the same name. Of a `secret` value nothing is ever shown: neither by
    /// this client, nor where a server repeats it.
    pub fn with_header(mut self, name: &str, value: &str, secret: bool) -> Result<Self, TransportError> {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        let name: HeaderName = name
            .parse()
            .map_err(|_| TransportError::usage(format!("`{shown}` is not the name of a header")))?;
        if OWN.contains(&name.as_str()) {
            return Err(TransportError::usage(format!(
                "the header {shown} cannot be set: it is part of how this client speaks HTTP"
            )));
        }
        let value = HeaderValue::from_str(value.trim()).map_err(|_| {
            TransportError::usage(format!(
                "the value of the header {shown} has characters that no HTTP header may have"
            ))
        });
        let mut header = value?;
        if secret {
            header.set_sensitive(true);
            self.keep_secret(header.to_str().unwrap_or_default());
        }
        self.headers.insert(name, header);
        Ok(self)
    }

    /// The same with a value that is never shown.
    pub fn with_secret(self, name: &str, value: &Secret) -> Result<Self, TransportError> {
        self.with_header(name, value.expose(), true)
    }

    /// To go with an address of this query: its values may be keys, and are taken out of what the server says.
    #[must_use]
    pub fn with_query(mut self, query: &str) -> Self {
        for value in query.split('&').filter_map(|pair| pair.split_once('=').map(|(_, value)| value)) {
            self.keep_secret(value);
            if let Ok(plain) = String::from_utf8(percent_decoded(value))
                && plain != value
            {
                self.keep_secret(&plain);
            }
        }
        self
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
    fn headers_are_added_and_those_of_the_connection_are_not() {
        let head = Head::new("h", None).unwrap();
        let head = head.with_header("X-Team", " blue ", false).unwrap();
        let head = head.with_header("authorization", "Token abcdefgh", true).unwrap();
        assert_eq!(head.headers.get("x-team").unwrap(), "blue");
        assert!(head.headers.get("authorization").unwrap().is_sensitive());
        assert_eq!(head.blot_text("Token abcdefgh, abcdefgh".to_owned()), "***, ***");
        assert!(!format!("{head:?}").contains("abcdefgh"));
        for (name, value) in [("a b", "x"), ("", "x"), ("x", "a\nb"), ("Content-Length", "3")] {
            let error = head.clone().with_header(name, value, false).unwrap_err();
            assert!(error.is_usage(), "{name}: {error}");
        }
    }
}
