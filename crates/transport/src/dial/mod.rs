//! Ways to the server.

mod options;
mod race;
mod resolve;
mod route;

pub use options::{DialOptions, TlsOptions};
pub use resolve::Resolved;
pub use route::Route;

use crate::{Proxy, TransportError, io::Stream, tls::Tls};
use race::race;
use std::{cell::RefCell, fmt, net::SocketAddr, path::Path, rc::Rc, sync::Arc};
use tokio::{
    io::DuplexStream,
    net::{TcpStream, UnixStream},
};

/// How to reach the server.
#[derive(Clone, Debug)]
pub enum Dial {
    /// One of these addresses, tried in order and a quarter of a second apart, and HTTP/1.1. Names are resolved beforehand, so that no look-up is timed.
    Tcp(Vec<SocketAddr>),
    /// An in-memory pipe to a server in the same runtime, and HTTP/1.1: the only way to run under paused time.
    Memory(MemoryDial),
    /// Everything else: TLS, HTTP/2, unix sockets and proxies, as [`Dial::resolve`] makes it.
    Route(Route),
}

/// Makes in-memory connections.
#[derive(Clone)]
pub struct MemoryDial(Arc<dyn Fn() -> DuplexStream + Send + Sync>);

impl MemoryDial {
    /// `connect` returns the client's end of a new pipe, whose other end it has given to the server.
    pub fn new(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(connect))
    }

    fn connect(&self) -> Stream {
        Stream::Memory((self.0)())
    }
}

impl fmt::Debug for MemoryDial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryDial")
    }
}

impl Dial {
    /// True when no socket is used, so that it works under paused time.
    pub fn is_memory(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Tcp(_) => false,
            Self::Route(route) => route.is_memory(),
        }
    }

    /// `http` or `https`.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls().is_some() { "https" } else { "http" }
    }

    /// TLS, and the server's host and port.
    pub(crate) fn tls(&self) -> Option<(&Tls, &str)> {
        self.route()?.tls()
    }

    /// The proxy that must open a tunnel first, and where to.
    pub(crate) fn tunnel(&self) -> Option<(&Proxy, &str)> {
        self.route()?.tunnel()
    }

    /// The proxy that is given whole requests.
    pub(crate) fn forwarder(&self) -> Option<&Proxy> {
        self.route()?.forwarder()
    }

    /// The proxy of either kind.
    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.route()?.proxy()
    }

    /// True for HTTP/2 by prior knowledge.
    pub(crate) fn knows_http2(&self) -> bool {
        self.route().is_some_and(Route::knows_http2)
    }

    const fn route(&self) -> Option<&Route> {
        match self {
            Self::Route(route) => Some(route),
            Self::Tcp(_) | Self::Memory(_) => None,
        }
    }

    /// The byte stream below everything else.
    pub(crate) async fn connect(&self) -> Result<Stream, TransportError> {
        match self {
            Self::Memory(dial) => Ok(dial.connect()),
            Self::Tcp(addresses) => connect_tcp(addresses).await,
            Self::Route(route) => route.connect().await,
        }
    }
}

async fn connect_tcp(addresses: &[SocketAddr]) -> Result<Stream, TransportError> {
    let (address, socket) = race(addresses, TcpStream::connect).await?;
    socket.set_nodelay(true).map_err(|error| TransportError::connect(address, &error))?;
    Ok(Stream::Tcp(Rc::new(RefCell::new(socket))))
}

async fn connect_unix(path: &Path) -> Result<Stream, TransportError> {
    let socket = UnixStream::connect(path).await;
    let socket = socket.map_err(|error| TransportError::connect(path.display(), &error))?;
    Ok(Stream::Unix(Rc::new(RefCell::new(socket))))
}
