//! Latencies of one request, from its stamps. All in nanoseconds; undefined is None, never 0.

use plimsoll_record::{Nanos, RequestRecord, StreamEvent};

/// The latencies of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// `first_token - due`: what a user waits for the first token.
    pub ttft: Option<f64>,
    /// `first_token - sent`: the same without the client's own delay.
    pub service_ttft: Option<f64>,
    /// `last_token - due`.
    pub e2e: Option<f64>,
    /// `last_token - sent`.
    pub service_e2e: Option<f64>,
    /// `end - due`: the response time, to the end of the body.
    pub response: Option<f64>,
    /// `(last_token - first_token) / (n - 1)`; undefined for fewer than two tokens.
    pub tpot: Option<f64>,
    /// `end - last_token`: usage, `[DONE]` and the end of the body.
    pub finish_lag: Option<f64>,
    /// `sent - due`.
    pub send_delay: Option<f64>,
    /// True when two stamps come in an order that cannot be.
    pub disordered: bool,
}

impl Timing {
    /// The latencies of a request, whatever its outcome.
    pub fn of(request: &RequestRecord) -> Self {
        let (first, last) = (request.first_token_ns, request.last_token_ns);
        let due = Some(request.due_ns);
        let pairs =
            [(due, request.sent_ns), (request.sent_ns, first), (first, last), (last, Some(request.end_ns))];
        let gaps = request.output_tokens.and_then(|n| n.checked_sub(1)).filter(|gaps| *gaps > 0);
        Self {
            ttft: span(due, first),
            service_ttft: span(request.sent_ns, first),
            e2e: span(due, last),
            service_e2e: span(request.sent_ns, last),
            response: span(due, Some(request.end_ns)),
            tpot: gaps.and_then(|gaps| Some(span(first, last)? / f64::from(gaps))),
            finish_lag: span(last, Some(request.end_ns)),
            send_delay: span(due, request.sent_ns),
            disordered: pairs.iter().any(|(from, to)| from.zip(*to).is_some_and(|(from, to)| to < from)),
        }
    }
}

/// Nanoseconds between two stamps; undefined when one is missing or they are out of order.
fn span(from: Option<Nanos>, to: Option<Nanos>) -> Option<f64> {
    Some(to?.0.checked_sub(from?.0)? as f64)
}

/// True for an event that brought generated text or, by the server's own count, a token.
pub fn bears_tokens(event: &StreamEvent) -> bool {
    event.kind.is_text() || event.tokens.is_some_and(|tokens| tokens > 0)
}

/// The gap before a token-bearing event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Since the token-bearing event before it, nanoseconds.
    pub ns: f64,
    /// Tokens that the event brought, where the server says so per event.
    pub tokens: Option<u32>,
    /// True when both came in one read, whose events share a stamp, so that the gap is none in time.
    pub coalesced: bool,
}

/// Inter-chunk gaps (ICL): between neighbouring token-bearing events. Role-only, empty, usage and `[DONE]` events make none.
pub fn gaps(request: &RequestRecord) -> Vec<Gap> {
    let mut found = Vec::new();
    let mut before: Option<&StreamEvent> = None;
    for event in request.events.iter().filter(|event| bears_tokens(event)) {
        if let Some(ns) = before.and_then(|before| span(Some(before.at_ns), Some(event.at_ns))) {
            found.push(Gap { ns, tokens: event.tokens, coalesced: ns <= 0.0 });
        }
        before = Some(event);
    }
    found
}

/// Most inter-token gaps that one event may be spread over; no server emits more tokens in an event.
const MOST_TOKENS: u32 = 4096;

/// Inter-token gaps (ITL): each gap spread evenly over the tokens that ended it. None when an event's count is not known.
pub fn smeared(gaps: &[Gap]) -> Option<Vec<f64>> {
    let mut tokens = Vec::with_capacity(gaps.len());
    for gap in gaps {
        let count = gap.tokens.filter(|count| (1..=MOST_TOKENS).contains(count))?;
        tokens.extend((0..count).map(|_| gap.ns / f64::from(count)));
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Request, ms};
    use plimsoll_record::EventKind;

    fn close(value: Option<f64>, ms: f64) -> bool {
        value.is_some_and(|ns| (ns / 1e6 - ms).abs() < 1e-9)
    }

    #[test]
    fn tpot_leaves_the_first_token_out() {
        let stamps: Vec<u64> = (0..=100).map(|k| 1000 + 10 * k).collect();
        let timing = Timing::of(&Request::new(0).tokens_at(&stamps).build());
        assert!(close(timing.ttft, 1000.0) && close(timing.tpot, 10.0) && close(timing.e2e, 2000.0));

        let two = Timing::of(&Request::new(0).tokens_at(&[100, 140]).build());
        assert!(close(two.tpot, 40.0));
        let one = Timing::of(&Request::new(0).tokens_at(&[100]).build());
        assert_eq!(one.tpot, None);
    }

    #[test]
    fn from_the_intended_start() {
        let mut request = Request::new(10).tokens_at(&[110, 120]).end(620).build();
        request.sent_ns = Some(ms(30));
        let timing = Timing::of(&request);
        assert!(
            close(timing.ttft, 100.0) && close(timing.service_ttft, 80.0) && close(timing.send_delay, 20.0)
        );
        assert!(close(timing.e2e, 110.0) && close(timing.finish_lag, 500.0));
        assert!(close(timing.service_e2e, 90.0) && close(timing.response, 610.0));
        request.first_token_ns = Some(ms(5));
        let disordered = Timing::of(&request);
        assert!(disordered.disordered && disordered.ttft.is_none());
    }

    #[test]
    fn several_tokens_in_a_chunk() {
        let mut request = Request::new(0).tokens_at(&[100, 130, 160, 220]).output_tokens(6).build();
        for (event, tokens) in request.events.iter_mut().zip([1, 1, 3, 1]) {
            event.tokens = Some(tokens);
        }
        assert!(close(Timing::of(&request).tpot, 24.0));
        let gaps = gaps(&request);
        assert_eq!(gaps.iter().map(|gap| gap.ns / 1e6).collect::<Vec<_>>(), [30.0, 30.0, 60.0]);
        let itl: Vec<f64> = smeared(&gaps).unwrap().iter().map(|ns| ns / 1e6).collect();
        assert_eq!(itl, [30.0, 10.0, 10.0, 10.0, 60.0]);
    }

    #[test]
    fn only_events_with_tokens_make_gaps() {
        let mut request = Request::new(0).tokens_at(&[100, 130, 160]).build();
        request.events.insert(0, Request::event(1, EventKind::Role));
        request.events.insert(2, Request::event(110, EventKind::Empty));
        request.events.push(Request::event(500, EventKind::Usage));
        request.events.push(Request::event(501, EventKind::Done));
        assert_eq!(gaps(&request).iter().map(|gap| gap.ns / 1e6).collect::<Vec<_>>(), [30.0, 30.0]);
        assert_eq!(smeared(&gaps(&request)), None);
    }

    #[test]
    fn one_read_is_no_gap() {
        let request = Request::new(0).tokens_at(&[100, 100, 130]).build();
        assert_eq!(gaps(&request).iter().map(|gap| gap.coalesced).collect::<Vec<_>>(), [true, false]);
    }
}
