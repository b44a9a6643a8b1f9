//! One connection: socket, sensor, TLS, HTTP.

mod driver;
#[cfg(feature = "http2")]
mod http2;
mod layer;
mod tunnel;

pub use driver::{Sender, Wheel};
pub use layer::Layer;

use crate::{
    Dial, Probe, Sensor, TransportError,
    gate::Gate,
    io::{SensorIo, Stream, is_stale},
};
use driver::Driver;
use plimsoll_record::Nanos;
use std::{cell::RefCell, future::Future, pin::Pin, rc::Rc};
use tokio::{
    net::{TcpStream, UnixStream},
    task::yield_now,
    time::Instant,
};

/// A connection and the future that moves its bytes. Both are polled in the task of the exchange, so that a read and
/// its use need one wake instead of two.
pub struct Connection {
    pub sensor: Sensor,
    /// What it took to open it.
    pub probe: Probe,
    /// True when requests name the whole address: to a proxy, and with HTTP/2.
    pub absolute: bool,
    sender: Sender,
    driver: Driver,
    gate: Gate,
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
        let mut io = SensorIo::new(stream, sensor.clone());
        if let Some((proxy, authority)) = dial.tunnel() {
            tunnel::open(&mut io, proxy, authority).await?;
        }
        let mut probe = Probe { connect: elapsed(begun), http: "1.1", ..Probe::default() };
        let mut http2 = dial.knows_http2();
        let layer = match dial.tls() {
            None => Layer::plain(io),
            Some((tls, authority)) => {
                let begun = Instant::now();
                let (layer, agreed) = tls.handshake(io, authority).await?;
                http2 = agreed.http2;
                probe.tls = Some(elapsed(begun));
                probe.tls_version = Some(agreed.version);
                layer
            }
        };
        let begun = Instant::now();
        let (sender, driver) = if http2 {
            probe.http = "2";
            driver::two(layer, &sensor).await?
        } else {
            driver::one(layer).await?
        };
        probe.connect = probe.connect + elapsed(begun);
        let absolute = http2 || dial.forwarder().is_some();
        Ok(Self { sensor, probe, absolute, sender, driver, gate: Gate::new(), socket })
    }

    /// True when a request may be sent now.
    pub async fn is_usable(&mut self) -> bool {
        // One poll lets hyper notice what has arrived meanwhile: the rest of the last body, or the end.
        self.driver.turn().await;
        if self.has_frames() {
            // Between two requests TLS and HTTP/2 send frames of their own, so that bytes in the socket are no fault yet.
            // The runtime may not have seen them; it looks when this task yields.
            for _ in 0..3 {
                if !self.socket.is_stale() {
                    break;
                }
                yield_now().await;
                self.driver.turn().await;
            }
            // What the first poll has read is acted on in the second: a GOAWAY ends the sending side.
            self.driver.turn().await;
        }
        self.driver.is_alive() && self.sender.is_ready() && !self.socket.is_stale()
    }

    /// True when the peer may send bytes that belong to no response.
    fn has_frames(&self) -> bool {
        self.probe.tls.is_some() || self.probe.http == "2"
    }

    /// Runs `future` while the connection moves its bytes.
    pub fn drive<'a, F: Future>(
        &'a mut self,
        future: Pin<&'a mut F>,
    ) -> impl Future<Output = F::Output> + 'a {
        self.driver.drive(&self.gate, future)
    }

    /// The parts, to send with the one while the other is driven.
    pub fn parts(&mut self) -> (&mut Sender, Wheel<'_>) {
        (&mut self.sender, Wheel { driver: &mut self.driver, gate: &self.gate })
    }
}

impl Socket {
    fn is_stale(&self) -> bool {
        match self {
            Self::Tcp(socket) => is_stale(&*socket.borrow()),
            Self::Unix(socket) => is_stale(&*socket.borrow()),
            Self::None => false,
        }
    }
}

fn elapsed(begun: Instant) -> Nanos {
    Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
