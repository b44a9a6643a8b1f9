use crate::{Dial, Head, TransportError, connection::Connection};
use hyper::{Request, Uri, Version, header::HOST, http::uri::Authority};
use plimsoll_record::FailureKind;

/// A route's address in the two forms that requests give it.
#[derive(Clone, Debug)]
pub struct Address {
    /// Path and query.
    path: Uri,
    /// The same after scheme and authority.
    whole: Uri,
}

impl Address {
    /// `path` with its query, on the server that `head` names.
    pub fn new(dial: &Dial, head: &Head, path: &str) -> Result<Self, TransportError> {
        let no_path = |error: &dyn std::fmt::Display| {
            TransportError::new(FailureKind::BadPayload, format!("`{}` is not a path: {error}", shown(path)))
        };
        let parsed: Uri = path.parse().map_err(|error| no_path(&error))?;
        let Some(path_and_query) = parsed.path_and_query().filter(|_| parsed.authority().is_none()) else {
            return Err(no_path(&"it does not begin with /"));
        };
        let whole = Uri::builder()
            .scheme(dial.scheme())
            .authority(head.host())
            .path_and_query(path_and_query.clone());
        let whole = whole.build().map_err(|error| no_path(&error))?;
        Ok(Self { path: parsed, whole })
    }

    /// Another route of the same server.
    pub fn moved(&self, path: &str) -> Option<Self> {
        let path: Uri = path.parse().ok()?;
        let mut whole = self.whole.clone().into_parts();
        whole.path_and_query = Some(path.path_and_query().filter(|_| path.authority().is_none())?.clone());
        Some(Self { path, whole: Uri::from_parts(whole).ok()? })
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &str {
        self.whole.scheme_str().unwrap_or_default()
    }

    /// The path alone.
    pub fn path(&self) -> &str {
        self.path.path()
    }

    /// True when `authority` names the same host and port.
    pub fn is_at(&self, authority: &Authority) -> bool {
        let port = |authority: &Authority| {
            authority.port_u16().unwrap_or(if self.scheme() == "https" { 443 } else { 80 })
        };
        let same = |own: &Authority| {
            own.host().eq_ignore_ascii_case(authority.host()) && port(own) == port(authority)
        };
        !authority.as_str().contains('@') && self.whole.authority().is_some_and(same)
    }

    /// Writes it into a request as the connection needs it.
    pub fn put<B>(&self, request: &mut Request<B>, connection: &Connection) {
        if !connection.absolute {
            request.uri_mut().clone_from(&self.path);
            return;
        }
        request.uri_mut().clone_from(&self.whole);
        if connection.probe.http == "2" {
            // The address stands in `:authority` (RFC 9113, 8.3.1).
            request.headers_mut().remove(HOST);
            *request.version_mut() = Version::HTTP_2;
        }
    }
}

fn shown(path: &str) -> String {
    path.split('?').next().unwrap_or_default().chars().take(200).collect()
}
