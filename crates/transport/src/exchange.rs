use crate::{
    Clock, Sensor, TimeLimits, Trace, TransportError,
    address::Address,
    advice,
    connection::Connection,
    redirect::{self, Step},
    stream::Follower,
    watchdog::{Passed, Watchdog},
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
};
use plimsoll_record::{FailureKind, Nanos, Redirects};
use std::{pin::pin, time::Duration};
use tokio::time::{Instant, timeout};

/// Bounds of one exchange: what a server sends is bounded in size and time.
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
    /// How long it may take.
    pub time: TimeLimits,
    /// False for a server that closes each connection after one answer without announcing it: every request then opens its
    /// own. Else a request may meet the close on its way, and fail.
    pub reuse: bool,
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
            time: TimeLimits::default(),
            reuse: true,
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

/// How long the end of a body may lag behind `[DONE]` before the connection is given up instead of being reused.
const LINGER: Duration = Duration::from_millis(250);
/// Longest body of a redirect that is read for the sake of the connection, bytes.
const LONGEST_SKIP: usize = 64 << 10;

/// One exchange.
pub struct Exchange<'a> {
    pub connection: &'a mut Connection,
    pub clock: Clock,
    pub limits: Limits,
    pub watchdog: &'a mut Watchdog,
    pub trace: &'a mut Trace,
}

impl Exchange<'_> {
    /// Sends `request`, which goes to `address`, and follows the response.
    pub async fn run(mut self, request: Request<Full<Bytes>>, address: &Address) -> Next {
        let sensor = self.connection.sensor.clone();
        sensor.arm();
        let next = self.post(request, address, &sensor).await;
        self.trace.kernel_lag = self.trace.kernel_lag.max(sensor.kernel_lag());
        next
    }

    async fn post(&mut self, request: Request<Full<Bytes>>, address: &Address, sensor: &Sensor) -> Next {
        let response = {
            let (sender, mut wheel) = self.connection.parts();
            // On the heap, which gives the room back: an exchange spends its time with the body.
            let mut sending = Box::pin(sender.send_request(request));
            self.watchdog.guard(sensor, pin!(wheel.drive(sending.as_mut()))).await
        };
        let sent = sensor.first_write().map(|instant| self.clock.nanos(instant));
        self.trace.sent = self.trace.sent.or(sent);
        let response = match response {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let error = TransportError::from_hyper(&error, false);
                return self.fail(&error, Instant::now());
            }
            Err(passed) => return self.give_up(passed, sensor),
        };
        self.trace.head = Some(self.clock.nanos(sensor.last_read()));
        self.trace.http_status = Some(response.status().as_u16());
        self.trace.retry_after_s = advice::retry_after(response.status(), response.headers());
        match redirect::step(
            &response,
            self.limits.redirects,
            &hyper::Method::POST,
            address,
            self.trace.redirects,
        ) {
            Some(Step::Follow(address)) => {
                self.trace.redirects += 1;
                return match self.skip(response.into_body(), sensor).await {
                    Ok(()) => Next::Redirect(address),
                    Err(passed) => self.give_up(passed, sensor),
                };
            }
            Some(Step::Refuse(reason)) => self.trace.fail(FailureKind::Policy, reason),
            None => {}
        }
        self.follow(response, sensor).await
    }

    /// Reads the body of a redirect, so that its connection can be used again. A long one is not worth that: what is left
    /// of it makes the connection unusable, which the next request sees.
    async fn skip(&mut self, mut body: Incoming, sensor: &Sensor) -> Result<(), Passed> {
        let mut length = 0;
        while let Some(Ok(frame)) = self.frame(&mut body, sensor).await? {
            length += frame.data_ref().map_or(0, Bytes::len);
            if length > LONGEST_SKIP {
                break;
            }
        }
        Ok(())
    }

    /// The next frame of the body, if there is one and no limit passes before it.
    async fn frame(
        &mut self,
        body: &mut Incoming,
        sensor: &Sensor,
    ) -> Result<Option<hyper::Result<Frame<Bytes>>>, Passed> {
        let frame = pin!(body.frame());
        let drive = pin!(self.connection.drive(frame));
        self.watchdog.guard(sensor, drive).await
    }

    async fn follow(&mut self, response: Response<Incoming>, sensor: &Sensor) -> Next {
        let mut follower = Follower::new(&response, self.limits);
        let mut body = response.into_body();
        loop {
            match self.frame(&mut body, sensor).await {
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    let read = self.clock.nanos(sensor.last_read());
                    self.trace.client_lag = self.trace.client_lag.max(self.clock.now() - read);
                    if let Err(error) = follower.push(&data, read, sensor.reads(), self.trace) {
                        return self.fail(&error, sensor.last_read());
                    }
                    if self.trace.first_token.is_some() {
                        self.watchdog.saw_token();
                    }
                    if follower.is_done() {
                        follower.judge(self.trace);
                        return self.drain(body, sensor).await;
                    }
                }
                Ok(Some(Err(error))) => {
                    let error = TransportError::from_hyper(&error, true);
                    let at = Instant::now();
                    // A stream that has told its end is complete, however the connection went down.
                    follower.finish(self.clock.nanos(sensor.last_read()), sensor.reads(), self.trace);
                    return self.fail(&error, at);
                }
                Ok(None) => {
                    let at = self.clock.nanos(sensor.last_read());
                    follower.finish(at, sensor.reads(), self.trace);
                    self.trace.end = Some(at);
                    follower.judge(self.trace);
                    return Next::Keep;
                }
                Err(passed) => return self.give_up(passed, sensor),
            }
        }
    }

    /// After `[DONE]`: waits a moment for the end of the body, which frees the connection for the next request.
    /// What comes meanwhile is no part of the answer.
    async fn drain(&mut self, mut body: Incoming, sensor: &Sensor) -> Next {
        let done: Nanos = self.clock.nanos(sensor.last_read());
        let ended = timeout(LINGER, async {
            loop {
                let frame = self.connection.drive(pin!(body.frame())).await;
                match frame {
                    Some(Ok(_)) => {}
                    Some(Err(_)) => return false,
                    None => return true,
                }
            }
        })
        .await;
        // A body that lingers is no part of the answer, but its connection cannot be used again.
        self.trace.end =
            Some(if ended.is_ok() { self.clock.nanos(sensor.last_read()).max(done) } else { done });
        if ended == Ok(true) { Next::Keep } else { Next::Drop }
    }

    fn give_up(&mut self, passed: Passed, sensor: &Sensor) -> Next {
        let error = passed.error(sensor, self.trace);
        self.fail(&error, Instant::now())
    }

    fn fail(&mut self, error: &TransportError, at: Instant) -> Next {
        self.trace.end = Some(self.clock.nanos(at));
        self.trace.fail_by(error);
        Next::Drop
    }
}
