use crate::{Secret, TransportError};
use plimsoll_wire::url::BaseUrl;
use std::fmt;

/// An HTTP proxy. Requests to `http` addresses are given to it whole; to `https` addresses it opens a tunnel.
#[derive(Clone)]
pub struct Proxy {
    base: BaseUrl,
    /// Value of `Proxy-Authorization`.
    credentials: Option<Secret>,
}

impl Proxy {
    /// Reads `http://host:port`. Credentials are refused there, as command lines and plans are written down. With
    /// `env:NAME` the address, with or without `user:password@`, is what `variable` says of NAME.
    pub fn from_flag(
        text: &str,
        variable: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Self, TransportError> {
        let Some(name) = text.strip_prefix("env:") else {
            if text.contains('@') {
                return Err(TransportError::usage(
                    "a proxy's address may not hold credentials, as it is written down; put the whole address into an environment variable and write env:NAME",
                ));
            }
            return Self::new(text);
        };
        match variable(name) {
            Some(value) => Self::new(&value),
            None => Err(TransportError::usage(format!(
                "the environment variable {name} for the proxy is not set"
            ))),
        }
    }

    /// Reads `http://[user:password@]host:port`.
    pub fn new(address: &str) -> Result<Self, TransportError> {
        let address = address.trim();
        let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(TransportError::usage("only HTTP proxies are known; write http://host:port"));
        }
        let base: Result<BaseUrl, _> = format!("http://{place}").parse();
        let base = base.map_err(|error| TransportError::usage(format!("the proxy: {error}")))?;
        if base.path("/") != "/" {
            return Err(TransportError::usage("a proxy's address has no path; write http://host:port"));
        }
        let credentials = user.map(|user| Secret::new(format!("Basic {}", base64(&percent_decoded(user)))));
        Ok(Self { base, credentials })
    }

    pub(crate) fn host(&self) -> &str {
        self.base.host()
    }

    pub(crate) fn port(&self) -> u16 {
        self.base.port()
    }

    pub(crate) const fn credentials(&self) -> Option<&Secret> {
        self.credentials.as_ref()
    }
}

/// The address without credentials.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base.origin())
    }
}

/// As displayed.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

/// Credentials in an address are percent-encoded; RFC 3986, 2.1.
pub fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().iter();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        let hex = bytes.as_slice().get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let value = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match value.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *byte == b'%') {
            Some(value) => {
                decoded.push(value);
                bytes.nth(1);
            }
            None => decoded.push(*byte),
        }
    }
    decoded
}

/// RFC 4648, 4.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let word =
            part.iter().chain([0, 0].iter()).take(3).fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        for place in 0..4 {
            let digit = DIGITS.get((word >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if place > part.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_credentials_only_from_a_variable() {
        let read = |text: &str| {
            Proxy::from_flag(text, |name| (name == "P").then(|| "http://me:pa%3ass@h:3128".into()))
        };
        let proxy = read("http://[::1]:3128/").unwrap();
        assert_eq!(
            (proxy.host(), proxy.port(), proxy.to_string()),
            ("::1", 3128, "http://[::1]:3128".to_owned())
        );
        assert!(proxy.credentials().is_none());
        let error = read("http://me:hunter2@h:1").unwrap_err().to_string();
        assert!(error.contains("env:NAME") && !error.contains("hunter2"), "{error}");
        let proxy = read("env:P").unwrap();
        // Python: base64.b64encode(b"me:pa:ss")
        assert_eq!(proxy.credentials().unwrap().expose(), "Basic bWU6cGE6c3M=");
        assert!(!format!("{proxy} {proxy:?}").contains("me"));
        for (text, want) in [
            ("env:Q", "is not set"),
            ("socks5://h:1", "only HTTP"),
            ("http://h/x", "no path"),
            ("http://h:x", "port"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn base64_as_rfc_4648_10_has_it() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, want) in cases {
            assert_eq!(base64(text.as_bytes()), want);
        }
    }
}
