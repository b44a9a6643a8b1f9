use super::Layer;
use crate::{Sensor, TransportError};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    client::conn::http2::{Builder, Connection, SendRequest},
    rt::Executor,
};
use hyper_util::rt::TokioIo;
use plimsoll_record::FailureKind;
use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::Pin,
    rc::{Rc, Weak},
    task::{Context, Poll},
};

/// Bytes that a server may send ahead of the client's reading: far more than any stream of tokens holds, so that the
/// window never throttles, and a bound on what is kept of a hostile one.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;
const FRAME: u32 = 1 << 20;
const HEADERS: u32 = 64 << 10;

type Requests = Connection<TokioIo<Layer>, Full<Bytes>, Spawner>;
type Task = Pin<Box<dyn Future<Output = ()>>>;

/// hyper runs HTTP/2 as several futures: one takes requests, one moves the bytes, and each request adds some of its own.
/// All are polled here, in the task of the exchange.
pub struct Driver {
    requests: Option<Pin<Box<Requests>>>,
    bytes: Option<Task>,
    others: Vec<Task>,
    spawned: Rc<RefCell<Vec<Task>>>,
}

/// Takes futures from hyper. Weak, as it lives in these futures itself.
#[derive(Clone)]
pub struct Spawner(Weak<RefCell<Vec<Task>>>);

impl<F: Future<Output = ()> + 'static> Executor<F> for Spawner {
    fn execute(&self, future: F) {
        if let Some(spawned) = self.0.upgrade() {
            spawned.borrow_mut().push(Box::pin(future));
        }
    }
}

/// Opens the connection and waits for the server's settings, its first frame: only a server of HTTP/2 sends them.
pub async fn open(
    layer: Layer,
    sensor: &Sensor,
) -> Result<(SendRequest<Full<Bytes>>, Driver), TransportError> {
    let fault = layer.fault();
    let spawned = Rc::new(RefCell::new(Vec::new()));
    let (sender, connection) = Builder::new(Spawner(Rc::downgrade(&spawned)))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .max_header_list_size(HEADERS)
        .handshake(TokioIo::new(layer))
        .await
        .map_err(|error| TransportError::from_hyper(&error, false))?;
    let bytes = spawned.borrow_mut().pop();
    let mut driver = Driver { requests: Some(Box::pin(connection)), bytes, others: Vec::new(), spawned };
    let before = sensor.reads();
    poll_fn(|cx| {
        driver.poll(cx);
        if sensor.reads() > before || !driver.is_alive() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    // A second poll acts on what was read.
    poll_fn(|cx| {
        driver.poll(cx);
        Poll::Ready(())
    })
    .await;
    if driver.is_alive() {
        return Ok((sender, driver));
    }
    let reason = match fault.take() {
        Some(problem) => format!("TLS: {problem}"),
        None => "the server does not answer in HTTP/2; use HTTP/1.1 (--http 1)".to_owned(),
    };
    Err(TransportError::new(FailureKind::Connect, reason))
}

impl Driver {
    /// False once no request can be sent or no byte moved.
    pub const fn is_alive(&self) -> bool {
        self.requests.is_some() && self.bytes.is_some()
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) {
        loop {
            // Errors also reach the response or the body, where they are reported.
            done(&mut self.requests, cx);
            done(&mut self.bytes, cx);
            self.others.retain_mut(|task| task.as_mut().poll(cx).is_pending());
            let mut spawned = self.spawned.borrow_mut();
            if spawned.is_empty() {
                return;
            }
            self.others.append(&mut spawned);
        }
    }
}

/// Polls a future and drops it when it is done.
fn done<F: Future + ?Sized>(future: &mut Option<Pin<Box<F>>>, cx: &mut Context<'_>) {
    if future.as_mut().is_some_and(|future| future.as_mut().poll(cx).is_ready()) {
        *future = None;
    }
}
