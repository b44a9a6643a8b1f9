use super::Layer;
use crate::{Sensor, TransportError, gate::Gate};
use bytes::Bytes;
use http_body_util::Full;
#[cfg(feature = "http2")]
use hyper::client::conn::http2::SendRequest as SendTwo;
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1::{self, SendRequest as SendOne},
};
use hyper_util::rt::TokioIo;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};
use tokio::task::coop::consume_budget;

type Body = Full<Bytes>;

/// Takes requests.
pub enum Sender {
    One(SendOne<Body>),
    #[cfg(feature = "http2")]
    Two(SendTwo<Body>),
}

/// Moves bytes.
pub enum Driver {
    One(Pin<Box<http1::Connection<TokioIo<Layer>, Body>>>),
    #[cfg(feature = "http2")]
    Two(super::http2::Driver),
    Over,
}

/// HTTP/1.1 on a fresh stream.
pub async fn one(layer: Layer) -> Result<(Sender, Driver), TransportError> {
    let (sender, connection) = http1::Builder::new()
        .handshake(TokioIo::new(layer))
        .await
        .map_err(|error| TransportError::from_hyper(&error, false))?;
    Ok((Sender::One(sender), Driver::One(Box::pin(connection))))
}

/// HTTP/2 on a fresh stream.
#[cfg(feature = "http2")]
pub async fn two(layer: Layer, sensor: &Sensor) -> Result<(Sender, Driver), TransportError> {
    let (sender, driver) = super::http2::open(layer, sensor).await?;
    Ok((Sender::Two(sender), Driver::Two(driver)))
}

#[cfg(not(feature = "http2"))]
#[expect(clippy::unused_async, reason = "stands in place of what a build with HTTP/2 has")]
pub async fn two(_: Layer, _: &Sensor) -> Result<(Sender, Driver), TransportError> {
    Err(TransportError::usage("this build has no HTTP/2"))
}

impl Sender {
    pub async fn send_request(&mut self, request: Request<Body>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::One(sender) => sender.send_request(request).await,
            #[cfg(feature = "http2")]
            Self::Two(sender) => sender.send_request(request).await,
        }
    }

    pub fn is_ready(&self) -> bool {
        match self {
            Self::One(sender) => sender.is_ready() && !sender.is_closed(),
            #[cfg(feature = "http2")]
            Self::Two(sender) => sender.is_ready() && !sender.is_closed(),
        }
    }
}

/// Drives a connection whose sender is borrowed apart.
pub struct Wheel<'a> {
    pub(super) driver: &'a mut Driver,
    pub(super) gate: &'a Gate,
}

impl Wheel<'_> {
    pub fn drive<'b, F: Future>(
        &'b mut self,
        future: Pin<&'b mut F>,
    ) -> impl Future<Output = F::Output> + 'b {
        self.driver.drive(self.gate, future)
    }
}

impl Driver {
    /// False once the connection has ended.
    pub fn is_alive(&self) -> bool {
        match self {
            Self::One(_) => true,
            #[cfg(feature = "http2")]
            Self::Two(driver) => driver.is_alive(),
            Self::Over => false,
        }
    }

    pub async fn drive<F: Future>(&mut self, gate: &Gate, mut future: Pin<&mut F>) -> F::Output {
        // One read can hold thousands of frames, each ready at once: without this a server that never pauses would keep the
        // task from its time limits, and its thread from everybody else.
        consume_budget().await;
        let mut begin = true;
        poll_fn(|cx| {
            gate.poll(cx, std::mem::take(&mut begin), |cx| self.poll(cx), |cx| future.as_mut().poll(cx))
        })
        .await
    }

    /// Moves what can be moved now.
    pub async fn turn(&mut self) {
        poll_fn(|cx| {
            self.poll(cx);
            Poll::Ready(())
        })
        .await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        match self {
            Self::One(connection) => {
                // Its error also reaches the response or the body, where it is reported.
                if connection.as_mut().poll(cx).is_ready() {
                    *self = Self::Over;
                }
            }
            #[cfg(feature = "http2")]
            Self::Two(driver) => driver.poll(cx),
            Self::Over => {}
        }
    }
}
