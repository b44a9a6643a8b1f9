//! Servers that compress without being asked.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use plimsoll_record::{EventKind, FailureKind, Nanos, Outcome};
use plimsoll_transport::{
    Clock, Dial, FetchLimits, Head, Limits, MemoryDial, Reply, Slot, Trace, TransportError, fetch,
};
use std::{io::Write, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::sleep,
};

/// Answers with the head and then these parts, 10 ms apart, without asking whether they are taken.
fn dial(head: &str, parts: Vec<Vec<u8>>) -> Dial {
    let head = head.to_owned();
    Dial::Memory(MemoryDial::new(move || {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let (head, parts) = (head.clone(), parts.clone());
        tokio::spawn(async move {
            let mut request = [0; 4096];
            assert!(server.read(&mut request).await.unwrap() > 0);
            server.write_all(head.as_bytes()).await.unwrap();
            for part in parts {
                sleep(Duration::from_millis(10)).await;
                if server.write_all(&part).await.is_err() {
                    return;
                }
            }
        });
        client
    }))
}

fn head(encoding: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: {encoding}\r\n\r\n")
}

async fn post(dial: Dial) -> Trace {
    let mut slot =
        Slot::new(dial, Head::new("test", None).unwrap(), "/v1/chat/completions", Limits::default()).unwrap();
    let mut trace = Trace::default();
    slot.post(Bytes::from_static(b"{}"), Clock::start(), &mut trace).await;
    trace
}

async fn get(dial: Dial) -> Result<Reply, TransportError> {
    fetch(&dial, &Head::new("test", None).unwrap(), "/metrics", None, FetchLimits::default()).await
}

fn failure(trace: &Trace) -> (Option<FailureKind>, String) {
    match trace.outcome.clone() {
        Some(Outcome::Failed { kind, message }) => (Some(kind), message),
        _ => (None, String::new()),
    }
}

/// A stream of events, each flushed, as gzip has it.
fn flushed(events: &[&str]) -> Vec<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut parts: Vec<Vec<u8>> = events
        .iter()
        .map(|event| {
            write!(encoder, "data: {event}\n\n").unwrap();
            encoder.flush().unwrap();
            std::mem::take(encoder.get_mut())
        })
        .collect();
    parts.push(encoder.finish().unwrap());
    parts
}

fn answer() -> Vec<Vec<u8>> {
    flushed(&[
        r#"{"choices":[{"delta":{"content":"Har"}}]}"#,
        r#"{"choices":[{"delta":{"content":"bour"},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ])
}

#[tokio::test(start_paused = true)]
async fn every_flushed_event_has_the_stamp_of_its_own_read() {
    let trace = post(dial(&head("gzip"), answer())).await;
    assert_eq!((trace.outcome, trace.text.as_str()), (Some(Outcome::Ok), "Harbour"));
    assert_eq!(trace.encoding.as_deref(), Some("gzip"));
    let events: Vec<_> =
        trace.events.iter().map(|event| (event.at_ns.0 / 1_000_000, event.kind, event.coalesced)).collect();
    assert_eq!(
        events,
        [(10, EventKind::Content, false), (20, EventKind::Content, false), (30, EventKind::Done, false)]
    );
    assert_eq!(trace.first_token, Some(Nanos::from_millis(10)));
}

#[tokio::test(start_paused = true)]
async fn any_split_gives_the_same_answer() {
    let whole = answer().concat();
    for cut in 0..=whole.len() {
        let (first, second) = whole.split_at(cut);
        let trace = post(dial(&head("x-gzip"), vec![first.to_vec(), second.to_vec()])).await;
        assert_eq!((trace.outcome, trace.text.as_str()), (Some(Outcome::Ok), "Harbour"), "{cut}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bomb_is_a_bad_payload() {
    // 40 MiB of line ends: no event, so that nothing but the size can stop it.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..40 {
        encoder.write_all(&vec![b'\n'; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let trace = post(dial(&head("gzip"), vec![bomb.clone()])).await;
    let (kind, message) = failure(&trace);
    assert_eq!(kind, Some(FailureKind::BadPayload));
    assert!(message.contains("200-fold"), "{message}");
    let page = get(dial(&head("gzip"), vec![bomb]));
    assert!(page.await.unwrap_err().to_string().contains("200-fold"));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_known_or_not_true_is_named() {
    for (encoding, word) in [("br", "br"), ("zstd", "zstd"), ("gzip, br", "gzip, br"), ("gzip", "gzip")] {
        let trace = post(dial(&head(encoding), vec![b"data: {}\n\n".to_vec()])).await;
        let (kind, message) = failure(&trace);
        assert_eq!(kind, Some(FailureKind::BadPayload));
        assert!(message.contains(word), "{encoding}: {message}");
    }
    let plain = post(dial(&head("identity"), vec![b"data: [DONE]\n\n".to_vec()])).await;
    assert_eq!((failure(&plain).0, plain.encoding), (Some(FailureKind::Empty), None));
}

#[tokio::test(start_paused = true)]
async fn refusals_and_pages_are_undone_too() {
    let body = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(br#"{"error":{"message":"no such model"}}"#).unwrap();
        encoder.finish().unwrap()
    };
    let refused = head("gzip").replace("200 OK", "404 Not Found");
    let trace = post(dial(&refused, vec![body.clone()])).await;
    assert_eq!(failure(&trace), (Some(FailureKind::HttpStatus), "HTTP 404: no such model".to_owned()));
    let reply = get(dial(&head("gzip"), vec![body]));
    assert_eq!(&reply.await.unwrap().body[..], br#"{"error":{"message":"no such model"}}"#);
}
