//! What was delivered inside a window, whoever asked for it and when.

use crate::summary::Window;
use crate::timing::bears_tokens;
use plimsoll_record::{FailureKind, Nanos, RequestRecord};

/// Output tokens that arrived inside a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Output {
    /// Their number; fractional where a request's tokens were spread over its events.
    pub tokens: f64,
    /// Requests that contributed.
    pub requests: u64,
    /// Failed requests whose tokens in the window nobody counted.
    pub uncounted_failures: u64,
    /// Complete ones of which the same is true.
    pub uncounted: u64,
}

/// Tokens of the events in the window. Where the server says how many an event brought, that is used; otherwise the
/// request's count is spread evenly over its token-bearing events, so that the total is exact.
pub(crate) fn output(window: Window, requests: &[&RequestRecord]) -> Output {
    let mut output = Output::default();
    for request in requests {
        let events = || request.events.iter().filter(|event| bears_tokens(event));
        let inside = events().filter(|event| window.contains(event.at_ns)).count();
        let all = events().count();
        if inside == 0 && (all > 0 || !request.last_token_ns.is_some_and(|at| window.contains(at))) {
            continue;
        }
        let told: Option<u64> = events()
            .map(|event| {
                event.tokens.map(|tokens| if window.contains(event.at_ns) { u64::from(tokens) } else { 0 })
            })
            .sum();
        let tokens = match (told.filter(|_| all > 0), request.output_tokens) {
            (Some(told), _) => told as f64,
            (None, Some(n)) if all == 0 => f64::from(n),
            (None, Some(n)) => f64::from(n) * (inside as f64 / all as f64),
            (None, None) => {
                if request.outcome.is_ok() {
                    output.uncounted += 1;
                } else {
                    output.uncounted_failures += 1;
                }
                continue;
            }
        };
        output.tokens += tokens;
        output.requests += 1;
    }
    output
}

/// Prompt tokens of the requests whose first token came inside the window, with the number of these requests.
/// None when the server did not count one of the prompts.
pub(crate) fn input(window: Window, requests: &[&RequestRecord]) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for request in
        requests.iter().filter(|request| request.first_token_ns.is_some_and(|at| window.contains(at)))
    {
        match request.input_tokens {
            Some(tokens) => sum = (sum.0 + u64::from(tokens), sum.1 + 1),
            // A failed request ends before its usage comes.
            None if !request.outcome.is_ok() => {}
            None => return None,
        }
    }
    Some(sum)
}

/// Complete requests whose end lies inside the window.
pub(crate) fn completions(window: Window, requests: &[&RequestRecord]) -> u64 {
    requests.iter().filter(|request| request.outcome.is_ok() && window.contains_end(request.end_ns)).count()
        as u64
}

/// Events of all streams inside the window.
pub(crate) fn events(window: Window, requests: &[&RequestRecord]) -> u64 {
    let inside =
        |request: &&RequestRecord| request.events.iter().filter(|e| window.contains(e.at_ns)).count();
    requests.iter().map(inside).sum::<usize>() as u64
}

/// Requests in flight on average: `Σ |[sent, end] ∩ [t0, t1)| / (t1 - t0)`, exactly.
pub(crate) fn in_flight(window: Window, requests: &[&RequestRecord]) -> f64 {
    let inside: u128 = requests
        .iter()
        .filter_map(|request| Some(u128::from(window.overlap(request.sent_ns?, request.end_ns))))
        .sum();
    inside as f64 / (window.close_ns - window.open_ns).0 as f64
}

/// Requests that waited for a new connection on average: `Σ |[sent - connect - tls, sent] ∩ [t0, t1)| / (t1 - t0)`, and all
/// of `[due, end]` where none could be made. Nothing of a redirected request: its connection may be that of a later hop.
pub(crate) fn connecting(window: Window, requests: &[&RequestRecord]) -> f64 {
    let inside: u128 = requests
        .iter()
        .filter_map(|request| connection(request))
        .map(|(from, to)| u128::from(window.overlap(from, to)))
        .sum();
    inside as f64 / (window.close_ns - window.open_ns).0 as f64
}

