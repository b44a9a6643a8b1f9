use crate::address::Address;
use hyper::{Method, Response, Uri, header::LOCATION};
use plimsoll_record::Redirects;

/// Most redirects of one request that are followed.
const MOST: u32 = 5;

/// What to do about a redirect.
#[derive(Debug)]
pub enum Step {
    /// The same request once more, to this address of the same origin.
    Follow(Address),
    /// The policy forbids to follow it, for this reason.
    Refuse(String),
}

/// Is it the status of a redirect?
pub const fn is(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// A location as it may be shown: without user, password and query, bounded.
pub fn shown(location: &str) -> Option<String> {
    let location = location.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = location.split_once("//").unwrap_or(("", location));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let between = if scheme.len() + rest.len() == location.len() { "" } else { "//" };
    let text = format!("{scheme}{between}{host}{path}");
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    (!text.is_empty()).then_some(text)
}

/// Judges the response to a request that went to `address` after `followed` redirects. `None`: there is nothing to follow.
pub fn step<B>(
    response: &Response<B>,
    policy: Redirects,
    method: &Method,
    address: &Address,
    followed: u32,
) -> Option<Step> {
    let status = response.status().as_u16();
    if policy == Redirects::Refuse || !is(status) {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let refuse = |reason: &str| {
        let shown = shown(location).unwrap_or_default();
        Some(Step::Refuse(format!("refused by policy: HTTP {status} to {shown}: {reason}")))
    };
    if *method != Method::GET && !matches!(status, 307 | 308) {
        return refuse("only 307 and 308 promise that the request stays a POST");
    }
    if followed >= MOST {
        return refuse("that is one redirect too many");
    }
    match target(address, location).and_then(|path| address.moved(&path)) {
        Some(moved) => Some(Step::Follow(moved)),
        None => refuse("it leads to another origin, which may not be given this request"),
    }
}

/// Path and query that `location` names, if they are of the same origin (RFC 3986, 5.2).
fn target(address: &Address, location: &str) -> Option<String> {
    let location = location.trim().split('#').next().unwrap_or_default();
    let absolute = match location.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?']) => Some(location.to_owned()),
        _ if location.starts_with("//") => Some(format!("{}:{location}", address.scheme())),
        _ => None,
    };
    if let Some(absolute) = absolute {
        let uri: Uri = absolute.parse().ok()?;
        let same = uri.scheme_str()? == address.scheme() && address.is_at(uri.authority()?);
        return same.then(|| uri.path_and_query().map_or("/", |path| path.as_str()).to_owned());
    }
    let (path, query) = match location.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (location, None),
    };
    let path = match path {
        "" => address.path().to_owned(),
        path if path.starts_with('/') => without_dots(path),
        path => {
            let folder = address.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            without_dots(&format!("{folder}/{path}"))
        }
    };
    Some(match query {
        Some(query) => format!("{path}?{query}"),
        None => path,
    })
}

/// RFC 3986, 5.2.4.
fn without_dots(path: &str) -> String {
    let mut kept = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            part => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dial, Head};

    fn address(host: &str, path: &str) -> Address {
        Address::new(&Dial::Tcp(Vec::new()), &Head::new(host, None).unwrap(), path).unwrap()
    }

    fn follows(host: &str, location: &str) -> Option<String> {
        target(&address(host, "/v1/chat?k=1"), location)
    }

    #[test]
    fn locations_on_the_same_origin_are_found() {
        for (host, location, want) in [
            ("h:1", "/x?y=1#z", "/x?y=1"),
            ("h:1", "http://h:1/x?y", "/x?y"),
            ("h:1", "HTTP://H:1", "/"),
            ("h:1", "//h:1/x", "/x"),
            ("h", "http://h:80/x", "/x"),
            ("h:80", "http://h/x", "/x"),
            ("[::1]:1", "http://[::1]:1/x", "/x"),
            ("h:1", "other", "/v1/other"),
            ("h:1", "../a/./b/", "/a/b/"),
            ("h:1", "/a/../../b/..", "/"),
            ("h:1", "?q", "/v1/chat?q"),
            ("h:1", "x:y/z", ""),
        ] {
            let found = follows(host, location);
            assert_eq!(found.as_deref(), Some(want).filter(|want| !want.is_empty()), "{location}");
        }
    }

    #[test]
    fn a_location_is_shown_without_what_may_be_secret() {
        for (location, told) in [
            ("https://u:pw@h:1/x?k=1#z", Some("https://h:1/x")),
            ("http://h?k", Some("http://h")),
            ("//u@h/x", Some("//h/x")),
            ("/a@b/c?k", Some("/a@b/c")),
            ("a\u{1b}b/", Some("ab/")),
            ("?k=1", None),
        ] {
            assert_eq!(shown(location).as_deref(), told, "{location}");
        }
        assert_eq!(shown(&"/x".repeat(200)).map(|text| text.len()), Some(200));
    }

    #[test]
    fn other_origins_are_not() {
        for location in [
            "https://h:1/x",
            "http://h:2/x",
            "http://h/x",
            "http://h:1.evil/x",
            "http://evil/x",
            "http://me@h:1/x",
            "http://h:1@evil/x",
            "//evil/x",
            "ftp://h:1/",
            "mailto:x",
            "http://",
            "http:///x",
        ] {
            assert_eq!(follows("h:1", location), None, "{location}");
        }
    }
}
