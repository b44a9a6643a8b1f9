use crate::{
    Dial, Probe, Sensor, TransportError,
    io::{SensorIo, Stream, is_stale},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use plimsoll_record::Nanos;
use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    task::Poll,
};
use tokio::{
    net::{TcpStream, UnixStream},
    time::Instant,
};

type Driver = http1::Connection<TokioIo<SensorIo>, Full<Bytes>>;

/// A connection and the future that moves its bytes. Both are polled in the task of the exchange, so that a read and
/// its use need one wake instead of two.
pub struct Connection {
    pub sender: SendRequest<Full<Bytes>>,
    pub sensor: Sensor,
    pub probe: Probe,
    driver: Option<Pin<Box<Driver>>>,
    socket: Socket,
}

/// What can be looked at while hyper owns the stream.
enum Socket {
    Tcp(Rc<RefCell<TcpStream>>),
    Unix(Rc<RefCell<UnixStream>>),
    None,
}

impl Connection {
    pub async fn open(dial: &Dial) -> Result<Self, TransportError> {
        let begun = Instant::now();
        let stream = dial.connect().await?;
        let socket = match &stream {
            Stream::Tcp(socket) => Socket::Tcp(Rc::clone(socket)),
            Stream::Unix(socket) => Socket::Unix(Rc::clone(socket)),
            Stream::Memory(_) => Socket::None,
        };
        let sensor = Sensor::new();
        let io = TokioIo::new(SensorIo::new(stream, sensor.clone()));
        let (sender, driver) = http1::Builder::new()
            .handshake(io)
            .await
            .map_err(|error| TransportError::from_hyper(&error, false))?;
        let connect = Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let probe = Probe { connect, http: "1.1", ..Probe::default() };
        Ok(Self { sender, sensor, probe, driver: Some(Box::pin(driver)), socket })
    }

    /// True when a request may be sent now.
    pub async fn is_usable(&mut self) -> bool {
        // One poll lets hyper notice what has arrived meanwhile: the rest of the last body, or the end.
        self.drive(std::future::ready(())).await;
        self.driver.is_some()
            && !self.sender.is_closed()
            && self.sender.is_ready()
            && !match &self.socket {
                Socket::Tcp(socket) => is_stale(&*socket.borrow()),
                Socket::Unix(socket) => is_stale(&*socket.borrow()),
                Socket::None => false,
            }
    }

    /// Runs `future` while the connection moves its bytes.
    pub async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        drive(&mut self.driver, future).await
    }

    /// The parts, to send with the one while the other is driven.
    pub fn parts(&mut self) -> (&mut SendRequest<Full<Bytes>>, Wheel<'_>) {
        (&mut self.sender, Wheel(&mut self.driver))
    }
}

/// Drives a connection whose sender is borrowed apart.
pub struct Wheel<'a>(&'a mut Option<Pin<Box<Driver>>>);

impl Wheel<'_> {
    pub async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        drive(self.0, future).await
    }
}

async fn drive<F: Future>(driver: &mut Option<Pin<Box<Driver>>>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if let Some(connection) = driver {
            // Its error also reaches the response or the body, where it is reported.
            if connection.as_mut().poll(cx).is_ready() {
                *driver = None;
            }
        }
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(output),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
