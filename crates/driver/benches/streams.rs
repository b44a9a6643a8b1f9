//! Memory of many streams in flight, and whether any event of theirs is lost:
//! `cargo bench -p plimsoll-driver --bench streams [-- STREAMS TOKENS_PER_S SECONDS]`.
//!
//! The mock serves from a process of its own. Resident memory is looked at before the level and while all streams are in
//! flight; what their records hold by then is taken off. Not a test: nothing is asserted but that nothing is lost.

#![expect(clippy::unwrap_used, reason = "a bench stops at what it did not expect")]

mod support;

use plimsoll_record::{RequestRecord, StreamEvent};
use plimsoll_transport::Clock;
use std::{sync::mpsc, time::Duration};
use support::{MockProcess, Streams, monotonic, plimsoll, quantile};

fn main() {
    let Some(load) = Streams::of_arguments([5000, 2, 40], Duration::from_secs(10), 0) else { return };
    let mock = MockProcess::start(&load);
    println!("{} streams x {} tok/s, {} s, one thread", load.streams, load.tokens_per_s, load.seconds);
    let before = resident();
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let (begun, clock) = (monotonic(), Clock::start());
    // All have begun, none has ended.
    let middle = load.ramp.as_secs_f64() + 0.5 * (f64::from(load.seconds) - load.ramp.as_secs_f64());
    let (stop, watched) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let _ = watched.recv_timeout(Duration::from_secs_f64(middle));
        resident()
    });
    let records: Vec<Box<RequestRecord>> =
        plimsoll(mock.address, load, clock, |records| records.into_iter().collect());
    drop(stop);
    let during = watch.join().unwrap();
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let ledger = mock.stop();
    let (written, read): (usize, usize) = (
        ledger.iter().map(|answer| answer.len() - 2).sum(),
        records.iter().map(|record| record.events.iter().filter(|event| event.kind.is_text()).count()).sum(),
    );
    let failed = records.iter().filter(|record| !record.outcome.is_ok()).count();
    assert_eq!((failed, read), (0, written), "no stream fails and no event is lost");
    // Room for events is made when a request begins.
    let kept: usize = records
        .iter()
        .map(|record| record.events.capacity() * size_of::<StreamEvent>() + record.text.len())
        .sum();
    let seconds = (used.tv_sec - cpu.tv_sec) as f64 + (used.tv_nsec - cpu.tv_nsec) as f64 / 1e9;
    println!(
        "{written} tokens written, {read} read; {seconds:.1} s of CPU in {:.1} s",
        (monotonic() - begun) as f64 / 1e9
    );
    let share = |bytes: usize| bytes as f64 / 1024.0 / f64::from(load.streams);
    println!(
        "resident: {:.1} KiB a stream, of which {:.1} KiB for its record",
        share(during.saturating_sub(before)),
        share(kept)
    );
    let mut lags: Vec<f64> =
        records.iter().filter_map(|record| record.kernel_lag_ns).map(|lag| lag.as_secs_f64() * 1e3).collect();
    if !lags.is_empty() {
        let [mid, high] = [0.5, 0.99].map(|share| quantile(&mut lags, share));
        println!("largest kernel-to-read delay of a stream: median {mid:.3} ms, p99 {high:.3} ms");
    }
}

/// Resident memory, bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
