use super::{Dial, DialOptions, Route, route::Reach};
use crate::{DialPart, TransportError};
use plimsoll_record::{FailureKind, HttpVersion, Nanos, TargetConditions};
use plimsoll_wire::url::BaseUrl;
use std::net::SocketAddr;
use tokio::time::Instant;

/// A way to a server, its names resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The way.
    pub dial: Dial,
    /// Addresses of the server, or of the proxy, in the order in which they are tried; empty for a unix socket.
    pub addresses: Vec<SocketAddr>,
    /// Time of the name's look-up; absent when there was none.
    pub dns: Option<Nanos>,
    conditions: TargetConditions,
}

impl Resolved {
    /// What is known of the target before a connection.
    pub fn conditions(&self) -> TargetConditions {
        self.conditions.clone()
    }
}

impl Dial {
    /// The way to the server at `base`. Names are looked up here, once, and certificates and keys are read, so that nothing
    /// of this is timed later. No connection is made.
    pub async fn resolve(base: &BaseUrl, options: &DialOptions) -> Result<Resolved, TransportError> {
        let mut conditions = TargetConditions { url: base.to_string(), ..TargetConditions::default() };
        conditions.proxy = options.proxy.as_ref().map(ToString::to_string);
        if let Some(path) = &options.unix_socket {
            if options.proxy.is_some() {
                return Err(TransportError::usage(
                    "a unix socket is not reached through a proxy; give one of the two",
                ));
            }
            conditions.addresses = vec![path.display().to_string()];
            let dial = Route::new(Reach::Unix(path.clone()), base, options)?.into();
            return Ok(Resolved { dial, addresses: Vec::new(), dns: None, conditions });
        }
        let (host, port) = match &options.proxy {
            Some(proxy) => (proxy.host(), proxy.port()),
            None => (base.host(), base.port()),
        };
        let begun = Instant::now();
        let addresses = look_up(host, port).await.map_err(|error| match &options.proxy {
            Some(_) => error.about(DialPart::Proxy),
            None => error,
        })?;
        let dns = Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        conditions.addresses = addresses.iter().map(ToString::to_string).collect();
        conditions.dns_ns = Some(dns);
        let dial = Self::Tcp(addresses.clone()).over(base, options)?;
        Ok(Resolved { dial, addresses, dns: Some(dns), conditions })
    }

    /// The same connections with what `base` and `options` ask for on top: TLS, HTTP version, proxy. A way that had
    /// been made with options loses these.
    pub fn over(self, base: &BaseUrl, options: &DialOptions) -> Result<Self, TransportError> {
        let plain = !base.is_tls() && options.proxy.is_none() && options.http != HttpVersion::Two;
        let reach = match self {
            Self::Tcp(_) | Self::Memory(_) if plain => return Ok(self),
            Self::Tcp(addresses) => Reach::Tcp(addresses),
            Self::Memory(dial) => Reach::Memory(dial),
            Self::Route(route) => route.reach().clone(),
        };
        Ok(Route::new(reach, base, options)?.into())
    }
}

async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, TransportError> {
    let failed = |reason: &dyn std::fmt::Display| {
        let message = format!("the host name `{host}` cannot be looked up: {reason}; is it spelled right?");
        TransportError::new(FailureKind::Connect, message)
    };
    let found = tokio::net::lookup_host((host, port)).await.map_err(|error| failed(&error))?;
    let addresses: Vec<_> = found.collect();
    if addresses.is_empty() { Err(failed(&"it has no address")) } else { Ok(addresses) }
}
