//! The four time limits, in paused time: each passes to the millisecond, and says which it was.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

use bytes::Bytes;
use plimsoll_record::{FailureKind, Nanos, Outcome, TimeLimit};
use plimsoll_transport::{Clock, Dial, Head, Limits, MemoryDial, Slot, TimeLimits, Trace};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep},
};

/// What the server writes, and how many milliseconds it waits before each.
type Script = Vec<(u64, String)>;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const ROLE: &str = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n";
const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";
const PING: &str = ": ping\n\n";
const FOREVER: u64 = 1 << 40;

fn after(ms: u64, text: &str) -> (u64, String) {
    (ms, text.to_owned())
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn times() -> TimeLimits {
    TimeLimits { connect: seconds(2), first_token: Some(seconds(5)), idle: seconds(3), total: seconds(60) }
}

fn slot(script: Script, time: TimeLimits) -> Slot {
    let dial = MemoryDial::new(move || {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let script = script.clone();
        tokio::spawn(async move {
            let mut request = [0; 4096];
            let _ = server.read(&mut request).await.unwrap();
            for (wait, text) in script {
                sleep(Duration::from_millis(wait)).await;
                if server.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        client
    });
    let head = Head::new("test", None).unwrap();
    Slot::new(Dial::Memory(dial), head, "/v1/chat/completions", Limits { time, ..Limits::default() }).unwrap()
}

async fn post(script: Script, time: TimeLimits) -> Trace {
    let mut trace = Trace::default();
    slot(script, time).post(Bytes::from_static(b"{}"), Clock::start(), &mut trace).await;
    trace
}

/// When the exchange ended, milliseconds, and why. The limit is the one whose option the words name.
fn passed(trace: &Trace) -> (u64, &str) {
    match trace.outcome.as_ref().unwrap() {
        Outcome::Failed { kind: FailureKind::Timeout, message } => {
            let flag = match trace.time_limit.unwrap() {
                TimeLimit::Connect => "(--connect-timeout)",
                TimeLimit::FirstToken => "(--first-token-timeout)",
                TimeLimit::Idle => "(--idle-timeout)",
                TimeLimit::Total => "(--timeout)",
            };
            assert!(message.contains(flag), "{message}");
            (trace.end.unwrap().0 / 1_000_000, message.as_str())
        }
        _ => panic!("{trace:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_token_is_waited_for_from_the_sending_and_a_role_is_none() {
    let silent = post(vec![after(FOREVER, "")], times()).await;
    let want = "no token within 5s of sending (--first-token-timeout): nothing had come";
    assert_eq!(passed(&silent), (5000, want));
    assert_eq!((silent.sent, silent.head), (Some(Nanos::ZERO), None));
    let role = post(vec![after(1, HEAD), after(4000, ROLE), after(FOREVER, "")], times()).await;
    let (at, message) = passed(&role);
    assert!(at == 5000 && message.ends_with("1 events without a token had come"), "{at}: {message}");
    let in_time = post(vec![after(1, HEAD), after(4998, TOKEN), after(1, DONE)], times()).await;
    assert_eq!(in_time.outcome, Some(Outcome::Ok));
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_not_pause_once_it_has_begun() {
    let script =
        vec![after(1, HEAD), after(4000, TOKEN), after(2999, PING), after(2999, TOKEN), after(FOREVER, "")];
    let trace = post(script, times()).await;
    assert_eq!(
        passed(&trace),
        (4001 + 2 * 2999 + 3000, "nothing more read for 3s (--idle-timeout): 2 events had come")
    );
    assert_eq!(trace.text, "xx");
    // Before the first token only the server's patience is tried.
    let unlimited = TimeLimits { first_token: None, ..times() };
    let slow = post(vec![after(1, HEAD), after(50_000, TOKEN), after(1, DONE)], unlimited).await;
    assert_eq!(slow.outcome, Some(Outcome::Ok));
}

#[tokio::test(start_paused = true)]
async fn a_slow_drip_ends_with_the_limit_for_the_whole() {
    let drip = |text: &str| -> Script {
        let bytes = text.chars().map(|byte| after(1000, &byte.to_string()));
        std::iter::once(after(0, HEAD)).chain(std::iter::once(after(1, TOKEN))).chain(bytes).collect()
    };
    let trace = post(drip(&PING.repeat(20)), times()).await;
    assert_eq!(passed(&trace), (60_000, "not complete within 60s (--timeout): 1 events had come"));
    let head: Script = HEAD.chars().map(|byte| after(1000, &byte.to_string())).collect();
    let (first, whole) = (post(head.clone(), times()).await, TimeLimits { first_token: None, ..times() });
    let (at, message) = passed(&first);
    assert!(at == 5000 && message.contains("--first-token-timeout"), "{message}");
    assert!(message.contains("bytes of the response's head had come"), "{message}");
    let (at, message) = (passed(&post(head, whole).await).0, "");
    assert_eq!((at, message), (60_000, ""));
}

#[tokio::test(start_paused = true)]
async fn a_further_attempt_has_what_is_left_of_the_whole() {
    let mut slot = slot(vec![after(FOREVER, "")], TimeLimits { first_token: None, ..times() });
    let (clock, begun) = (Clock::start(), Instant::now());
    sleep(seconds(50)).await;
    let mut trace = Trace::default();
    slot.post_since(begun, Bytes::from_static(b"{}"), clock, &mut trace).await;
    assert_eq!(passed(&trace).0, 60_000);
}

#[tokio::test(start_paused = true)]
async fn limits_beyond_the_clock_are_no_limits() {
    let time = TimeLimits {
        connect: Duration::MAX,
        first_token: Some(Duration::MAX),
        idle: Duration::MAX,
        total: Duration::MAX,
    };
    let trace = post(vec![after(1, HEAD), after(1, TOKEN), after(100_000, DONE)], time).await;
    assert_eq!(trace.outcome, Some(Outcome::Ok));
}

#[tokio::test(start_paused = true)]
async fn the_advice_of_a_busy_server_is_kept() {
    let busy =
        |advice: &str| after(1, &format!("HTTP/1.1 503 Busy\r\n{advice}content-length: 4\r\n\r\nbusy"));
    let trace = post(vec![busy("retry-after: 7\r\n")], times()).await;
    assert_eq!((trace.retry_after_s, trace.http_status), (Some(7), Some(503)));
    assert_eq!(
        trace.outcome,
        Some(Outcome::Failed { kind: FailureKind::HttpStatus, message: "HTTP 503: busy".to_owned() })
    );
    assert_eq!(post(vec![busy("")], times()).await.retry_after_s, None);
}

/// With HTTP/2 a connection is there when the server's settings have come.
#[cfg(feature = "http2")]
#[tokio::test(start_paused = true)]
async fn a_connection_is_waited_for_as_long_as_its_limit_says() {
    use plimsoll_record::HttpVersion;
    use plimsoll_transport::DialOptions;
    let silent = || {
        let dial = MemoryDial::new(|| {
            let (client, server) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move {
                sleep(seconds(1000)).await;
                drop(server);
            });
            client
        });
        let options = DialOptions { http: HttpVersion::Two, ..DialOptions::default() };
        Dial::Memory(dial).over(&"http://test".parse().unwrap(), &options).unwrap()
    };
    for (connect, total, want) in [
        (2, 60, (2000, "no connection within 2s (--connect-timeout)")),
        (10, 4, (4000, "no connection within 4s (--timeout)")),
    ] {
        let time = TimeLimits { connect: seconds(connect), total: seconds(total), ..times() };
        let limits = Limits { time, ..Limits::default() };
        let mut slot = Slot::new(silent(), Head::new("test", None).unwrap(), "/", limits).unwrap();
        let mut trace = Trace::default();
        slot.post(Bytes::new(), Clock::start(), &mut trace).await;
        assert_eq!(passed(&trace), want);
        assert_eq!(trace.sent, None);
        assert!(slot.connect().await.is_err());
    }
}
