//! How true the reported times are: this client's stamps against the mock's ledger, the first wave included:
//! `cargo bench -p plimsoll-driver --bench truth [-- STREAMS TOKENS_PER_S SECONDS]`.
//!
//! The mock serves from a process of its own; both processes stamp with the same monotonic clock. Not a test: nothing is
//! asserted.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench stops at what it did not expect")]

mod support;

use plimsoll_record::{Nanos, RequestRecord};
use plimsoll_transport::Clock;
use std::{collections::BTreeMap, time::Duration};
use support::{MockProcess, Streams, monotonic, plimsoll, quantile};
use tokio::time::Instant;

fn main() {
    let Some(load) = Streams::of_arguments([256, 100, 5], Duration::from_secs(2), 1) else { return };
    let mock = MockProcess::start(&load);
    let (clock, anchor) = (Clock::at(Instant::now()), monotonic());
    let records: Vec<Box<RequestRecord>> =
        plimsoll(mock.address, load, clock, |records| records.into_iter().collect());
    let truths: BTreeMap<u64, Vec<u64>> = mock.stop().into_iter().map(|truth| (truth[0], truth)).collect();
    println!(
        "ours minus the ledger's, {} streams x {} tok/s, {} s, starts within {:?}, no warm-up, milliseconds",
        load.streams, load.tokens_per_s, load.seconds, load.ramp
    );
    let on_clock = |at: Nanos| anchor + at.0;
    let mut figures: [Vec<f64>; 6] = Default::default();
    let (mut events, mut coalesced) = (0, 0);
    for record in &records {
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        let [_, arrived, tokens @ ..] = &truths[&record.max_tokens.into()][..] else {
            panic!("a whole line")
        };
        let [sent, arrival, ttft, span, gaps, lag] = &mut figures;
        let (due, first) = (on_clock(record.due_ns), on_clock(record.first_token_ns.unwrap()));
        let written = tokens[0];
        sent.push(ms(on_clock(record.sent_ns.unwrap()), due));
        arrival.push(ms(*arrived, due));
        ttft.push(ms(first, written));
        span.push(ms(first - due, written - *arrived));
        lag.push(record.kernel_lag_ns.map_or(0.0, |lag| lag.as_secs_f64() * 1e3));
        let seen: Vec<u64> = record
            .events
            .iter()
            .filter(|event| event.kind.is_text())
            .map(|event| on_clock(event.at_ns))
            .collect();
        events += record.events.len();
        coalesced += record.events.iter().filter(|event| event.coalesced && event.kind.is_text()).count();
        assert_eq!(seen.len(), tokens.len(), "no token is lost");
        let pairs = seen.windows(2).zip(tokens.windows(2));
        gaps.extend(pairs.map(|(ours, theirs)| ms(ours[1] - ours[0], theirs[1] - theirs[0])));
    }
    let names = [
        "sent minus due",
        "arrival at the mock minus due",
        "TTFT: first token minus its write",
        "TTFT minus the mock's own (from arrival)",
        "ITL",
        "largest kernel-to-read delay of a stream",
    ];
    println!("{:42} {:>9} {:>9} {:>9} {:>9}", "", "p1", "p50", "p99", "max");
    for (name, figures) in names.into_iter().zip(&mut figures) {
        let [low, mid, high, max] = [0.01, 0.5, 0.99, 1.0].map(|share| quantile(figures, share));
        println!("{name:42} {low:9.3} {mid:9.3} {high:9.3} {max:9.3}");
    }
    println!("{events} events, of which {coalesced} texts came with the one before");
}

fn ms(later: u64, earlier: u64) -> f64 {
    (later as f64 - earlier as f64) / 1e6
}
