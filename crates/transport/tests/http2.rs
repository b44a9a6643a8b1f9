//! HTTP/2: agreed on under TLS, known beforehand without it.

#![cfg(all(feature = "tls", feature = "http2"))]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod common;

use bytes::Bytes;
use common::{Events, acceptor, base, dial, head, post, server, slot, trusting};
use h2::{Reason, SendStream, server::SendResponse};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use plimsoll_record::{EventKind, FailureKind, HttpVersion, Nanos, Outcome};
use plimsoll_transport::{Clock, Dial, DialOptions, FetchLimits, MemoryDial, Slot, Trace, fetch};
use std::{convert::Infallible, future::poll_fn, time::Duration};
use tokio::{io::DuplexStream, time::sleep};

fn two() -> DialOptions {
    DialOptions { http: HttpVersion::Two, ..trusting() }
}

/// A way to a server that gets the other end of every connection.
fn memory(serve: impl Fn(DuplexStream) + Send + Sync + 'static) -> Dial {
    let dial = MemoryDial::new(move || {
        let (client, server) = tokio::io::duplex(1 << 16);
        serve(server);
        client
    });
    Dial::Memory(dial).over(&base("http://test"), &two()).unwrap()
}

fn memory_slot(serve: impl Fn(DuplexStream) + Send + Sync + 'static) -> Slot {
    slot("http://test", memory(serve), "/v1/chat/completions")
}

fn failure(trace: &Trace) -> Option<FailureKind> {
    trace.outcome.as_ref().and_then(Outcome::failure)
}

#[tokio::test]
async fn the_version_is_what_was_agreed() {
    let both = server("127.0.0.1", Some(acceptor("server", &["h2", "http/1.1"], false)), false).await;
    let old = server("127.0.0.1", Some(acceptor("server", &["http/1.1"], false)), false).await;
    let silent = server("127.0.0.1", Some(acceptor("server", &[], false)), false).await;
    let plain = server("127.0.0.1", None, true).await;
    for (url, http, want) in [
        (format!("https://localhost:{both}"), HttpVersion::Auto, "2"),
        (format!("https://localhost:{both}"), HttpVersion::Two, "2"),
        (format!("https://localhost:{both}"), HttpVersion::One, "1.1"),
        (format!("https://localhost:{old}"), HttpVersion::Auto, "1.1"),
        (format!("https://localhost:{silent}"), HttpVersion::Auto, "1.1"),
        (format!("http://127.0.0.1:{plain}"), HttpVersion::Two, "2"),
    ] {
        let dial = dial(&url, &DialOptions { http, ..trusting() }).await;
        assert_eq!(dial.probe().await.unwrap().http, want, "{url} {http:?}");
        let reply = fetch(&dial, &head(&url), "/v1/models", None, FetchLimits::default()).await.unwrap();
        let seen = reply.header("x-seen").unwrap().to_owned();
        let host = reply.header("x-host").unwrap();
        if want == "2" {
            assert_eq!((seen, host), (format!("HTTP/2.0 GET {url}/v1/models"), "-"));
        } else {
            let authority = base(&url).authority();
            assert_eq!((seen.as_str(), host), ("HTTP/1.1 GET /v1/models", authority.as_str()));
        }
    }
}

#[tokio::test]
async fn a_server_without_it_is_told_as_such() {
    let old = server("127.0.0.1", Some(acceptor("server", &["http/1.1"], false)), false).await;
    let silent = server("127.0.0.1", Some(acceptor("server", &[], false)), false).await;
    let plain = server("127.0.0.1", None, false).await;
    for url in [
        format!("https://localhost:{old}"),
        format!("https://localhost:{silent}"),
        format!("http://127.0.0.1:{plain}"),
    ] {
        let error = dial(&url, &two()).await.probe().await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_connect() && text.contains("HTTP") && text.contains("--http"), "{url}: {text}");
    }
}

#[tokio::test]
async fn thousands_of_events_arrive_whole_and_in_order() {
    let tls = server("127.0.0.1", Some(acceptor("server", &["h2"], false)), false).await;
    let plain = server("127.0.0.1", None, true).await;
    for url in [format!("https://localhost:{tls}"), format!("http://127.0.0.1:{plain}")] {
        let mut slot = slot(&url, dial(&url, &two()).await, "/v1/chat/completions?8000");
        for n in 0..3 {
            let trace = post(&mut slot).await;
            assert_eq!((trace.outcome, trace.output_tokens), (Some(Outcome::Ok), Some(8000)));
            let numbers = trace.text.split_ascii_whitespace().map(|number| number.parse::<u32>().unwrap());
            assert!(numbers.eq(0..8000), "{}", trace.text);
            let tokens = trace.events.iter().filter(|event| event.kind == EventKind::Content);
            assert_eq!(tokens.count(), 8000);
            assert!(trace.events.is_sorted_by_key(|event| event.at_ns));
            assert_eq!(trace.conn.reused, n > 0);
            assert_eq!(trace.conn.tls_ns.is_some(), n == 0 && url.starts_with("https"));
        }
    }
}

