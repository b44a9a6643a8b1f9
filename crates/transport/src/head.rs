use crate::TransportError;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use plimsoll_record::FailureKind;
use std::fmt;

/// A value that is never shown.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps the value.
    pub fn new(value: String) -> Self {
        Self(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The headers that every request of a run carries; made once.
#[derive(Clone, Debug)]
pub struct Head {
    pub(crate) headers: HeaderMap,
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
        Ok(Self { headers })
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }
}