/// From when to when a request waited for its connection. It is sent as soon as that is made.
fn connection(request: &RequestRecord) -> Option<(Nanos, Nanos)> {
    let due = request.due_ns;
    match (request.sent_ns, request.outcome.failure()) {
        (Some(sent), _) if request.redirects == 0 => {
            let took = request.conn.connect_ns? + request.conn.tls_ns.unwrap_or_default();
            Some((sent.since(took).max(due), sent))
        }
        // Without a cap or attempts before it, what kept it from being sent was its connection.
        (None, Some(FailureKind::Connect | FailureKind::Timeout))
            if !request.capped && request.retries == 0 =>
        {
            Some((due, request.end_ns))
        }
        _ => None,
    }
}

/// Most requests in flight at once inside the window. A request that ends where another begins is over before.
pub(crate) fn peak_in_flight(window: Window, requests: &[&RequestRecord]) -> u64 {
    let mut edges: Vec<(Nanos, i64)> = Vec::with_capacity(2 * requests.len());
    for request in requests {
        if let Some(sent) = request.sent_ns
            && window.overlap(sent, request.end_ns) > 0
        {
            edges.extend([(sent, 1), (request.end_ns, -1)]);
        }
    }
    edges.sort_unstable();
    let (mut now, mut peak) = (0_i64, 0_i64);
    for (at, change) in edges {
        now += change;
        if at < window.close_ns {
            peak = peak.max(now);
        }
    }
    peak.unsigned_abs()
}

