//! Real sockets: the kernel's stamps, and reads of any size.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use bytes::Bytes;
use plimsoll_record::{EventKind, Nanos, Outcome};
use plimsoll_transport::{Clock, Dial, Head, Limits, MemoryDial, Slot, Trace};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::Duration,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const LONE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn event(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// Serves connections one after the other, each with what `serve` does with it after a request. Closes every other one
/// after its first, if so asked.
fn server(closes: bool, serve: impl Fn(&mut TcpStream, usize) + Send + 'static) -> Dial {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, socket) in listener.incoming().enumerate() {
            let mut socket = socket.unwrap();
            socket.set_nodelay(true).unwrap();
            while socket.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                serve(&mut socket, number);
                if closes && number.is_multiple_of(2) {
                    break;
                }
            }
        }
    });
    Dial::Tcp(vec![address])
}

fn slot(dial: Dial) -> Slot {
    Slot::new(dial, Head::new("test", None).unwrap(), "/v1/chat/completions", Limits::default()).unwrap()
}

async fn post(slot: &mut Slot) -> Trace {
    let mut trace = Trace::default();
    slot.post(Bytes::from_static(b"{}"), Clock::start(), &mut trace).await;
    trace
}

/// Cuts into pieces whose sizes seem random.
fn pieces(mut bytes: &[u8], seed: u64, most: usize) -> Vec<&[u8]> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (piece, rest) = bytes.split_at(((state >> 33) as usize % most + 1).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// What does not depend on time or on how bytes were cut.
fn essence(trace: &Trace) -> (Vec<EventKind>, String, Option<Outcome>) {
    (trace.events.iter().map(|event| event.kind).collect(), trace.text.clone(), trace.outcome.clone())
}

/// The same bytes over a pipe in memory, which no system call reads.
async fn over_memory(whole: String) -> Trace {
    let dial = MemoryDial::new(move || {
        let (client, mut server) = tokio::io::duplex(1 << 12);
        let whole = whole.clone();
        tokio::spawn(async move {
            let _ = server.read(&mut [0; 4096]).await.unwrap();
            let _ = server.write_all(whole.as_bytes()).await;
        });
        client
    });
    post(&mut slot(Dial::Memory(dial))).await
}

#[tokio::test]
async fn reads_of_any_size_give_what_a_pipe_gives() {
    let long = "word ".repeat(60_000);
    let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let events: Vec<String> =
        (0..40).map(|index| event(&format!("{index} "))).chain([event(&long), event("end")]).collect();
    let chunked: String =
        events.iter().map(String::as_str).chain([finish, "data: [DONE]\n\n"]).map(chunk).collect();
    // The end of the stream is the end of the connection, and comes with the last bytes or after them.
    let bodies = [format!("{HEAD}{chunked}0\r\n\r\n"), format!("{LONE}{}{finish}", events.concat())];
    let torn = format!("{HEAD}{}", chunk(&event("cut")));
    for (index, whole) in bodies.into_iter().chain([torn]).enumerate() {
        let want = essence(&over_memory(whole.clone()).await);
        assert_eq!(want.0.len(), [44, 43, 1][index]);
        for seed in 0..12 {
            let bytes = whole.clone();
            let most = [7, 300, 9000, 1 << 20][seed % 4].max(whole.len() / 2000);
            let dial = server(true, move |socket, _| {
                for piece in pieces(bytes.as_bytes(), seed as u64, most) {
                    socket.write_all(piece).unwrap();
                }
            });
            let got = essence(&post(&mut slot(dial)).await);
            assert_eq!(got.0, want.0, "body {index}, seed {seed}");
            assert!(got == want, "body {index}, seed {seed}: the text or the outcome differs");
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn bytes_that_wait_in_the_kernel_are_seen_to_wait() {
    let (asked, requests) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let answer = [HEAD.to_owned(), chunk(&event("x")), chunk("data: [DONE]\n\n"), "0\r\n\r\n".to_owned()];
    let dial = server(false, move |socket, _| {
        asked.send(()).unwrap();
        let () = wait.recv().unwrap();
        for piece in &answer {
            socket.write_all(piece.as_bytes()).unwrap();
        }
    });
    let clock = Clock::start();
    let mut slot = slot(dial);
    let mut trace = Trace::default();
    // The kernel begins to stamp a moment after it was asked for the first time.
    for _ in 0..500 {
        go.send(()).unwrap();
        trace = post(&mut slot).await;
        assert_eq!(trace.outcome, Some(Outcome::Ok));
        requests.recv().unwrap();
        if trace.kernel_lag.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let lag = trace.kernel_lag.expect("this kernel does not stamp what it receives");
    assert!(lag > Nanos::ZERO && lag <= clock.now(), "{lag:?}");
    // The thread is busy with something else while the answer comes.
    let busy = Duration::from_millis(60);
    let blocked = async {
        while requests.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        go.send(()).unwrap();
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < busy {
            std::thread::park_timeout(busy);
        }
    };
    let (late, ()) = tokio::join!(post(&mut slot), blocked);
    assert_eq!(late.outcome, Some(Outcome::Ok));
    let lag = late.kernel_lag.unwrap();
    // The server may have needed a part of that time to begin.
    assert!(lag.0 >= busy.as_nanos() as u64 / 4, "{lag:?}");
    assert!(late.client_lag < lag, "the client's own stamps see nothing of it");
}
