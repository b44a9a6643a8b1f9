use crate::{Proxy, TransportError, io::SensorIo};
use plimsoll_record::FailureKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Longest head of a proxy's answer, bytes.
const HEAD: usize = 16 << 10;

/// Has the proxy open a tunnel to `authority` (RFC 9110, 9.3.6).
pub async fn open(io: &mut SensorIo, proxy: &Proxy, authority: &str) -> Result<(), TransportError> {
    let failed = |reason: &str| {
        TransportError::new(
            FailureKind::Connect,
            format!("the proxy {proxy} opens no connection to {authority}: {reason}"),
        )
    };
    let credentials = proxy.credentials();
    let header = credentials
        .map_or_else(String::new, |credentials| format!("Proxy-Authorization: {}\r\n", credentials.expose()));
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{header}\r\n");
    let io_failed = |error: std::io::Error| failed(&error.to_string());
    io.write_all(request.as_bytes()).await.map_err(io_failed)?;
    io.flush().await.map_err(io_failed)?;
    let mut head = Vec::new();
    // One byte at a time: the bytes after the head are the server's already.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD {
            return Err(failed("the head of its answer is too long"));
        }
        head.push(io.read_u8().await.map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => failed("it closed the connection"),
            _ => io_failed(error),
        })?);
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line: String = String::from_utf8_lossy(line).chars().filter(|c| !c.is_control()).take(200).collect();
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
    match status {
        Some(200..=299) => Ok(()),
        Some(407) => Err(failed(
            "it asks for credentials (HTTP 407); put http://user:password@host:port into an environment variable and write --proxy env:NAME",
        )),
        Some(_) => {
            let mut line = line;
            if let Some(credentials) = credentials {
                credentials.blot(&mut line);
            }
            Err(failed(&line))
        }
        None => Err(failed("its answer is not HTTP/1.1; is it an HTTP proxy?")),
    }
}
