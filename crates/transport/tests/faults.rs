//! Faults of servers and of what stands between, one kind each: whatever the bytes do, the outcome is of its own kind,
//! what came is kept, and no request is sent twice.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

use bytes::Bytes;
use plimsoll_record::{FailureKind, Outcome};
use plimsoll_transport::{Clock, Dial, Head, Limits, MemoryDial, Slot, TimeLimits, Trace};
use proptest::prelude::*;
use rustix::net::sockopt::set_socket_linger;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    time::sleep,
};

const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"tide \"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn head(more: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{more}\r\n")
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A whole chunked answer of these events.
fn chunked(events: &[&str]) -> String {
    let body: String = events.iter().map(|event| chunk(event)).collect();
    format!("{}{body}0\r\n\r\n", head("transfer-encoding: chunked\r\n"))
}

/// A server in memory: on its `n`-th connection it answers each request with the next of `answers[n]`, then closes.
struct Server {
    slot: Slot,
    connections: Arc<AtomicUsize>,
    heads: Arc<std::sync::Mutex<Vec<String>>>,
}

fn server(answers: &[&[String]], limits: Limits) -> Server {
    let answers: Vec<Vec<String>> = answers.iter().map(|answers| answers.to_vec()).collect();
    let connections = Arc::new(AtomicUsize::new(0));
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (counted, seen) = (Arc::clone(&connections), Arc::clone(&heads));
    let dial = MemoryDial::new(move || {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        let (client, server) = tokio::io::duplex(1 << 16);
        let script = answers.get(number).or(answers.last()).cloned().unwrap_or_default();
        tokio::spawn(serve(server, script, Arc::clone(&seen)));
        client
    });
    let slot =
        Slot::new(Dial::Memory(dial), Head::new("test", None).unwrap(), "/v1/chat/completions", limits)
            .unwrap();
    Server { slot, connections, heads }
}

async fn serve(mut pipe: DuplexStream, script: Vec<String>, heads: Arc<std::sync::Mutex<Vec<String>>>) {
    for answer in script {
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n{}") {
            let Ok(byte) = pipe.read_u8().await else { return };
            seen.push(byte);
        }
        heads.lock().unwrap().push(String::from_utf8_lossy(&seen).to_ascii_lowercase());
        // A client that has seen enough goes away.
        let _ = pipe.write_all(answer.as_bytes()).await;
    }
}

async fn post(slot: &mut Slot) -> Trace {
    let mut trace = Trace::default();
    slot.post(Bytes::from_static(b"{}"), Clock::start(), &mut trace).await;
    trace
}

async fn one(answer: String) -> Trace {
    post(&mut server(&[&[answer]], Limits::default()).slot).await
}

