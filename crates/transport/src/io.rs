use crate::Sensor;
use std::{
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    net::TcpStream,
};

/// A byte stream to the server that stamps its reads and writes.
pub struct SensorIo {
    stream: Stream,
    sensor: Sensor,
}

/// The kinds of byte stream.
pub enum Stream {
    /// A socket; shared, so that it can be looked at while hyper owns the wrapper.
    Tcp(Rc<TcpStream>),
    /// An in-memory pipe, for paused time.
    Memory(DuplexStream),
}

impl SensorIo {
    pub const fn new(stream: Stream, sensor: Sensor) -> Self {
        Self { stream, sensor }
    }
}

impl AsyncRead for SensorIo {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(match &mut this.stream {
            Stream::Tcp(socket) => poll_read_socket(socket, cx, buf),
            Stream::Memory(pipe) => Pin::new(pipe).poll_read(cx, buf),
        })?;
        this.sensor.saw_read();
        Poll::Ready(Ok(()))
    }
}

fn poll_read_socket(socket: &TcpStream, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    loop {
        ready!(socket.poll_read_ready(cx))?;
        match socket.try_read_buf(buf) {
            Ok(_) => return Poll::Ready(Ok(())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for SensorIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.sensor.about_to_write();
        match &mut this.stream {
            Stream::Tcp(socket) => loop {
                ready!(socket.poll_write_ready(cx))?;
                match socket.try_write_vectored(parts) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    done => return Poll::Ready(done),
                }
            },
            Stream::Memory(pipe) => Pin::new(pipe).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(_) => Poll::Ready(Ok(())),
            Stream::Memory(pipe) => Pin::new(pipe).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(socket) => {
                use std::os::fd::AsFd;
                let result = rustix::net::shutdown(socket.as_fd(), rustix::net::Shutdown::Write);
                Poll::Ready(result.map_err(io::Error::from))
            }
            Stream::Memory(pipe) => Pin::new(pipe).poll_shutdown(cx),
        }
    }
}

/// True when the peer has closed an idle socket or sent bytes that nobody asked for: not to be used again.
/// Asks the kernel directly, since the runtime may not have seen the readiness event yet.
pub fn is_stale(socket: &TcpStream) -> bool {
    use rustix::net::RecvFlags;
    let mut byte = [0_u8; 1];
    !matches!(
        rustix::net::recv(socket, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT),
        Err(error) if error == rustix::io::Errno::AGAIN
    )
}
