//! Addresses of servers: base addresses with and without `/v1` and a trailing slash mean the same.

use std::{fmt, net::Ipv6Addr, str::FromStr};
use thiserror::Error;

/// The base address of a server, `http[s]://host[:port][/prefix][/v1]`.
///
/// The address of one of its routes is accepted also (`.../v1/chat/completions`, `.../metrics`): the route is cut off.
/// A query is sent with every request, and, as it may hold a key, never displayed.
///
/// ```
/// use plimsoll_wire::url::BaseUrl;
///
/// let base: BaseUrl = "http://127.0.0.1:8000/v1/".parse()?;
/// assert_eq!(base.url("/v1/chat/completions"), "http://127.0.0.1:8000/v1/chat/completions");
/// assert_eq!(base.path("/metrics"), "/metrics");
/// # Ok::<(), plimsoll_wire::url::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// True for `https`.
    tls: bool,
    /// As it stands in an address: IPv6 in brackets.
    host: String,
    port: Option<u16>,
    /// Before `/v1`; empty or with a leading slash.
    prefix: String,
    /// False for a full address of a chat route without `/v1`.
    versioned: bool,
    query: Option<String>,
}

/// Why a text is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the address `{shown}` cannot be used: {problem}; write it like http://127.0.0.1:8000")]
pub struct UrlError {
    problem: String,
    shown: String,
}

const VERSION: &str = "/v1";
/// Routes that carry load: they may stand in an address without a version.
const LOAD_ROUTES: [&str; 4] = ["/chat/completions", "/completions", "/responses", "/messages"];
const ROUTES: [&str; 5] = ["/models", "/metrics", "/health", "/version", "/tokenize"];

impl BaseUrl {
    /// The host without brackets, as a resolver takes it.
    pub fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// True when the address asks for TLS: `https`.
    pub const fn is_tls(&self) -> bool {
        self.tls
    }

    /// The host as it stands in an address: IPv6 in brackets.
    pub fn bracketed_host(&self) -> &str {
        &self.host
    }

    /// The port; when the address names none, 443 for `https` and 80 for `http`.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.tls { 443 } else { 80 })
    }

    /// The value of the `Host` header.
    pub fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// Scheme and authority, such as `https://host:8443`: what parts one origin from another.
    pub fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }

    /// Path and query of a route, such as `/v1/chat/completions` or `/metrics`, as they stand in a request.
    pub fn path(&self, route: &str) -> String {
        let mut path = self.bare_path(route);
        if let Some(query) = &self.query {
            path.push('?');
            path.push_str(query);
        }
        path
    }

    /// The query, which may hold a key.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// The whole address of a route, for display: without the query.
    pub fn url(&self, route: &str) -> String {
        format!("{}{}", self.origin(), self.bare_path(route))
    }

    fn bare_path(&self, route: &str) -> String {
        let route = match route.strip_prefix(VERSION) {
            Some(rest) if !self.versioned && rest.starts_with('/') => rest,
            _ => route,
        };
        let slash = if route.starts_with('/') { "" } else { "/" };
        format!("{}{slash}{route}", self.prefix)
    }
}

/// Without query and `/v1`.
impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.prefix)
    }
}

/// As displayed: a query may hold a key.
impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaseUrl({self})")
    }
}

impl FromStr for BaseUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        let fail = |problem: &str| UrlError { problem: problem.to_owned(), shown: shown(text) };
        // A host and port without a scheme can mean nothing else than HTTP.
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let tls = scheme.eq_ignore_ascii_case("https");
        if !tls && !scheme.eq_ignore_ascii_case("http") {
            return Err(fail("the scheme is neither http nor https"));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, (!query.is_empty()).then(|| query.to_owned())),
            None => (rest, None),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if rest.contains('@') {
            return Err(fail("credentials do not belong there; name a variable that holds the API key"));
        }
        let (host, port) = split_port(authority).map_err(fail)?;
        let graphic =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte));
        if !graphic(path) || !query.as_deref().is_none_or(graphic) {
            return Err(fail("the path has characters that must be percent-encoded"));
        }
        let (prefix, versioned) = base_path(path);
        let host = host.to_ascii_lowercase();
        Ok(Self { tls, host, port, prefix: prefix.to_owned(), versioned, query })
    }
}

