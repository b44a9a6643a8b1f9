use crate::{Dial, TransportError};
use plimsoll_record::{Nanos, TargetConditions};

/// What one connection was like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// Time to connect: TCP, the proxy's part, and with HTTP/2 the server's first frame.
    pub connect: Nanos,
    /// Time of the TLS handshake; absent: no TLS.
    pub tls: Option<Nanos>,
    /// HTTP version: `1.1` or `2`.
    pub http: &'static str,
    /// TLS version, such as `1.3`; absent: no TLS.
    pub tls_version: Option<&'static str>,
}

impl Probe {
    /// Writes what is known into the conditions.
    pub fn describe(&self, target: &mut TargetConditions) {
        target.connect_ns = Some(self.connect);
        target.tls_ns = self.tls;
        target.http = Some(self.http.to_owned());
        target.tls = self.tls_version.map(str::to_owned);
    }
}

impl Dial {
    /// Opens one connection, sends no request, and closes it. Time is bounded by the caller.
    pub async fn probe(&self) -> Result<Probe, TransportError> {
        Ok(crate::connection::Connection::open(self).await?.probe)
    }
}
