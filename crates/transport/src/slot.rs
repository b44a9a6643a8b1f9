use crate::{
    Clock, Dial, Head, Limits, Trace, TransportError,
    address::Address,
    connection::Connection,
    exchange::{self, Next},
};
use bytes::Bytes;
use hyper::Request;
use plimsoll_record::{FailureKind, Nanos};
use std::time::Duration;
use tokio::time::Instant;

/// How long the end of a body may lag behind `[DONE]` before the connection is given up instead of being reused.
const LINGER: Duration = Duration::from_millis(250);

/// One virtual user: a keep-alive connection that carries one request at a time.
pub struct Slot {
    dial: Dial,
    head: Head,
    address: Address,
    limits: Limits,
    connection: Option<Connection>,
    served: bool,
}

impl Slot {
    /// A slot that posts to `path`, not connected yet.
    pub fn new(dial: Dial, head: Head, path: &str, limits: Limits) -> Result<Self, TransportError> {
        let address = Address::new(&dial, &head, path)?;
        let head = head.with("content-type", "application/json").dressed(&dial);
        Ok(Self { dial, head, address, limits, connection: None, served: false })
    }

    /// Opens the connection, so that no request has to wait for it.
    pub async fn connect(&mut self) -> Result<(), TransportError> {
        self.connection = Some(Connection::open(&self.dial).await?);
        self.served = false;
        Ok(())
    }

    /// Posts `body` and follows the response to its end. Whatever happens stands in `trace`, also when the future is
    /// dropped half-way; then [`Slot::cut_off`] must be called.
    pub async fn post(&mut self, body: Bytes, clock: Clock, trace: &mut Trace) {
        let mut moved = None;
        while let Some(address) = self.hop(body.clone(), moved.as_ref(), clock, trace).await {
            moved = Some(address);
        }
        self.head.blot(trace);
    }

    /// One request, to `moved` if a redirect led there. Returns where the next one leads.
    async fn hop(
        &mut self,
        body: Bytes,
        moved: Option<&Address>,
        clock: Clock,
        trace: &mut Trace,
    ) -> Option<Address> {
        let reused = trace.conn.reused;
        if let Err(error) = self.ready(trace).await {
            trace.end = Some(clock.now());
            trace.fail(error.kind(), error.to_string());
            return None;
        }
        if moved.is_some() {
            trace.conn.reused = reused;
        }
        let connection = self.connection.as_mut()?;
        let address = moved.unwrap_or(&self.address);
        let mut request = Request::new(http_body_util::Full::new(body));
        *request.method_mut() = hyper::Method::POST;
        request.headers_mut().clone_from(&self.head.headers);
        address.put(&mut request, connection);
        self.served = true;
        match exchange::run(connection, request, address, clock, self.limits, LINGER, trace).await {
            Next::Keep => None,
            Next::Drop => {
                self.connection = None;
                None
            }
            Next::Redirect(address) => Some(address),
        }
    }

    /// True when there is a connection that the next request can try.
    pub const fn is_open(&self) -> bool {
        self.connection.is_some()
    }

    /// Ends an exchange whose future was dropped, and its connection; a server takes that as a hang-up.
    pub fn cut_off(&mut self, clock: Clock, trace: &mut Trace, kind: FailureKind, message: &str) {
        if let Some(connection) = self.connection.take() {
            trace.sent = trace.sent.or_else(|| Some(clock.nanos(connection.sensor.first_write()?)));
        }
        trace.end = Some(clock.now());
        trace.fail(kind, message);
        self.head.blot(trace);
    }

    /// A connection that can take a request: the old one if it is alive, else a new one.
    async fn ready(&mut self, trace: &mut Trace) -> Result<(), TransportError> {
        if let Some(connection) = &mut self.connection
            && connection.is_usable().await
        {
            trace.conn.reused = self.served;
            return Ok(());
        }
        self.connect().await?;
        if let Some(connection) = &self.connection {
            trace.conn.connect_ns = Some(connection.probe.connect);
            trace.conn.tls_ns = connection.probe.tls;
        }
        Ok(())
    }
}

/// Time from one instant to another, zero if they came out of order.
pub fn gap(clock: Clock, from: Instant, to: Instant) -> Nanos {
    clock.nanos(to) - clock.nanos(from)
}
