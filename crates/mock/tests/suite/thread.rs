//! The mock on a thread of its own, over TCP.

use plimsoll_mock::{MockConfig, spawn_thread, spawn_thread_at};
use std::io::{Read, Write};
use std::net::TcpStream;
use tokio::time::Instant;

fn post(addr: std::net::SocketAddr, body: &str) -> String {
    let mut stream = TcpStream::connect(addr).unwrap();
    let length = body.len();
    let head =
        "POST /v1/completions HTTP/1.1\r\nhost: mock\r\nconnection: close\r\ncontent-type: application/json";
    write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn it_serves_streams_and_stops() {
    let mock = spawn_thread(MockConfig::default(), Instant::now()).unwrap();
    let text = post(mock.addr(), r#"{"prompt":"one two","max_tokens":3,"stream":true}"#);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert_eq!(text.matches("data: ").count(), 4);
    let taken = spawn_thread_at(MockConfig::default(), Instant::now(), mock.addr()).unwrap_err();
    assert!(taken.to_string().contains("address"), "{taken}");
    let addr = mock.addr();
    let ledger = mock.stop();
    assert_eq!(ledger.requests.len(), 1);
    let tokens = &ledger.requests[0].tokens;
    assert!(tokens.iter().all(|token| token.actual >= token.planned), "{tokens:?}");
    assert!(TcpStream::connect(addr).is_err());
}

#[test]
fn an_engine_of_nothing_is_refused() {
    let mut config = MockConfig::default();
    config.engine.max_num_seqs = 0;
    let error = spawn_thread(config, Instant::now()).unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("max-num-seqs"));
}
