//! Further attempts at a request that failed before any event, as the plan asks for.

use plimsoll_record::{FailureKind, Outcome};
use plimsoll_transport::Trace;
use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

/// A slot waits from the first of these to the second, doubling, where a server gives no advice: one that is down must not
/// turn the load into a flood of failures.
pub const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The attempts at one request that have failed and were followed by another.
#[derive(Debug, Default)]
pub struct Attempts {
    count: u32,
    unsent: u32,
    reasons: BTreeMap<String, u32>,
    advice: Option<u32>,
}

impl Attempts {
    /// How many.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Of these, the ones of which nothing was sent.
    pub const fn unsent(&self) -> u32 {
        self.unsent
    }

    /// How long to wait before one more attempt; `None`: the request has ended.
    pub fn wait(&self, trace: &Trace, most: u32) -> Option<Duration> {
        if self.count >= most || !may_repeat(trace) {
            return None;
        }
        Some(match trace.retry_after_s {
            Some(seconds) => Duration::from_secs(seconds.into()),
            None => BACKOFF.0.saturating_mul(1 << self.count.min(16)).min(BACKOFF.1),
        })
    }

    /// Another attempt will follow this one.
    pub fn note(&mut self, trace: &Trace) {
        self.count += 1;
        self.unsent += u32::from(trace.sent.is_none());
        self.advice = trace.retry_after_s.or(self.advice);
        let kind = trace.outcome.as_ref().and_then(Outcome::failure).unwrap_or(FailureKind::Truncated);
        let reason = match trace.http_status {
            Some(status) if kind == FailureKind::HttpStatus => format!("HTTP {status}"),
            _ => kind.to_string(),
        };
        *self.reasons.entry(reason).or_default() += 1;
    }

    /// Tells of the attempts in what the last one came to.
    pub fn close(self, trace: &mut Trace) {
        trace.retry_after_s = trace.retry_after_s.or(self.advice);
        if let Some(Outcome::Failed { message, .. }) = &mut trace.outcome
            && self.count > 0
        {
            let _ = write!(message, "; attempts before that failed:");
            for (index, (reason, times)) in self.reasons.iter().enumerate() {
                let _ = write!(message, "{} {times} x {reason}", if index == 0 { "" } else { "," });
            }
        }
    }
}

/// True when nothing of an answer has come and another attempt can fare better: not after most refusals with 4xx.
fn may_repeat(trace: &Trace) -> bool {
    let Some(kind) = trace.outcome.as_ref().and_then(Outcome::failure) else { return false };
    let refused = kind == FailureKind::HttpStatus;
    let busy = trace.http_status.is_some_and(|status| matches!(status, 408 | 425 | 429 | 500..=599));
    let ours = matches!(kind, FailureKind::Policy | FailureKind::Cancelled);
    trace.first_event.is_none() && !ours && (!refused || busy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::Nanos;

    fn failed(kind: FailureKind, status: Option<u16>) -> Trace {
        let mut trace = Trace { http_status: status, ..Trace::default() };
        trace.fail(kind, "no");
        trace
    }

    #[test]
    fn what_can_fare_better_is_repeated_as_often_as_asked() {
        let waits = |trace: &Trace, most| Attempts::default().wait(trace, most).is_some();
        for kind in [FailureKind::Connect, FailureKind::Reset, FailureKind::Closed, FailureKind::Timeout] {
            assert!(waits(&failed(kind, None), 1) && !waits(&failed(kind, None), 0), "{kind}");
        }
        for (status, again) in
            [(429, true), (503, true), (500, true), (400, false), (401, false), (404, false)]
        {
            assert_eq!(waits(&failed(FailureKind::HttpStatus, Some(status)), 1), again, "{status}");
        }
        assert!(!waits(&failed(FailureKind::Policy, Some(307)), 1));
        assert!(!waits(&Trace { outcome: Some(Outcome::Ok), ..Trace::default() }, 1));
        let begun = Trace { first_event: Some(Nanos(1)), ..failed(FailureKind::Reset, Some(200)) };
        assert!(!waits(&begun, 1), "a part of the answer has come");
    }

    #[test]
    fn attempts_that_met_no_connection_were_not_sent() {
        let mut attempts = Attempts::default();
        attempts.note(&failed(FailureKind::Connect, None));
        attempts.note(&Trace { sent: Some(Nanos(1)), ..failed(FailureKind::Reset, None) });
        attempts.note(&failed(FailureKind::Timeout, None));
        assert_eq!((attempts.count(), attempts.unsent()), (3, 2));
    }

    #[test]
    fn the_servers_advice_comes_before_the_own_backoff() {
        let mut attempts = Attempts::default();
        let busy = Trace { retry_after_s: Some(3), ..failed(FailureKind::HttpStatus, Some(503)) };
        assert_eq!(attempts.wait(&busy, 9), Some(Duration::from_secs(3)));
        attempts.note(&busy);
        let reset = failed(FailureKind::Reset, None);
        for ms in [20, 40, 80, 160, 320, 640, 1000, 1000] {
            assert_eq!(attempts.wait(&reset, 9), Some(Duration::from_millis(ms)));
            attempts.note(&reset);
        }
        assert_eq!(attempts.wait(&reset, 9), None);
        let mut last = failed(FailureKind::Closed, None);
        attempts.close(&mut last);
        let Some(Outcome::Failed { message, .. }) = last.outcome else { panic!("it has failed") };
        assert_eq!(message, "no; attempts before that failed: 1 x HTTP 503, 8 x reset");
        assert_eq!(last.retry_after_s, Some(3));
    }
}
