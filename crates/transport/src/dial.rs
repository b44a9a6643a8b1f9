use crate::{TransportError, io::Stream};
use std::{cell::RefCell, fmt, net::SocketAddr, rc::Rc, sync::Arc};
use tokio::{io::DuplexStream, net::TcpStream};

/// How to reach the server.
#[derive(Clone, Debug)]
pub enum Dial {
    /// One of these addresses, tried in order. Names are resolved beforehand, so that no look-up is timed.
    Tcp(Vec<SocketAddr>),
    /// An in-memory pipe to a server in the same runtime: the only way to run under paused time.
    Memory(MemoryDial),
}

/// Makes in-memory connections.
#[derive(Clone)]
pub struct MemoryDial(Arc<dyn Fn() -> DuplexStream + Send + Sync>);

impl MemoryDial {
    /// `connect` returns the client's end of a new pipe, whose other end it has given to the server.
    pub fn new(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(connect))
    }
}

impl fmt::Debug for MemoryDial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryDial")
    }
}

impl Dial {
    pub(crate) async fn connect(&self) -> Result<Stream, TransportError> {
        match self {
            Self::Memory(dial) => Ok(Stream::Memory((dial.0)())),
            Self::Tcp(addresses) => {
                let mut last = None;
                for address in addresses {
                    match TcpStream::connect(address).await {
                        Ok(socket) => {
                            socket
                                .set_nodelay(true)
                                .map_err(|error| TransportError::connect(*address, &error))?;
                            return Ok(Stream::Tcp(Rc::new(RefCell::new(socket))));
                        }
                        Err(error) => last = Some(TransportError::connect(*address, &error)),
                    }
                }
                Err(last.unwrap_or_else(TransportError::no_address))
            }
        }
    }
}
