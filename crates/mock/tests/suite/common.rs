//! A raw HTTP client over an in-memory stream, and readers of captures.

use plimsoll_mock::{Faults, Mock, MockConfig};
use plimsoll_record::{MockEngine, Span};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

/// The engine that the captures were made with, as far as its replies show; whole-millisecond times, so that
/// planned and actual instants are the same under a paused clock.
pub fn tiny() -> MockEngine {
    MockEngine {
        model: "tiny".to_owned(),
        max_model_len: 2048,
        max_num_seqs: 4,
        prefill_base: Span::from_millis(10),
        prefill_per_token: Span::from_millis(1),
        decode_base: Span::from_millis(4),
        decode_per_seq: Span::from_millis(1),
        ..MockEngine::default()
    }
}

pub fn mock_with(engine: MockEngine, faults: Faults) -> Mock {
    Mock::new(MockConfig { engine, api_key: None, faults }, Instant::now()).unwrap()
}

pub fn mock() -> Mock {
    mock_with(tiny(), Faults::default())
}

/// One connection.
pub struct Client {
    io: DuplexStream,
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    /// The chunks of a chunked body with the instant of the read that completed them; else the one body.
    pub chunks: Vec<(Instant, String)>,
    /// False when the body broke off.
    pub complete: bool,
}

impl Response {
    pub fn body(&self) -> String {
        self.chunks.iter().map(|(_, chunk)| chunk.as_str()).collect()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body()).unwrap()
    }

    /// Payloads of the events; one event a chunk.
    pub fn events(&self) -> Vec<String> {
        self.chunks.iter().map(|(_, chunk)| payload(chunk)).collect()
    }

    /// Payloads as JSON, without `[DONE]`.
    pub fn json_events(&self) -> Vec<Value> {
        let events = self.events().into_iter().filter(|event| event != "[DONE]");
        events.map(|event| serde_json::from_str(&event).unwrap()).collect()
    }
}

pub fn payload(event: &str) -> String {
    event.strip_prefix("data: ").and_then(|text| text.strip_suffix("\n\n")).unwrap().to_owned()
}

impl Client {
    pub fn connect(mock: &Mock) -> Self {
        let (io, server) = duplex(64 << 10);
        let mock = mock.clone();
        tokio::spawn(async move { mock.serve_stream(server).await });
        Self { io, buffer: Vec::new() }
    }

    pub async fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, "", "").await;
        self.receive().await
    }

    pub async fn post(&mut self, path: &str, body: &str) -> Response {
        self.send("POST", path, "content-type: application/json\r\n", body).await;
        self.receive().await
    }

    pub async fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: mock\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        self.io.write_all(text.as_bytes()).await.unwrap();
    }

    pub async fn send_raw(&mut self, text: &str) {
        self.io.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the buffer holds `n` bytes; false at the end of the stream.
    async fn fill(&mut self, n: usize) -> bool {
        while self.buffer.len() < n {
            if self.io.read_buf(&mut self.buffer).await.unwrap_or(0) == 0 {
                return false;
            }
        }
        true
    }

    async fn line(&mut self) -> Option<String> {
        let mut seen = 0;
        loop {
            if let Some(at) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8(self.buffer.drain(..at + 2).collect()).unwrap();
                return Some(line.trim_end().to_owned());
            }
            seen = self.buffer.len().max(seen);
            if !self.fill(seen + 1).await {
                return None;
            }
        }
    }

    async fn take(&mut self, n: usize) -> Option<String> {
        self.fill(n).await.then(|| String::from_utf8(self.buffer.drain(..n).collect()).unwrap())
    }

    pub async fn receive(&mut self) -> Response {
        let status_line = self.line().await.expect("a status line");
        let status = status_line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line().await.unwrap();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let mut chunks = Vec::new();
        let mut complete = true;
        if let Some(length) = headers.get("content-length") {
            let body = self.take(length.parse().unwrap()).await;
            chunks.push((Instant::now(), body.unwrap()));
        } else {
            loop {
                let Some(line) = self.line().await else {
                    complete = false;
                    break;
                };
                let size = usize::from_str_radix(&line, 16).unwrap();
                let Some(chunk) = self.take(size).await else {
                    complete = false;
                    break;
                };
                let at = Instant::now();
                self.take(2).await.unwrap();
                if size == 0 {
                    break;
                }
                chunks.push((at, chunk));
            }
        }
        Response { status, headers, chunks, complete }
    }

    /// Reads the head and this many chunks, then closes the connection.
    pub async fn hang_up_after(mut self, chunks: usize) {
        while self.line().await.is_some_and(|line| !line.is_empty()) {}
        for _ in 0..chunks {
            let size = usize::from_str_radix(&self.line().await.unwrap(), 16).unwrap();
            self.take(size + 2).await.unwrap();
        }
    }
}

/// A captured exchange: status, headers, body with the chunked framing removed.
pub struct Capture {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

pub fn capture_text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vllm-0.32.0").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn capture(name: &str) -> Capture {
    let text = capture_text(name);
    let (head, mut rest) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut body = String::new();
    if headers.contains_key("transfer-encoding") {
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            if size == 0 {
                break;
            }
            body.push_str(&after[..size]);
            rest = &after[size + 2..];
        }
    } else {
        body.push_str(rest);
    }
    Capture { status, headers, body }
}

/// Keys and types of a value; an object's keys sorted.
pub fn shape(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{key}:{}", shape(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
    }
}
