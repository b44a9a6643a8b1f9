use crate::io::SensorIo;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What HTTP is spoken over. The sensor is below TLS: it stamps the bytes of the socket.
pub enum Layer {
    Plain(SensorIo),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<SensorIo>>),
}

/// Calls a method of whichever stream it is.
macro_rules! on {
    ($self:ident, $call:ident($($argument:expr),*)) => {
        match $self.get_mut() {
            Layer::Plain(io) => Pin::new(io).$call($($argument),*),
            #[cfg(feature = "tls")]
            Layer::Tls(io) => Pin::new(io).$call($($argument),*),
        }
    };
}

impl AsyncRead for Layer {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        on!(self, poll_read(cx, buf))
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
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            #[cfg(feature = "tls")]
            Self::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, poll_shutdown(cx))
    }
}
