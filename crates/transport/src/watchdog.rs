//! The time limits of one exchange.

use crate::{Sensor, Trace, TransportError};
use plimsoll_record::TimeLimit;
use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};
use tokio::{
    task::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

/// How long an exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// For a connection: TCP, proxy and TLS. `--connect-timeout`.
    pub connect: Duration,
    /// From sending the request to its first token; `None`: only `total`. `--first-token-timeout`.
    pub first_token: Option<Duration>,
    /// Between two reads, from the first token on. `--idle-timeout`.
    pub idle: Duration,
    /// For the whole, from the beginning of the wait for a connection. `--timeout`.
    pub total: Duration,
}

impl Default for TimeLimits {
    /// Ten seconds, none, a minute, ten minutes.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_token: None,
            idle: Duration::from_mins(1),
            total: Duration::from_mins(10),
        }
    }
}

/// Which limit has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    FirstToken(Duration),
    Idle(Duration),
    Total(Duration),
}

/// Bites when a limit has passed. No timer is touched for an event: the one timer is set to when a limit can have passed at
/// the earliest, and whether one has is looked at then.
pub struct Watchdog {
    limits: TimeLimits,
    begun: Instant,
    sent: Option<Instant>,
    token: bool,
    timer: Option<Pin<Box<Sleep>>>,
    /// Who will be woken by the timer; none: it must be set anew.
    armed: Option<Waker>,
}

impl Watchdog {
    /// Of an exchange that began at `begun`.
    pub const fn new(limits: TimeLimits, begun: Instant) -> Self {
        Self { limits, begun, sent: None, token: false, timer: None, armed: None }
    }

    pub const fn begun(&self) -> Instant {
        self.begun
    }

    /// The first token has come: from now on the stream may not pause for long.
    pub fn saw_token(&mut self) {
        if !self.token {
            self.token = true;
            self.armed = None;
        }
    }

    /// The output of `future`, or the limit that passed before it.
    pub async fn guard<F: Future>(
        &mut self,
        sensor: &Sensor,
        mut future: Pin<&mut F>,
    ) -> Result<F::Output, Passed> {
        std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => self.poll(cx, sensor).map(Err),
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>, sensor: &Sensor) -> Poll<Passed> {
        if let (Some(waker), Some(timer)) = (&self.armed, &self.timer)
            && waker.will_wake(cx.waker())
            && !timer.is_elapsed()
        {
            return Poll::Pending;
        }
        loop {
            let (at, limit) = self.next(sensor);
            if Instant::now() >= at {
                return Poll::Ready(limit);
            }
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            if timer.deadline() != at {
                timer.as_mut().reset(at);
            }
            self.armed = Some(cx.waker().clone());
            // A server that always has more to say spends the task's budget; time passes all the same.
            ready!(pin!(unconstrained(timer.as_mut())).poll(cx));
        }
    }

    /// The limit that passes next, if nothing more is read.
    fn next(&mut self, sensor: &Sensor) -> (Instant, Passed) {
        let TimeLimits { first_token, idle, total, .. } = self.limits;
        let whole = (after(self.begun, total), Passed::Total(total));
        let part = if self.token {
            Some((after(sensor.last_read(), idle), Passed::Idle(idle)))
        } else {
            // That of the first request, where a redirect asked for another.
            self.sent = self.sent.or_else(|| sensor.first_write());
            let sent = self.sent.unwrap_or_else(Instant::now);
            first_token.map(|limit| (after(sent, limit), Passed::FirstToken(limit)))
        };
        part.filter(|part| part.0 < whole.0).unwrap_or(whole)
    }
}

/// As late as the clock goes, where the sum would be beyond it.
pub fn after(instant: Instant, time: Duration) -> Instant {
    instant.checked_add(time).unwrap_or_else(|| instant + Duration::from_hours(24 * 365))
}

impl Passed {
    /// In words, with what had come until then.
    pub fn error(self, sensor: &Sensor, trace: &Trace) -> TransportError {
        let come = match (sensor.bytes(), trace.events.len()) {
            (0, _) => "nothing had come".to_owned(),
            (bytes, 0) if trace.head.is_none() => format!("{bytes} bytes of the response's head had come"),
            (bytes, 0) => format!("{bytes} bytes without an event had come"),
            (_, events) if trace.first_token.is_none() => format!("{events} events without a token had come"),
            (_, events) => format!("{events} events had come"),
        };
        let (limit, message) = match self {
            Self::FirstToken(limit) => {
                let told = format!("no token within {limit:?} of sending (--first-token-timeout): {come}");
                (TimeLimit::FirstToken, told)
            }
            Self::Idle(limit) => {
                (TimeLimit::Idle, format!("nothing more read for {limit:?} (--idle-timeout): {come}"))
            }
            Self::Total(limit) => {
                (TimeLimit::Total, format!("not complete within {limit:?} (--timeout): {come}"))
            }
        };
        TransportError::timeout(limit, message)
    }
}
