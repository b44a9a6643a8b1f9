use crate::{Dial, Head, TransportError, connection::Connection};
use hyper::{Request, Uri, Version, header::HOST};
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

    /// Scheme and authority.
    pub fn origin(&self) -> String {
        let scheme = self.whole.scheme_str().unwrap_or_default();
        format!("{scheme}://{}", self.whole.authority().map_or("", |authority| authority.as_str()))
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
