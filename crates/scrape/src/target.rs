use plimsoll_transport::{Dial, Head, Secret, TransportError};
use plimsoll_wire::url::BaseUrl;

/// A metrics page.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) dial: Dial,
    pub(crate) head: Head,
    pub(crate) origin: String,
    pub(crate) path: String,
    pub(crate) shown: String,
}

impl Target {
    /// The page `/metrics` of the server at `base`, which `dial` reaches.
    pub fn new(dial: Dial, base: &BaseUrl, key: Option<&Secret>) -> Result<Self, TransportError> {
        Ok(Self::with_head(dial, base, Head::new(&base.authority(), key)?))
    }

    /// The same, asked for with the headers of `head`.
    pub fn with_head(dial: Dial, base: &BaseUrl, head: Head) -> Self {
        const PAGE: &str = "/metrics";
        // One dialect, whatever else the server could write.
        let head = head.with("accept", "text/plain;version=0.0.4");
        Self { dial, head, origin: base.origin(), path: base.path(PAGE), shown: base.url(PAGE) }
    }

    /// The page's address, without credentials and query.
    pub fn address(&self) -> &str {
        &self.shown
    }

    /// The path on this server that a `Location` header names; `None` when it leads elsewhere.
    pub(crate) fn path_of<'a>(&self, location: &'a str) -> Option<&'a str> {
        let path = location.strip_prefix(self.origin.as_str()).unwrap_or(location);
        (path.starts_with('/') && !path.starts_with("//")).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_followed_on_the_same_server_only() {
        let base: BaseUrl = "http://h:1/v1".parse().unwrap();
        let target = Target::new(Dial::Tcp(Vec::new()), &base, None).unwrap();
        assert_eq!((target.address(), target.path.as_str()), ("http://h:1/metrics", "/metrics"));
        assert_eq!(target.path_of("/metrics/"), Some("/metrics/"));
        assert_eq!(target.path_of("http://h:1/metrics/?x"), Some("/metrics/?x"));
        for elsewhere in
            ["http://h:12/metrics", "http://other/", "//other/metrics", "https://h:1/", "metrics/", ""]
        {
            assert_eq!(target.path_of(elsewhere), None, "{elsewhere}");
        }
    }
}
