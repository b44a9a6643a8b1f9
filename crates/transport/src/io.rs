use crate::{Sensor, kernel};
use std::{
    cell::RefCell,
    io,
    os::fd::AsFd,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// A byte stream to the server that stamps its reads and writes.
pub struct SensorIo {
    stream: Stream,
    sensor: Sensor,
}

/// The kinds of byte stream.
pub enum Stream {
    /// A socket; shared, so that it can be looked at while hyper owns the wrapper. Never borrowed across a poll.
    Tcp(Rc<RefCell<TcpStream>>),
    /// The same on a path.
    Unix(Rc<RefCell<UnixStream>>),
    /// An in-memory pipe, for paused time.
    Memory(DuplexStream),
}

impl SensorIo {
    pub fn new(stream: Stream, sensor: Sensor) -> Self {
        if let Stream::Tcp(socket) = &stream {
            kernel::ask(&socket.borrow());
        }
        Self { stream, sensor }
    }
}

impl AsyncRead for SensorIo {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let waited = ready!(match &mut this.stream {
            Stream::Tcp(socket) => {
                kernel::poll_read(&mut socket.borrow_mut(), cx, buf, this.sensor.bytes() == 0)
            }
            Stream::Unix(socket) => Pin::new(&mut *socket.borrow_mut()).poll_read(cx, buf).map_ok(|()| None),
            Stream::Memory(pipe) => Pin::new(pipe).poll_read(cx, buf).map_ok(|()| None),
        })?;
        this.sensor.saw_read(buf.filled().len() - before, waited);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SensorIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.sensor.about_to_write();
        match &mut this.stream {
            Stream::Tcp(socket) => Pin::new(&mut *socket.borrow_mut()).poll_write(cx, bytes),
            Stream::Unix(socket) => Pin::new(&mut *socket.borrow_mut()).poll_write(cx, bytes),
            Stream::Memory(pipe) => Pin::new(pipe).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.sensor.about_to_write();
        match &mut this.stream {
            Stream::Tcp(socket) => Pin::new(&mut *socket.borrow_mut()).poll_write_vectored(cx, parts),
            Stream::Unix(socket) => Pin::new(&mut *socket.borrow_mut()).poll_write_vectored(cx, parts),
            Stream::Memory(pipe) => Pin::new(pipe).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tcp(socket) => socket.borrow().is_write_vectored(),
            Stream::Unix(socket) => socket.borrow().is_write_vectored(),
            Stream::Memory(pipe) => pipe.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(socket) => Pin::new(&mut *socket.borrow_mut()).poll_flush(cx),
            Stream::Unix(socket) => Pin::new(&mut *socket.borrow_mut()).poll_flush(cx),
            Stream::Memory(pipe) => Pin::new(pipe).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(socket) => Pin::new(&mut *socket.borrow_mut()).poll_shutdown(cx),
            Stream::Unix(socket) => Pin::new(&mut *socket.borrow_mut()).poll_shutdown(cx),
            Stream::Memory(pipe) => Pin::new(pipe).poll_shutdown(cx),
        }
    }
}

/// True when the peer has closed an idle socket or sent bytes that nobody asked for: not to be used again.
/// Asks the kernel directly, since the runtime may not have seen the readiness event yet.
pub fn is_stale(socket: impl AsFd) -> bool {
    use rustix::net::RecvFlags;
    let mut byte = [0_u8; 1];
    !matches!(
        rustix::net::recv(&socket, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT),
        Err(error) if error == rustix::io::Errno::AGAIN
    )
}
