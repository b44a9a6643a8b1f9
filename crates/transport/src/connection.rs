use crate::{
    Dial, Sensor, TransportError,
    io::{SensorIo, Stream, is_stale},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    task::Poll,
};
use tokio::net::TcpStream;

type Driver = http1::Connection<TokioIo<SensorIo>, Full<Bytes>>;

/// A connection and the future that moves its bytes. Both are polled in the task of the exchange, so that a read and
/// its use need one wake instead of two.
pub struct Connection {
    pub sender: SendRequest<Full<Bytes>>,
    pub sensor: Sensor,
    driver: Option<Pin<Box<Driver>>>,
    socket: Option<Rc<RefCell<TcpStream>>>,
}

impl Connection {
    pub async fn open(dial: &Dial) -> Result<Self, TransportError> {
        let stream = dial.connect().await?;
        let socket = match &stream {
            Stream::Tcp(socket) => Some(Rc::clone(socket)),
            Stream::Memory(_) => None,
        };
        let sensor = Sensor::new();
        let io = TokioIo::new(SensorIo::new(stream, sensor.clone()));
        let (sender, driver) = http1::Builder::new()
            .handshake(io)
            .await
            .map_err(|error| TransportError::from_hyper(&error, false))?;
        Ok(Self { sender, sensor, driver: Some(Box::pin(driver)), socket })
    }

    /// True when a request may be sent now.
    pub async fn is_usable(&mut self) -> bool {
        // One poll lets hyper notice what has arrived meanwhile: the rest of the last body, or the end.
        self.drive(std::future::ready(())).await;
        self.driver.is_some()
            && !self.sender.is_closed()
            && self.sender.is_ready()
            && !self.socket.as_ref().is_some_and(|socket| is_stale(&socket.borrow()))
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