/// Cuts off slashes, a route and the version.
fn base_path(path: &str) -> (&str, bool) {
    let path = path.trim_end_matches('/');
    let base = |routes: &[&str]| routes.iter().find_map(|route| path.strip_suffix(route));
    let load = base(&LOAD_ROUTES).map(|base| base.trim_end_matches('/'));
    let unversioned = load.is_some_and(|base| !base.ends_with(VERSION));
    let base = load.or_else(|| base(&ROUTES)).unwrap_or(path).trim_end_matches('/');
    (base.strip_suffix(VERSION).unwrap_or(base).trim_end_matches('/'), !unversioned)
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = if authority.starts_with('[') {
        let end = authority.find(']').ok_or("the IPv6 address has no closing bracket")?;
        let (host, rest) = authority.split_at(end + 1);
        let inner = host.trim_start_matches('[').trim_end_matches(']');
        inner.parse::<Ipv6Addr>().map_err(|_| "there is no IPv6 address between the brackets")?;
        match rest.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if rest.is_empty() => (host, None),
            None => return Err("something else than a port follows the IPv6 address"),
        }
    } else {
        match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => return Err("an IPv6 address must stand in brackets"),
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if host.is_empty() {
        return Err("the host is missing");
    }
    if !host.starts_with('[') && !host.bytes().all(name) {
        return Err("the host has characters that no host name has");
    }
    let number = |port: &str| match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err("the port is not a number from 1 to 65535"),
    };
    Ok((host, port.map(number).transpose()?))
}

/// The text without credentials, query and control characters, bounded.
fn shown(text: &str) -> String {
    let text = match text.rsplit_once('@') {
        Some((_, rest)) => format!("***@{rest}"),
        None => text.to_owned(),
    };
    let bare = text.split(['?', '#']).next().unwrap_or_default();
    crate::chat::clean(bare, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(base: &str, route: &str) -> String {
        base.parse::<BaseUrl>().unwrap().url(route)
    }

    #[test]
    fn all_ways_to_write_a_base_mean_the_same() {
        let chat = "/v1/chat/completions";
        for base in [
            "",
            "/",
            "/v1",
            "/v1/",
            "/v1//",
            "/v1/chat/completions",
            "/v1/completions",
            "/v1/responses",
            "/v1/messages",
            "/v1/models",
            "/metrics",
        ] {
            assert_eq!(url(&format!("http://h:1{base}"), chat), "http://h:1/v1/chat/completions", "{base}");
            assert_eq!(url(&format!("h:1{base}"), "/metrics"), "http://h:1/metrics", "{base}");
            let prefixed = url(&format!("HTTP://H:1/a/b{base}"), "/v1/completions");
            assert_eq!(prefixed, "http://h:1/a/b/v1/completions", "{base}");
        }
        assert_eq!(url("http://[::1]:8000/v1", chat), "http://[::1]:8000/v1/chat/completions");
        assert_eq!(url("http://h/openai/chat/completions", chat), "http://h/openai/chat/completions");
        assert_eq!(url("http://h/v1x", chat), "http://h/v1x/v1/chat/completions");
    }

    #[test]
    fn the_parts_are_given_apart() {
        let base: BaseUrl = " http://[FE80::1]/x?key=abc#frag ".parse().unwrap();
        assert_eq!((base.host(), base.port(), base.authority()), ("fe80::1", 80, "[fe80::1]".to_owned()));
        assert_eq!(base.path("health"), "/x/health?key=abc");
        assert_eq!(format!("{base} {base:?}"), "http://[fe80::1]/x BaseUrl(http://[fe80::1]/x)");
    }

    #[test]
    fn https_has_its_own_port_and_origin() {
        let base: BaseUrl = "HTTPS://H/v1/".parse().unwrap();
        assert_eq!((base.is_tls(), base.port(), base.authority()), (true, 443, "h".to_owned()));
        assert_eq!(
            (base.origin(), base.url("/v1/models")),
            ("https://h".into(), "https://h/v1/models".into())
        );
        let base: BaseUrl = "https://[::1]:8443/x".parse().unwrap();
        assert_eq!((base.port(), base.to_string()), (8443, "https://[::1]:8443/x".to_owned()));
        assert!(!"h:443".parse::<BaseUrl>().unwrap().is_tls());
    }

    #[test]
    fn what_is_no_address_says_why() {
        let cases = [
            ("", "host is missing"),
            ("http://", "host is missing"),
            ("http://:80", "host is missing"),
            ("ftp://h", "neither http nor https"),
            ("http:/h:1", "port is not a number"),
            ("http://h:0", "port is not a number"),
            ("http://h:99999", "port is not a number"),
            ("http://h:", "port is not a number"),
            ("http://::1:80", "must stand in brackets"),
            ("http://[::1", "no closing bracket"),
            ("http://[x]:1", "no IPv6 address"),
            ("http://[::1]x", "something else than a port"),
            ("http://a b", "host has characters"),
            ("http://h/a b", "percent-encoded"),
            ("http://h/\r\nX: y", "percent-encoded"),
        ];
        for (text, want) in cases {
            let error = text.parse::<BaseUrl>().unwrap_err();
            assert!(error.to_string().contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn credentials_are_never_shown() {
        for text in [
            "http://me:hunter2@h:1/v1",
            "https://me:hun/ter2@h",
            "http://me:hunter2@",
            "http://me@x:hunter2@h",
            "h:1?key=hunter2 x",
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err().to_string();
            assert!(!error.contains("hunter2") && !error.contains("ter2"), "{error}");
        }
    }
}
