use super::{Dial, DialOptions, MemoryDial, connect_tcp, connect_unix};
use crate::{DialPart, Proxy, TransportError, io::Stream, tls::Tls};
use plimsoll_record::HttpVersion;
use plimsoll_wire::url::BaseUrl;
use std::{net::SocketAddr, path::PathBuf, sync::Arc};

/// A way to a server with TLS, HTTP/2, a unix socket or a proxy. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Route(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    reach: Reach,
    http: HttpVersion,
    tls: Option<Tls>,
    proxy: Option<Proxy>,
    /// Host and port of the server, as a proxy is told them.
    authority: String,
}

/// What a connection is made of at the bottom.
#[derive(Clone, Debug)]
pub enum Reach {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
    Memory(MemoryDial),
}

impl Route {
    pub(super) fn new(reach: Reach, base: &BaseUrl, options: &DialOptions) -> Result<Self, TransportError> {
        let http = options.http;
        if http == HttpVersion::Two && !cfg!(feature = "http2") {
            return Err(TransportError::usage("this build has no HTTP/2"));
        }
        let tls = base.is_tls().then(|| Tls::new(base.host(), http, &options.tls)).transpose()?;
        let authority = format!("{}:{}", base.bracketed_host(), base.port());
        Ok(Self(Arc::new(Parts { reach, http, tls, proxy: options.proxy.clone(), authority })))
    }

    pub(super) fn reach(&self) -> &Reach {
        &self.0.reach
    }

    pub(super) fn is_memory(&self) -> bool {
        matches!(self.0.reach, Reach::Memory(_))
    }

    pub(super) fn tls(&self) -> Option<(&Tls, &str)> {
        Some((self.0.tls.as_ref()?, &self.0.authority))
    }

    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.0.proxy.as_ref()
    }

    /// TLS and HTTP/2 cannot be given to a proxy request by request.
    pub(super) fn tunnel(&self) -> Option<(&Proxy, &str)> {
        let needed = self.0.tls.is_some() || self.knows_http2();
        Some((self.0.proxy.as_ref().filter(|_| needed)?, &self.0.authority))
    }

    pub(super) fn forwarder(&self) -> Option<&Proxy> {
        self.0.proxy.as_ref().filter(|_| self.tunnel().is_none())
    }

    pub(super) fn knows_http2(&self) -> bool {
        self.0.tls.is_none() && self.0.http == HttpVersion::Two
    }

    pub(super) async fn connect(&self) -> Result<Stream, TransportError> {
        match &self.0.reach {
            Reach::Tcp(addresses) => connect_tcp(addresses).await.map_err(|error| match &self.0.proxy {
                Some(_) => error.about(DialPart::Proxy),
                None => error,
            }),
            Reach::Unix(path) => connect_unix(path).await,
            Reach::Memory(dial) => Ok(dial.connect()),
        }
    }
}

impl From<Route> for Dial {
    fn from(route: Route) -> Self {
        Self::Route(route)
    }
}
