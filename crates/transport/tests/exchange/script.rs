//! A server over an in-memory pipe that plays a script.

use bytes::Bytes;
use plimsoll_record::{FailureKind, Nanos, Outcome};
use plimsoll_transport::{Clock, Dial, Head, Limits, MemoryDial, Slot, Trace};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    sync::mpsc,
    time::sleep,
};

/// What the server does on one connection: waits, writes, or waits for a whole request.
#[derive(Clone, Debug)]
pub enum Step {
    Request,
    Wait(u64),
    Write(String),
    Hang,
}

pub fn write(text: &str) -> Step {
    Step::Write(text.to_owned())
}

pub fn event(json: &str) -> Step {
    let data = format!("data: {json}\n\n");
    Step::Write(format!("{:x}\r\n{data}\r\n", data.len()))
}

pub const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
pub const END: &str = "0\r\n\r\n";

pub fn delta(text: &str) -> Step {
    event(&format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#))
}

pub fn finish() -> Step {
    event(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#)
}

async fn serve(mut pipe: DuplexStream, script: Vec<Step>) {
    for step in script {
        match step {
            Step::Request => read_request(&mut pipe).await,
            Step::Wait(ms) => sleep(Duration::from_millis(ms)).await,
            Step::Write(text) => pipe.write_all(text.as_bytes()).await.unwrap(),
            Step::Hang => std::future::pending().await,
        }
    }
}

async fn read_request(pipe: &mut DuplexStream) {
    let mut seen = Vec::new();
    loop {
        seen.push(pipe.read_u8().await.unwrap());
        if seen.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&seen).to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap().split('\r').next().unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            pipe.read_exact(&mut body).await.unwrap();
            return;
        }
    }
}

/// A slot whose connections are served by these scripts, one each.
pub fn slot(scripts: Vec<Vec<Step>>) -> Slot {
    slot_with(scripts, Limits::default())
}

pub fn slot_with(scripts: Vec<Vec<Step>>, limits: Limits) -> Slot {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for script in scripts {
            let Some(pipe) = receiver.recv().await else { return };
            tokio::spawn(serve(pipe, script));
        }
        std::future::pending::<()>().await;
    });
    let dial = MemoryDial::new(move || {
        let (client, server) = tokio::io::duplex(1 << 16);
        sender.send(server).unwrap();
        client
    });
    Slot::new(Dial::Memory(dial), Head::new("test", None).unwrap(), "/v1/chat/completions", limits).unwrap()
}

pub async fn post(slot: &mut Slot, clock: Clock) -> Trace {
    let mut trace = Trace::default();
    slot.post(Bytes::from_static(b"{}"), clock, &mut trace).await;
    trace
}

pub async fn one(script: Vec<Step>) -> Trace {
    post(&mut slot(vec![script]), Clock::start()).await
}

pub fn failure(trace: &Trace) -> (FailureKind, &str) {
    match trace.outcome.as_ref().unwrap() {
        Outcome::Failed { kind, message } => (*kind, message),
        Outcome::Ok => panic!("{trace:?}"),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "stamps of a trace are optional")]
pub fn ms(ms: u64) -> Option<Nanos> {
    Some(Nanos::from_millis(ms))
}