#[track_caller]
fn failure(trace: &Trace) -> FailureKind {
    match trace.outcome.as_ref().unwrap() {
        Outcome::Failed { kind, message } => {
            assert!(!message.trim().is_empty(), "{kind} without a reason");
            *kind
        }
        Outcome::Ok => panic!("{trace:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_shorter_than_its_length_is_truncated() {
    let body = [TOKEN, "data: {\"choices\":[{\"del"].concat();
    let trace = one(head(&format!("content-length: {}\r\n", body.len() + 400)) + &body).await;
    assert_eq!((failure(&trace), trace.text.as_str()), (FailureKind::Truncated, "tide "));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_connection_ends_a_body_that_has_no_other_end() {
    let whole = one(head("connection: close\r\n") + TOKEN + FINISH).await;
    assert_eq!((whole.outcome, whole.text.as_str()), (Some(Outcome::Ok), "tide "));
    let cut = one(head("connection: close\r\n") + TOKEN + TOKEN).await;
    assert_eq!((failure(&cut), cut.text.as_str()), (FailureKind::Truncated, "tide tide "));
}

#[tokio::test(start_paused = true)]
async fn nothing_counts_after_the_end_and_the_next_request_gets_its_own_answer() {
    let late = "data: {\"choices\":[{\"delta\":{\"content\":\"late\"}}]}\n\n";
    let first = chunked(&[TOKEN, FINISH, DONE, late, ": bye\n\n", DONE]);
    let second = chunked(&[TOKEN, TOKEN, FINISH, DONE]);
    let mut server = server(&[&[first, second.clone()], &[second]], Limits::default());
    let trace = post(&mut server.slot).await;
    assert_eq!((trace.outcome, trace.text.as_str()), (Some(Outcome::Ok), "tide "));
    let trace = post(&mut server.slot).await;
    assert_eq!((trace.outcome, trace.text.as_str()), (Some(Outcome::Ok), "tide tide "));
}

#[tokio::test(start_paused = true)]
async fn the_last_text_may_ride_on_the_finish_and_a_delta_may_be_null() {
    let odd =
        "data: {\"choices\":[{\"delta\":null}]}\n\ndata: {\"choices\":null}\n\ndata: {\"id\":\"x\"}\n\n";
    let last = "data: {\"choices\":[{\"delta\":{\"content\":\"out\"},\"finish_reason\":\"length\"}]}\n\n";
    let trace = one(chunked(&[odd, TOKEN, odd, last, odd, DONE])).await;
    assert_eq!((trace.outcome, trace.text.as_str(), trace.malformed), (Some(Outcome::Ok), "tide out", 0));
    assert_eq!(trace.finish_reason.as_deref(), Some("length"));
    assert_eq!(trace.events.iter().filter(|event| event.kind.is_text()).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn lines_of_json_are_no_event_stream() {
    let lines = "{\"message\":{\"content\":\"tide\"},\"done\":false}\n{\"done\":true}\n";
    let trace = one(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n{lines}",
        lines.len()
    ))
    .await;
    assert_eq!((failure(&trace), trace.first_token), (FailureKind::BadPayload, None));
}

#[tokio::test(start_paused = true)]
async fn without_a_key_there_is_no_authorization() {
    let mut server = server(&[&[chunked(&[TOKEN, FINISH, DONE])]], Limits::default());
    post(&mut server.slot).await;
    let heads = server.heads.lock().unwrap();
    assert!(
        !heads[0].contains("authorization") && !heads[0].contains("accept-encoding: gzip"),
        "{}",
        heads[0]
    );
}

/// It promises to keep the connection and closes it in silence. Who notices once sends nothing more into such a close.
#[tokio::test(start_paused = true)]
async fn a_server_that_closes_in_silence_is_not_trusted_again() {
    let answer = chunked(&[TOKEN, FINISH, DONE]);
    let patient = [answer.clone(), answer.clone(), answer.clone()];
    let mut closing = server(&[std::slice::from_ref(&answer), &patient], Limits::default());
    for number in 1..=4 {
        let trace = post(&mut closing.slot).await;
        assert_eq!((trace.outcome, trace.conn.reused), (Some(Outcome::Ok), false), "request {number}");
        sleep(Duration::from_millis(1)).await;
        assert_eq!(closing.connections.load(Ordering::Relaxed), number);
    }
    // Told so from the start, it never tries.
    let mut told = server(&[&patient], Limits { reuse: false, ..Limits::default() });
    for _ in 0..3 {
        assert!(!post(&mut told.slot).await.conn.reused);
    }
    assert_eq!(told.connections.load(Ordering::Relaxed), 3);
}

/// A connection that waited in vain for long is another matter: there the next one may be kept.
#[tokio::test(start_paused = true)]
async fn a_server_that_tires_of_an_idle_connection_is_trusted_with_the_next() {
    let answer = chunked(&[TOKEN, FINISH, DONE]);
    let mut tired =
        server(&[std::slice::from_ref(&answer), &[answer.clone(), answer.clone()]], Limits::default());
    let mut reused = Vec::new();
    for _ in 0..3 {
        reused.push(post(&mut tired.slot).await.conn.reused);
        sleep(Duration::from_secs(5)).await;
    }
    assert_eq!(reused, [false, false, true]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Chunk extensions, sizes in either case and with zeros, trailers and interim answers carry nothing.
    #[test]
    fn framing_does_not_matter(
        interim in prop::collection::vec(prop::sample::select(vec!["100 Continue", "102 Processing", "103 Early Hints"]), 0..4),
        extension in prop::sample::select(vec!["", ";a", ";src=\"a;b\"", ";n=1;m=2"]),
        zeros in 0_usize..4,
        upper in any::<bool>(),
        trailers in prop::sample::select(vec!["", "x-tokens: 2\r\n", "server-timing: gen;dur=150\r\nx: y\r\n"]),
        tokens in 1_usize..20,
    ) {
        let mut parts: Vec<String> = interim.iter().map(|status| format!("HTTP/1.1 {status}\r\nlink: </x>\r\n\r\n")).collect();
        parts.push(head("transfer-encoding: chunked\r\n"));
        let events: Vec<String> = (0..tokens).map(|_| TOKEN.to_owned()).chain([FINISH.to_owned(), DONE.to_owned()]).collect();
        for event in &events {
            let size = if upper { format!("{:X}", event.len()) } else { format!("{:x}", event.len()) };
            parts.push(format!("{}{size}{extension}\r\n{event}\r\n", "0".repeat(zeros)));
        }
        parts.push(format!("0{extension}\r\n{trailers}\r\n"));
        let answer = parts.concat();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut server = server(&[&[answer.clone(), answer]], Limits::default());
            for reused in [false, true] {
                let trace = post(&mut server.slot).await;
                prop_assert_eq!(&trace.outcome, &Some(Outcome::Ok));
                prop_assert_eq!((trace.http_status, trace.conn.reused), (Some(200), reused));
                prop_assert_eq!(trace.text, "tide ".repeat(tokens));
            }
            prop_assert_eq!(server.heads.lock().unwrap().len(), 2);
            Ok(())
        })?;
    }
}

/// A server on a socket: reads the request, writes what `answer` says, and is done with it.
fn on_a_socket(answer: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        assert!(socket.read(&mut [0; 4096]).unwrap() > 0);
        answer(socket);
    });
    address
}

async fn over_a_socket(limits: Limits, answer: impl FnOnce(TcpStream) + Send + 'static) -> Trace {
    let dial = Dial::Tcp(vec![on_a_socket(answer)]);
    post(&mut Slot::new(dial, Head::new("test", None).unwrap(), "/", limits).unwrap()).await
}

/// Closes with a reset instead of an orderly end.
fn reset(socket: TcpStream) {
    set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
    drop(socket);
}

#[tokio::test]
async fn a_reset_is_a_failure_of_its_own_and_keeps_what_came() {
    let early = over_a_socket(Limits::default(), reset).await;
    assert_eq!((failure(&early), early.http_status), (FailureKind::Reset, None));
    let (told, heard) = std::sync::mpsc::channel();
    let answer = move |mut socket: TcpStream| {
        socket.write_all((head("transfer-encoding: chunked\r\n") + &chunk(TOKEN)).as_bytes()).unwrap();
        // Not before the client has read it: a reset discards what is under way.
        heard.recv().unwrap();
        reset(socket);
    };
    let dial = Dial::Tcp(vec![on_a_socket(answer)]);
    let mut slot = Slot::new(dial, Head::new("test", None).unwrap(), "/", Limits::default()).unwrap();
    let (mut trace, clock) = (Trace::default(), Clock::start());
    {
        let mut post = std::pin::pin!(slot.post(Bytes::from_static(b"{}"), clock, &mut trace));
        tokio::select! {
            biased;
            () = &mut post => panic!("over before the reset"),
            () = sleep(Duration::from_millis(300)) => {}
        }
        told.send(()).unwrap();
        post.await;
    }
    assert_eq!(
        (failure(&trace), trace.text.as_str(), trace.http_status),
        (FailureKind::Reset, "tide ", Some(200))
    );
    assert!(trace.first_token.is_some());
}

/// One read holds thousands of its chunks, and there is always another to read.
#[test]
fn time_passes_while_a_server_never_pauses() {
    let total = Duration::from_millis(200);
    let limits = Limits { time: TimeLimits { total, ..TimeLimits::default() }, ..Limits::default() };
    let (sender, receiver) = std::sync::mpsc::channel();
    // On a thread of its own: a client that hangs would hang its runtime, and every timer there.
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let trace = runtime.block_on(over_a_socket(limits, |mut socket| {
            let many = "1\r\n:\r\n1\r\n\n\r\n".repeat(4096);
            let mut text = head("transfer-encoding: chunked\r\n");
            while socket.write_all(text.as_bytes()).is_ok() {
                text.clone_from(&many);
            }
        }));
        sender.send(trace).unwrap();
    });
    let trace = receiver.recv_timeout(Duration::from_mins(1)).unwrap();
    assert_eq!(failure(&trace), FailureKind::Timeout);
}