/// `|L - λ W| / L` over the requests that ended inside the window, failures included (Little 1961). None without any.
pub(crate) fn little_gap(window: Window, requests: &[&RequestRecord], in_flight: f64) -> Option<f64> {
    let mut ended = 0_u64;
    let mut stay = 0_u128;
    for request in requests.iter().filter(|request| window.contains_end(request.end_ns)) {
        let Some(sent) = request.sent_ns else { continue };
        ended += 1;
        stay += u128::from(request.end_ns.since(sent).0);
    }
    // λ W = (ended / T) (stay / ended).
    let product = stay as f64 / (window.close_ns - window.open_ns).0 as f64;
    (ended > 0 && in_flight > 0.0).then(|| (in_flight - product).abs() / in_flight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Request, ms};
    use plimsoll_record::Outcome;
    use proptest::prelude::*;

    fn window(open: u64, close: u64) -> Window {
        Window { open_ns: ms(open), close_ns: ms(close) }
    }

    fn stays(stays: &[(u64, u64)]) -> Vec<RequestRecord> {
        stays.iter().map(|(from, to)| Request::new(*from).end(*to).build()).collect()
    }

    #[test]
    fn in_flight_is_an_exact_integral() {
        let records = stays(&[(0, 4), (1, 3), (2, 6), (5, 7)]);
        let requests: Vec<_> = records.iter().collect();
        assert!((in_flight(window(0, 7), &requests) - 12.0 / 7.0).abs() < 1e-12);
        assert!((in_flight(window(2, 5), &requests) - 2.0).abs() < 1e-12);
        assert_eq!(peak_in_flight(window(0, 7), &requests), 3);
        // The last request ends with the window, so it is not among those that ended inside.
        assert!(little_gap(window(0, 8), &requests, 12.0 / 8.0).unwrap() < 1e-12);
        let touching = stays(&[(0, 1), (1, 2)]);
        assert_eq!(peak_in_flight(window(0, 7), &touching.iter().collect::<Vec<_>>()), 1);
    }

    #[test]
    fn connecting_is_what_a_request_waited_for_its_connection() {
        let made = |change: &dyn Fn(&mut RequestRecord)| {
            let mut record = Request::new(0).end(100).build();
            record.sent_ns = Some(ms(50));
            (record.conn.connect_ns, record.conn.tls_ns) = (Some(ms(10)), Some(ms(20)));
            change(&mut record);
            connecting(window(0, 100), &[&record])
        };
        let share =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        share(made(&|_| {}), 0.3);
        share(made(&|record| record.conn.tls_ns = None), 0.1);
        share(made(&|record| record.conn.connect_ns = None), 0.0);
        // No longer than the request itself; nothing of the wait for another hop's connection.
        share(made(&|record| record.due_ns = ms(40)), 0.1);
        share(made(&|record| record.redirects = 1), 0.0);
        let unsent = |record: &mut RequestRecord, kind| {
            (record.sent_ns, record.conn.connect_ns) = (None, None);
            record.outcome = Outcome::Failed { kind, message: String::new() };
        };
        share(made(&|record| unsent(record, FailureKind::Connect)), 1.0);
        share(made(&|record| unsent(record, FailureKind::Timeout)), 1.0);
        share(made(&|record| unsent(record, FailureKind::Cancelled)), 0.0);
        let record = Request::new(0).end(100).build();
        share(connecting(window(0, 100), &[&record]), 0.0);
    }

    #[test]
    fn tokens_count_where_they_arrive() {
        let straddling = Request::new(0).tokens_at(&[5, 10, 15, 20]).output_tokens(8).build();
        let mut told = straddling.clone();
        for (event, tokens) in told.events.iter_mut().zip([1, 2, 3, 2]) {
            event.tokens = Some(tokens);
        }
        let mut cut = straddling.clone();
        cut.output_tokens = None;
        cut.outcome = Outcome::Failed { kind: FailureKind::Truncated, message: String::new() };
        assert_eq!(output(window(10, 20), &[&straddling]).tokens, 4.0);
        assert_eq!(output(window(10, 20), &[&told]).tokens, 5.0);
        let both = output(window(10, 20), &[&straddling, &cut]);
        assert_eq!((both.tokens, both.uncounted_failures, both.uncounted), (4.0, 1, 0));
        assert_eq!(output(window(30, 40), &[&straddling, &told, &cut]), Output::default());
    }

    #[test]
    fn prompts_and_completions() {
        let request = Request::new(0).tokens_at(&[5, 25]).build();
        assert_eq!(input(window(0, 10), &[&request]), Some((10, 1)));
        assert_eq!(input(window(10, 30), &[&request]), Some((0, 0)));
        assert_eq!(completions(window(0, 25), &[&request]), 1);
        assert_eq!(completions(window(25, 26), &[&request]), 0);
        assert_eq!(events(window(5, 25), &[&request, &request]), 2);
        let mut unknown = request;
        unknown.input_tokens = None;
        assert_eq!(input(window(0, 10), &[&unknown]), None);
    }

    proptest! {
        /// Windows that part a stretch of time share out every token and every moment in flight.
        #[test]
        fn windows_add_up(
            starts in prop::collection::vec((0_u64..100, 1_u64..30, 1_u32..50), 1..20),
            cut in 1_u64..199,
        ) {
            let records: Vec<_> = starts
                .iter()
                .map(|(due, step, n)| {
                    Request::new(*due).tokens_at(&[due + step, due + 2 * step, due + 3 * step]).output_tokens(*n).build()
                })
                .collect();
            let requests: Vec<_> = records.iter().collect();
            let (whole, left, right) = (window(0, 200), window(0, cut), window(cut, 200));
            let total: f64 = starts.iter().map(|(_, _, n)| f64::from(*n)).sum();
            let sum = output(left, &requests).tokens + output(right, &requests).tokens;
            prop_assert!((sum - total).abs() < 1e-9 * total);
            prop_assert!((output(whole, &requests).tokens - total).abs() < 1e-9 * total);
            let area = in_flight(left, &requests) * left.seconds() + in_flight(right, &requests) * right.seconds();
            prop_assert!((area - in_flight(whole, &requests) * whole.seconds()).abs() < 1e-9);
            prop_assert!(in_flight(whole, &requests) <= peak_in_flight(whole, &requests) as f64);
        }
    }
}