/// Answers each request after 5 ms with events 10 ms apart.
fn paced(pipe: DuplexStream) {
    let answer = async |_: Request<Incoming>| {
        sleep(Duration::from_millis(5)).await;
        Ok::<_, Infallible>(Response::new(Events::new(5, Duration::from_millis(10))))
    };
    tokio::spawn(async move {
        let builder = hyper::server::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new());
        let _ = builder.serve_connection(TokioIo::new(pipe), service_fn(answer)).await;
    });
}

#[tokio::test(start_paused = true)]
async fn every_event_is_stamped_when_it_was_read() {
    let mut slot = memory_slot(paced);
    let clock = Clock::start();
    for n in 0..3_u64 {
        let begun = clock.now();
        let mut trace = Trace::default();
        slot.post(Bytes::from_static(b"{}"), clock, &mut trace).await;
        assert_eq!(trace.outcome, Some(Outcome::Ok), "{n}");
        let after = |stamp: Option<Nanos>| (stamp.unwrap() - begun).0 / 1_000_000;
        assert_eq!((after(trace.sent), after(trace.head), after(trace.first_token)), (0, 5, 15));
        let events: Vec<_> =
            trace.events.iter().map(|event| (after(Some(event.at_ns)), event.coalesced)).collect();
        let want = [(15, false), (25, false), (35, false), (45, false), (55, false), (65, false), (65, true)];
        assert_eq!(events, want);
        assert_eq!(trace.conn.reused, n > 0);
        assert_eq!(trace.client_lag, Nanos::ZERO);
    }
}

const TOKEN: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
const DONE: &[u8] = b"data: [DONE]\n\n";

/// What a server does to its third request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    ResetBeforeHead,
    ResetInStream,
    GoAwayBeforeHead,
    CloseBeforeHead,
    CloseInStream,
    /// After the second answer, when nobody waits.
    GoAwayIdle,
    CloseIdle,
}

fn start(response: &mut SendResponse<Bytes>) -> SendStream<Bytes> {
    let mut stream = response.send_response(Response::new(()), false).unwrap();
    stream.send_data(Bytes::from_static(TOKEN), false).unwrap();
    stream
}

fn faulty(pipe: DuplexStream, fault: Fault) {
    tokio::spawn(async move {
        let mut connection = h2::server::handshake(pipe).await.unwrap();
        let mut kept = Vec::new();
        let mut served = 0;
        while let Some(Ok((_, mut response))) = connection.accept().await {
            served += 1;
            if served < 3 {
                start(&mut response).send_data(Bytes::from_static(DONE), true).unwrap();
                if served < 2 {
                    continue;
                }
                match fault {
                    Fault::GoAwayIdle => connection.graceful_shutdown(),
                    Fault::CloseIdle => {
                        // Until the answer is flushed.
                        let _ = tokio::time::timeout(
                            Duration::from_millis(1),
                            poll_fn(|cx| connection.poll_closed(cx)),
                        )
                        .await;
                        return;
                    }
                    _ => {}
                }
                continue;
            }
            match fault {
                Fault::ResetBeforeHead => response.send_reset(Reason::INTERNAL_ERROR),
                Fault::ResetInStream => {
                    let mut stream = start(&mut response);
                    let flush = tokio::time::timeout(
                        Duration::from_millis(1),
                        poll_fn(|cx| connection.poll_closed(cx)),
                    );
                    assert!(flush.await.is_err());
                    stream.send_reset(Reason::INTERNAL_ERROR);
                }
                Fault::GoAwayBeforeHead => connection.abrupt_shutdown(Reason::INTERNAL_ERROR),
                Fault::CloseInStream => {
                    kept.push(start(&mut response));
                    let _ = tokio::time::timeout(
                        Duration::from_millis(1),
                        poll_fn(|cx| connection.poll_closed(cx)),
                    )
                    .await;
                    return;
                }
                _ => return,
            }
        }
    });
}

#[tokio::test(start_paused = true)]
async fn what_ends_a_stream_or_a_connection_has_its_own_outcome() {
    for (fault, kind, text) in [
        (Fault::ResetBeforeHead, Some(FailureKind::Reset), ""),
        (Fault::ResetInStream, Some(FailureKind::Reset), "x"),
        (Fault::GoAwayBeforeHead, Some(FailureKind::Closed), ""),
        (Fault::CloseBeforeHead, Some(FailureKind::Closed), ""),
        (Fault::CloseInStream, Some(FailureKind::Truncated), "x"),
        (Fault::GoAwayIdle, None, "x"),
        (Fault::CloseIdle, None, "x"),
    ] {
        let mut slot = memory_slot(move |pipe| faulty(pipe, fault));
        let mut traces = Vec::new();
        for _ in 0..3 {
            traces.push(post(&mut slot).await);
            sleep(Duration::from_millis(10)).await;
        }
        let reused: Vec<_> = traces.iter().map(|trace| trace.conn.reused).collect();
        let third = &traces[2];
        assert_eq!((failure(third), third.text.as_str()), (kind, text), "{fault:?}: {:?}", third.outcome);
        assert_eq!(reused, [false, true, kind.is_some()], "{fault:?}");
        assert!(traces[..2].iter().all(|trace| trace.outcome == Some(Outcome::Ok)), "{fault:?}");
    }
}
