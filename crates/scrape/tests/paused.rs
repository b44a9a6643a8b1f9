//! The loop in paused time, over in-memory pipes: who is scraped when, to the nanosecond and always the same.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use plimsoll_record::{Counter, Nanos, Sample, SampleOutcome, SampleTrigger};
use plimsoll_scrape::{ScrapeHandle, Scraper, Settings, Target, mailbox};
use plimsoll_transport::{Clock, Dial, MemoryDial};
use plimsoll_wire::url::BaseUrl;
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::sleep,
};

const MS: u64 = 1_000_000;

/// A server whose pages take `delay` and tell of `moves` scrapes' worth of work before standing still.
fn server(delay: Duration, moves: u64) -> Dial {
    let served = Arc::new(AtomicU64::new(0));
    Dial::Memory(MemoryDial::new(move || {
        let (client, server) = duplex(64 << 10);
        tokio::spawn(answer(server, delay, served.fetch_add(1, Ordering::Relaxed).min(moves)));
        client
    }))
}

async fn answer(mut pipe: DuplexStream, delay: Duration, tokens: u64) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = pipe.read_u8().await else { return };
        head.push(byte);
    }
    sleep(delay).await;
    let page = format!("vllm:generation_tokens_total {tokens}\n");
    let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len());
    let _ = pipe.write_all(reply.as_bytes()).await;
}

/// Runs a scraper of `dial` beside `work`, which stops it; gives the samples.
async fn scrape_while<F: Future<Output = ()>>(
    dial: Dial,
    work: impl FnOnce(ScrapeHandle) -> F,
) -> Vec<Sample> {
    let base: BaseUrl = "http://mock".parse().unwrap();
    let settings = Settings { interval: Duration::from_millis(500), seed: 7, ..Settings::default() };
    let scraper = Scraper::new(Target::new(dial, &base, None).unwrap(), settings, Clock::start());
    let samples = Rc::new(RefCell::new(Vec::new()));
    let (handle, mailbox) = mailbox();
    let sink = |sample| samples.borrow_mut().push(sample);
    tokio::join!(scraper.run(mailbox, sink), work(handle));
    samples.take()
}

fn at_ms(samples: &[Sample], trigger: SampleTrigger) -> Vec<u64> {
    samples.iter().filter(|sample| sample.trigger == trigger).map(|sample| sample.at_ns.0 / MS).collect()
}

#[tokio::test(start_paused = true)]
async fn ticks_stand_on_the_grid_and_an_edge_comes_at_once() {
    let run = || {
        scrape_while(server(Duration::from_millis(20), 0), |handle| async move {
            sleep(Duration::from_millis(1250)).await;
            let edge = handle.edge().await.unwrap();
            assert_eq!((edge.at_ns, edge.duration_ns), (Nanos(1270 * MS), Nanos(20 * MS)));
            sleep(Duration::from_secs(1)).await;
            handle.stop();
        })
    };
    let samples = run().await;
    let ticks = at_ms(&samples, SampleTrigger::Tick);
    assert_eq!(ticks.len(), 5, "{ticks:?}");
    for (n, tick) in (0..).zip(&ticks) {
        assert!((500 * n + 20..500 * n + 71).contains(tick), "{ticks:?}");
    }
    assert_eq!(at_ms(&samples, SampleTrigger::Edge), [1270]);
    assert_eq!(run().await, samples);
}

#[tokio::test(start_paused = true)]
async fn an_edge_takes_the_place_of_a_tick_in_flight_and_ticks_due_meanwhile_are_skipped() {
    let samples = scrape_while(server(Duration::from_millis(1200), 0), |handle| async move {
        sleep(Duration::from_millis(600)).await;
        let edge = handle.edge().await.unwrap();
        assert_eq!(edge.at_ns, Nanos(1800 * MS));
        sleep(Duration::from_millis(1900)).await;
        handle.stop();
    })
    .await;
    let ticks = at_ms(&samples, SampleTrigger::Tick);
    // The one sent near 0 is given up at 600, those due at 1000 and 1500 find the edge in flight.
    assert!(matches!(ticks[..], [3200..3250]), "{ticks:?}");
    // Never two at once, so that samples stand in the order of the states they show.
    assert!(samples.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns - pair[1].duration_ns));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_costs_one_failed_sample_a_limit() {
    let samples = scrape_while(server(Duration::from_hours(1), 0), |handle| async move {
        let edge = handle.edge().await.unwrap();
        assert!(matches!(edge.outcome, SampleOutcome::Failed { .. }));
        assert_eq!((edge.at_ns, edge.duration_ns), (Nanos(2000 * MS), Nanos(2000 * MS)));
        assert!(!handle.settle().await.unwrap().still);
        handle.stop();
    })
    .await;
    assert!(samples.iter().all(|sample| sample.outcome != SampleOutcome::Ok));
    assert_eq!(at_ms(&samples, SampleTrigger::Edge), [2000, 4000]);
}

#[tokio::test(start_paused = true)]
async fn settling_waits_for_counters_to_stand_still() {
    let samples = scrape_while(server(Duration::from_millis(1), 6), |handle| async move {
        let settled = handle.settle().await.unwrap();
        assert!(settled.still);
        assert_eq!(settled.last.counters[&Counter::GenerationTokens].to_string(), "6");
        handle.stop();
    })
    .await;
    let seen: Vec<String> =
        samples.iter().map(|sample| sample.counters[&Counter::GenerationTokens].to_string()).collect();
    assert_eq!(seen.last_chunk(), Some(&["6".to_owned(), "6".to_owned(), "6".to_owned()]), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn counters_that_never_stand_still_end_the_wait_at_its_limit() {
    let samples = scrape_while(server(Duration::from_millis(1), 9999), |handle| async move {
        assert!(!handle.settle().await.unwrap().still);
        handle.stop();
    })
    .await;
    let last = samples.last().unwrap().at_ns;
    assert!((Nanos(1800 * MS)..Nanos(2000 * MS)).contains(&last), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn dropping_every_handle_stops_the_run() {
    let samples =
        scrape_while(server(Duration::from_millis(1), 0), |handle| async move { drop(handle) }).await;
    assert_eq!(samples, []);
}
