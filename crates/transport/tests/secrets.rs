//! A server that repeats the API key in everything it says.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use bytes::Bytes;
use plimsoll_record::{FailureKind, Outcome};
use plimsoll_transport::{Clock, Dial, FetchLimits, Head, Limits, MemoryDial, Secret, Slot, Trace, fetch};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

const KEY: &str = "sk-plimsoll-very-secret";

fn head() -> Head {
    Head::new("test", Some(&Secret::new(KEY.to_owned()))).unwrap()
}

/// Answers the first request of each connection with `answer`, whose `KEY` is the key, and then says nothing.
fn dial(answer: &str) -> Dial {
    let answer = answer.replace("KEY", KEY);
    Dial::Memory(MemoryDial::new(move || {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let answer = answer.clone();
        tokio::spawn(async move {
            let mut request = [0; 4096];
            let read = server.read(&mut request).await.unwrap();
            assert!(String::from_utf8_lossy(&request[..read]).contains(KEY), "the server gets the key");
            server.write_all(answer.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        });
        client
    }))
}

/// Answers whatever comes.
fn silent(answer: String) -> Dial {
    Dial::Memory(MemoryDial::new(move || {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let answer = answer.clone();
        tokio::spawn(async move {
            assert!(server.read(&mut [0; 4096]).await.unwrap() > 0);
            server.write_all(answer.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        });
        client
    }))
}

fn slot(answer: &str) -> Slot {
    Slot::new(dial(answer), head(), "/v1/chat/completions", Limits::default()).unwrap()
}

fn answer(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\nx-key: KEY\r\ncontent-length: {}\r\n\r\n{body}",
        body.replace("KEY", KEY).len()
    )
}

const STREAM: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"it is KEY\"},\"finish_reason\":\"KEY\"}]}\n\n";

#[tokio::test(start_paused = true)]
async fn a_key_that_the_server_repeats_is_not_kept() {
    for body in [r#"{"error":{"message":"bad key KEY"}}"#, "bad key KEY", STREAM] {
        let status = if body == STREAM { 200 } else { 401 };
        let mut trace = Trace::default();
        slot(&answer(status, body)).post(Bytes::from_static(b"{}"), Clock::start(), &mut trace).await;
        let kept = format!("{trace:?}");
        assert!(kept.contains("***") && !kept.contains(KEY), "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn nor_when_the_request_is_cut_off() {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{STREAM}");
    let (mut slot, clock, mut trace) = (slot(&head), Clock::start(), Trace::default());
    timeout(Duration::from_secs(1), slot.post(Bytes::from_static(b"{}"), clock, &mut trace))
        .await
        .unwrap_err();
    slot.cut_off(clock, &mut trace, FailureKind::Timeout, "late");
    assert_eq!((trace.text.as_str(), trace.finish_reason.as_deref()), ("it is ***", Some("***")));
}

#[tokio::test(start_paused = true)]
async fn nor_in_a_page() {
    let page = dial(&answer(401, "a KEY and KEY"));
    let reply = fetch(&page, &head(), "/metrics", None, FetchLimits::default()).await.unwrap();
    assert_eq!((&reply.body[..], reply.header("x-key")), (&b"a *** and ***"[..], Some("***")));
}

#[tokio::test(start_paused = true)]
async fn secret_headers_are_not_kept_in_any_writing() {
    let head = Head::new("test", None).unwrap().with_header("x-api-key", "sk-\"odd\\/key<", true).unwrap();
    let head = head.with_header("authorization", "Token tok-12345678", true).unwrap();
    let head = head.with_header("x-team", "blue-team-1", false).unwrap();
    let head = head.with_query("n=1&key=que%2Fry-tok-odd");
    for (said, kept) in [
        (r#"bad key sk-\"odd\\/key<"#, "bad key ***"),
        (r"bad key sk-\u0022odd\\\/key\u003c.", "bad key ***."),
        (r#"bad key {\"key\":\"sk-\\\"odd\\\\/key<\"}"#, r#"bad key {"key":"***"}"#),
        ("bad tok-12345678 of blue-team-1", "bad *** of blue-team-1"),
        ("bad Token tok-12345678", "bad ***"),
        ("bad /v1?key=que%2fry-tok-odd&n=1", "bad /v1?key=***&n=1"),
        ("bad que/ry-tok-odd", "bad ***"),
    ] {
        let body = format!(r#"{{"error":{{"message":"{said}"}}}}"#);
        let page = format!("HTTP/1.1 401 X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let dial = silent(page);
        let mut slot = Slot::new(dial.clone(), head.clone(), "/v1/messages", Limits::default()).unwrap();
        let mut trace = Trace::default();
        slot.post(Bytes::from_static(b"{}"), Clock::start(), &mut trace).await;
        let failure = format!("HTTP 401: {kept}");
        assert_eq!(trace.outcome, Some(Outcome::Failed { kind: FailureKind::HttpStatus, message: failure }));
        let reply = fetch(&dial, &head, "/v1/models", None, FetchLimits::default()).await.unwrap();
        let body = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(body.contains("***") && !body.contains("odd") && !body.contains("tok-"), "{body}");
    }
}
