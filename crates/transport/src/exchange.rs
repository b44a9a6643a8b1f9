use crate::{
    Clock, Trace, TransportError,
    address::Address,
    connection::Connection,
    redirect::{self, Step},
    slot::gap,
    stream::Follower,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming};
use plimsoll_record::{FailureKind, Redirects};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Bounds of one exchange. What a server sends is bounded in size; time is bounded by the caller.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest body that is not an event stream, bytes.
    pub body: usize,
    /// Longest line of an event stream, bytes.
    pub line: usize,
    /// Most events of one stream.
    pub events: usize,
    /// Most text kept, bytes.
    pub text: usize,
    /// True when the response shall be an event stream.
    pub stream: bool,
    /// What to do about redirects.
    pub redirects: Redirects,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            line: 64 << 20,
            events: 1 << 18,
            text: 64 << 10,
            stream: true,
            redirects: Redirects::Refuse,
        }
    }
}

/// What follows an exchange.
pub enum Next {
    /// Nothing; the connection can take another request.
    Keep,
    /// Nothing, and the connection is of no use any more.
    Drop,
    /// The same request once more to another address, over this connection if it still lives.
    Redirect(Address),
}

/// Sends `request`, which goes to `address`, and follows the response.
pub async fn run(
    connection: &mut Connection,
    request: Request<Full<Bytes>>,
    address: &Address,
    clock: Clock,
    limits: Limits,
    linger: Duration,
    trace: &mut Trace,
) -> Next {
    connection.sensor.arm();
    let sensor = connection.sensor.clone();
    let response = {
        let (sender, mut wheel) = connection.parts();
        wheel.drive(sender.send_request(request)).await
    };
    trace.sent = trace.sent.or_else(|| sensor.first_write().map(|instant| clock.nanos(instant)));
    let response = match response {
        Ok(response) => response,
        Err(error) => {
            let error = TransportError::from_hyper(&error, false);
            trace.end = Some(clock.nanos(Instant::now()));
            trace.fail(error.kind(), error.to_string());
            return Next::Drop;
        }
    };
    trace.head = Some(clock.nanos(sensor.last_read()));
    trace.http_status = Some(response.status().as_u16());
    match redirect::step(&response, limits.redirects, address, trace.redirects) {
        Some(Step::Follow(address)) => {
            trace.redirects += 1;
            skip(connection, response.into_body()).await;
            return Next::Redirect(address);
        }
        Some(Step::Refuse(reason)) => trace.fail(FailureKind::Policy, reason),
        None => {}
    }
    if follow(connection, response, clock, limits, linger, trace).await { Next::Keep } else { Next::Drop }
}

/// Reads the body of a redirect, so that its connection can be used again. A long one is not worth that: what is left of
/// it makes the connection unusable, which the next request sees.
async fn skip(connection: &mut Connection, mut body: Incoming) {
    const LONGEST: usize = 64 << 10;
    let mut length = 0;
    while let Some(Ok(frame)) = connection.drive(body.frame()).await {
        length += frame.data_ref().map_or(0, Bytes::len);
        if length > LONGEST {
            return;
        }
    }
}

async fn follow(
    connection: &mut Connection,
    response: Response<Incoming>,
    clock: Clock,
    limits: Limits,
    linger: Duration,
    trace: &mut Trace,
) -> bool {
    let sensor = connection.sensor.clone();
    let mut follower = Follower::new(&response, limits);
    let mut body = response.into_body();
    loop {
        match connection.drive(body.frame()).await {
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { continue };
                let read = sensor.last_read();
                trace.client_lag = trace.client_lag.max(gap(clock, read, Instant::now()));
                if let Err(error) = follower.push(&data, clock.nanos(read), sensor.reads(), trace) {
                    trace.end = Some(clock.nanos(read));
                    trace.fail(error.kind(), error.to_string());
                    return false;
                }
                if follower.is_done() {
                    follower.judge(trace);
                    return drain(connection, body, clock, linger, trace).await;
                }
            }
            Some(Err(error)) => {
                let error = TransportError::from_hyper(&error, true);
                let at = clock.nanos(Instant::now());
                follower.finish(clock.nanos(sensor.last_read()), sensor.reads(), trace);
                trace.end = Some(at);
                // A stream that has told its end is complete, however the connection went down.
                trace.fail(error.kind(), error.to_string());
                return false;
            }
            None => {
                let at = clock.nanos(sensor.last_read());
                follower.finish(at, sensor.reads(), trace);
                trace.end = Some(at);
                follower.judge(trace);
                return true;
            }
        }
    }
}

/// After `[DONE]`: waits a moment for the end of the body, which frees the connection for the next request.
/// What comes meanwhile is no part of the answer.
async fn drain(
    connection: &mut Connection,
    mut body: Incoming,
    clock: Clock,
    linger: Duration,
    trace: &mut Trace,
) -> bool {
    let sensor = connection.sensor.clone();
    let done = clock.nanos(sensor.last_read());
    let ended = timeout(linger, async {
        loop {
            match connection.drive(body.frame()).await {
                Some(Ok(_)) => {}
                Some(Err(_)) => return false,
                None => return true,
            }
        }
    })
    .await;
    // A body that lingers is no part of the answer, but its connection cannot be used again.
    trace.end = Some(if ended.is_ok() { clock.nanos(sensor.last_read()).max(done) } else { done });
    ended.unwrap_or(false)
}
