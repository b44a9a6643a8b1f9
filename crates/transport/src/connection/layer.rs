use crate::io::SensorIo;
use std::{
    cell::RefCell,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What HTTP is spoken over. The sensor is below TLS: it stamps the bytes of the socket.
pub struct Layer {
    io: Io,
    fault: Fault,
}

enum Io {
    Plain(SensorIo),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<SensorIo>>),
}

/// What TLS has stumbled over, as long as nobody else can tell. Shared with who opens a connection.
#[derive(Clone, Default)]
pub struct Fault(Rc<RefCell<Option<String>>>);

#[cfg(feature = "http2")]
impl Fault {
    pub fn take(&self) -> Option<String> {
        self.0.take()
    }
}

impl Layer {
    pub fn plain(io: SensorIo) -> Self {
        Self { io: Io::Plain(io), fault: Fault::default() }
    }

    #[cfg(feature = "tls")]
    pub fn tls(stream: tokio_rustls::client::TlsStream<SensorIo>) -> Self {
        Self { io: Io::Tls(Box::new(stream)), fault: Fault::default() }
    }

    #[cfg(feature = "http2")]
    pub fn fault(&self) -> Fault {
        self.fault.clone()
    }
}

/// Calls a method of whichever stream it is.
macro_rules! on {
    ($self:ident, $call:ident($($argument:expr),*)) => {
        match &mut $self.get_mut().io {
            Io::Plain(io) => Pin::new(io).$call($($argument),*),
            #[cfg(feature = "tls")]
            Io::Tls(io) => Pin::new(io.as_mut()).$call($($argument),*),
        }
    };
}

impl AsyncRead for Layer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.as_mut();
        let polled = on!(this, poll_read(cx, buf));
        if let Poll::Ready(Err(error)) = &polled {
            self.fault.0.replace(crate::tls::problem(error));
        }
        polled
    }
}

impl AsyncWrite for Layer {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        on!(self, poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on!(self, poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            #[cfg(feature = "tls")]
            Io::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, poll_shutdown(cx))
    }
}
