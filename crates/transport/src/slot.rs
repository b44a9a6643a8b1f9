use crate::{
    Clock, Dial, Head, Limits, TimeLimits, Trace, TransportError,
    address::Address,
    connection::Connection,
    exchange::{Exchange, Next},
    watchdog::{Watchdog, after},
};
use bytes::Bytes;
use hyper::Request;
use plimsoll_record::{FailureKind, TimeLimit};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// One virtual user: a keep-alive connection that carries one request at a time.
pub struct Slot {
    dial: Dial,
    head: Head,
    address: Address,
    limits: Limits,
    connection: Option<Connection>,
    /// Requests that the connection has taken.
    served: u32,
    /// True while an exchange is under way: what the connection's sensor says is then of this one.
    under_way: bool,
    /// When the last exchange ended.
    ended: Option<Instant>,
}

/// A server that closes a connection after its first answer and within this time does so after every answer; later it may
/// have waited for another request in vain.
const CLOSED_SOON: Duration = Duration::from_secs(1);

impl Slot {
    /// A slot that posts to `path`, not connected yet.
    pub fn new(dial: Dial, head: Head, path: &str, limits: Limits) -> Result<Self, TransportError> {
        let address = Address::new(&dial, &head, path)?;
        let head = head.with("content-type", "application/json").dressed(&dial);
        Ok(Self { dial, head, address, limits, connection: None, served: 0, under_way: false, ended: None })
    }

    /// Opens the connection, so that no request has to wait for it.
    pub async fn connect(&mut self) -> Result<(), TransportError> {
        self.connect_since(Instant::now()).await
    }

    async fn connect_since(&mut self, begun: Instant) -> Result<(), TransportError> {
        let TimeLimits { connect, total, .. } = self.limits.time;
        let (own, whole) = (after(Instant::now(), connect), after(begun, total));
        let opened = timeout_at(own.min(whole), Connection::open(&self.dial)).await;
        let opened = opened.map_err(|_| {
            let (which, limit, flag) = if own <= whole {
                (TimeLimit::Connect, connect, "--connect-timeout")
            } else {
                (TimeLimit::Total, total, "--timeout")
            };
            TransportError::timeout(which, format!("no connection within {limit:?} ({flag})"))
        })?;
        self.connection = Some(opened?);
        self.served = 0;
        Ok(())
    }

    /// Posts `body` and follows the response to its end. Whatever happens stands in `trace`, also when the future is
    /// dropped half-way; then [`Slot::cut_off`] must be called.
    pub async fn post(&mut self, body: Bytes, clock: Clock, trace: &mut Trace) {
        self.post_since(Instant::now(), body, clock, trace).await;
    }

    /// The same as a further attempt at a request that began earlier: the limit for the whole counts from there.
    pub async fn post_since(&mut self, begun: Instant, body: Bytes, clock: Clock, trace: &mut Trace) {
        let mut watchdog = Watchdog::new(self.limits.time, begun);
        let mut moved = None;
        while let Some(address) = self.hop(body.clone(), moved.as_ref(), &mut watchdog, clock, trace).await {
            moved = Some(address);
        }
        self.head.blot(trace);
    }

    /// One request, to `moved` if a redirect led there. Returns where the next one leads.
    async fn hop(
        &mut self,
        body: Bytes,
        moved: Option<&Address>,
        watchdog: &mut Watchdog,
        clock: Clock,
        trace: &mut Trace,
    ) -> Option<Address> {
        let reused = trace.conn.reused;
        if let Err(error) = self.ready(watchdog.begun(), trace).await {
            trace.end = Some(clock.now());
            trace.fail_by(&error);
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
        self.served += 1;
        self.under_way = true;
        let exchange = Exchange { connection, clock, limits: self.limits, watchdog, trace };
        let next = exchange.run(request, address).await;
        self.under_way = false;
        self.ended = Some(Instant::now());
        match next {
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
        let connection = self.connection.take();
        // One that was cut off while it waited for a connection has sent nothing: the stamps are of the request before.
        if let Some(connection) = connection.filter(|_| std::mem::take(&mut self.under_way)) {
            let sensor = &connection.sensor;
            trace.sent = trace.sent.or_else(|| Some(clock.nanos(sensor.first_write()?)));
            trace.kernel_lag = trace.kernel_lag.max(sensor.kernel_lag());
        }
        trace.end = Some(clock.now());
        trace.fail(kind, message);
        self.head.blot(trace);
    }

    /// True when there is a connection that can take a request now. A server that has just closed one after its first answer,
    /// without a word, is not trusted with a second request on any other.
    pub async fn keeps_connection(&mut self) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        if self.served > 0 && !self.limits.reuse {
            return false;
        }
        let usable = connection.is_usable().await;
        if !usable && self.served == 1 && self.ended.is_some_and(|ended| ended.elapsed() < CLOSED_SOON) {
            self.limits.reuse = false;
        }
        usable
    }

    /// A connection that can take a request: the old one if it is alive, else a new one.
    async fn ready(&mut self, begun: Instant, trace: &mut Trace) -> Result<(), TransportError> {
        if self.keeps_connection().await {
            trace.conn.reused = self.served > 0;
            return Ok(());
        }
        self.connect_since(begun).await?;
        if let Some(connection) = &self.connection {
            trace.conn.connect_ns = Some(connection.probe.connect);
            trace.conn.tls_ns = connection.probe.tls;
        }
        Ok(())
    }
}
