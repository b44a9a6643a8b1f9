//! Redirects, and what the policy makes of them.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use bytes::Bytes;
use plimsoll_record::{FailureKind, Nanos, Outcome, Redirects};
use plimsoll_transport::{Clock, Dial, Head, Limits, MemoryDial, Secret, Slot, Trace};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::sleep,
};

const STREAM: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: 5\r\n\r\nmoved")
}

fn stream() -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{STREAM}", STREAM.len())
}

/// Posts once to a server that gives these answers in turn, each after 10 ms; one that says so closes the connection.
/// Returns what was seen on either side.
async fn post(policy: Redirects, answers: Vec<String>) -> (Trace, Vec<String>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, answers) = (Arc::clone(&seen), Arc::new(Mutex::new(answers.into_iter())));
    let dial = MemoryDial::new(move || {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let (log, answers) = (Arc::clone(&log), Arc::clone(&answers));
        tokio::spawn(async move {
            let mut request = vec![0; 4096];
            while let Ok(length) = server.read(&mut request).await {
                if length == 0 {
                    return;
                }
                log.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
                let Some(answer) = answers.lock().unwrap().next() else { return };
                sleep(Duration::from_millis(10)).await;
                server.write_all(answer.as_bytes()).await.unwrap();
                if answer.contains("connection: close") {
                    return;
                }
            }
        });
        client
    });
    let head = Head::new("h:1", Some(&Secret::new("sk-12345678".to_owned()))).unwrap();
    let limits = Limits { redirects: policy, ..Limits::default() };
    let mut slot = Slot::new(Dial::Memory(dial), head, "/v1/chat?k", limits).unwrap();
    slot.connect().await.unwrap();
    let mut trace = Trace::default();
    slot.post(Bytes::from_static(b"{\"x\":1}"), Clock::start(), &mut trace).await;
    let seen = seen.lock().unwrap().clone();
    (trace, seen)
}

fn failure(trace: &Trace) -> (FailureKind, String) {
    match trace.outcome.clone().unwrap() {
        Outcome::Failed { kind, message } => (kind, message),
        Outcome::Ok => unreachable!("{trace:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_on_the_same_origin_is_followed_with_method_body_and_key() {
    for (status, location) in [(307, "/other?y=2"), (308, "http://h:1/other?y=2"), (308, "../other?y=2")] {
        let (trace, seen) = post(Redirects::SameHost, vec![redirect(status, location), stream()]).await;
        assert_eq!((trace.outcome, trace.redirects, trace.http_status), (Some(Outcome::Ok), 1, Some(200)));
        let line = |request: &str| request.lines().next().unwrap().to_owned();
        assert_eq!(line(&seen[0]), "POST /v1/chat?k HTTP/1.1");
        assert_eq!(line(&seen[1]), "POST /other?y=2 HTTP/1.1");
        let rest = |request: &str| request.split_once("\r\n").unwrap().1.to_owned();
        assert_eq!(rest(&seen[0]), rest(&seen[1]));
        assert!(seen[1].ends_with("{\"x\":1}") && seen[1].contains("Bearer sk-12345678"));
        let ms = Nanos::from_millis;
        assert_eq!((trace.sent, trace.head, trace.first_token), (Some(ms(0)), Some(ms(20)), Some(ms(20))));
        assert!(!trace.conn.reused && trace.conn.connect_ns.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_may_close_the_connection_after_a_redirect() {
    let closing = redirect(308, "/b").replace("\r\ncontent", "\r\nconnection: close\r\ncontent");
    let (trace, seen) = post(Redirects::SameHost, vec![closing, stream()]).await;
    assert_eq!((trace.outcome, trace.redirects, seen.len()), (Some(Outcome::Ok), 1, 2));
    assert!(trace.conn.connect_ns.is_some());
}

#[tokio::test(start_paused = true)]
async fn what_the_policy_forbids_is_refused_with_its_location() {
    for (status, location, word) in [
        (308, "http://evil/x?token=abc", "another origin"),
        (307, "https://h:1/x", "another origin"),
        (308, "//evil", "another origin"),
        (301, "/x", "only 307 and 308"),
        (302, "/x", "only 307 and 308"),
        (303, "/x", "only 307 and 308"),
    ] {
        let (trace, seen) = post(Redirects::SameHost, vec![redirect(status, location), stream()]).await;
        let (kind, message) = failure(&trace);
        assert_eq!((kind, seen.len(), trace.redirects), (FailureKind::Policy, 1, 0), "{location}");
        let shown = location.split('?').next().unwrap();
        assert!(
            message.contains(word) && message.contains(shown) && message.contains(&status.to_string()),
            "{message}"
        );
        assert!(message.starts_with("refused by policy") && !message.contains("abc"), "{message}");
        assert_eq!(trace.http_status, Some(status));
    }
}

#[tokio::test(start_paused = true)]
async fn a_ring_of_redirects_ends() {
    let (trace, seen) = post(Redirects::SameHost, vec![redirect(308, "/v1/chat"); 20]).await;
    let (kind, message) = failure(&trace);
    assert_eq!((kind, seen.len(), trace.redirects), (FailureKind::Policy, 6, 5));
    assert!(message.contains("too many"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn without_the_policy_a_redirect_is_a_status_that_names_its_location() {
    let (trace, seen) = post(Redirects::Refuse, vec![redirect(308, "/other"), stream()]).await;
    let (kind, message) = failure(&trace);
    assert_eq!((kind, seen.len()), (FailureKind::HttpStatus, 1));
    assert!(message.contains("308") && message.contains("/other"), "{message}");
    let bare = "HTTP/1.1 308 X\r\ncontent-length: 0\r\n\r\n".to_owned();
    let (trace, _) = post(Redirects::SameHost, vec![bare]).await;
    assert_eq!(failure(&trace).0, FailureKind::HttpStatus);
}

#[tokio::test(start_paused = true)]
async fn a_key_in_a_location_is_not_shown() {
    let (trace, _) = post(Redirects::SameHost, vec![redirect(302, "http://evil/sk-12345678")]).await;
    let (_, message) = failure(&trace);
    assert!(message.contains("***") && !message.contains("sk-12345678"), "{message}");
}
