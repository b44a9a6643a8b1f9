//! Ways to a server: IPv6, unix sockets, proxies, names that do not exist.

#![cfg(all(feature = "tls", feature = "http2"))]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod common;

use common::{acceptor, base, dial, head, post, serve, server, slot, trusting};
use hyper_util::rt::TokioIo;
use plimsoll_record::{HttpVersion, Outcome};
use plimsoll_transport::{Dial, DialOptions, FetchLimits, Proxy, Reply, TransportError, fetch};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixListener},
};

async fn get(url: &str, options: &DialOptions) -> Result<Reply, TransportError> {
    let dial = Dial::resolve(&base(url), options).await?.dial;
    fetch(&dial, &head(url), "/v1/models", None, FetchLimits::default()).await
}

#[tokio::test]
async fn ipv6_addresses_stand_in_brackets() {
    if TcpListener::bind("[::1]:0").await.is_err() {
        println!("skipped 1 test: this host has no IPv6 loopback");
        return;
    }
    let plain = server("::1", None, false).await;
    let secure = server("::1", Some(acceptor("server", &["h2"], false)), false).await;
    let url = format!("http://[::1]:{plain}");
    let reply = get(&url, &trusting()).await.unwrap();
    assert_eq!(reply.header("x-host"), Some(format!("[::1]:{plain}").as_str()));
    let url = format!("https://[::1]:{secure}");
    let reply = get(&url, &trusting()).await.unwrap();
    assert_eq!(reply.header("x-seen"), Some(format!("HTTP/2.0 GET {url}/v1/models").as_str()));
}

#[tokio::test]
async fn a_unix_socket_stands_in_for_host_and_port() {
    let folder = std::env::temp_dir().join(format!("plimsoll-transport-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(TokioIo::new(socket), false));
        }
    });
    let options = DialOptions { unix_socket: Some(path.clone()), ..DialOptions::default() };
    let resolved = Dial::resolve(&base("http://no.such.host.invalid:8000"), &options).await.unwrap();
    assert_eq!(resolved.conditions().addresses, [path.display().to_string()]);
    assert!(resolved.dns.is_none());
    let mut slot = slot("http://h:8000", resolved.dial, "/v1/chat/completions?50");
    for n in 0..3 {
        let trace = post(&mut slot).await;
        assert_eq!((trace.outcome, trace.output_tokens), (Some(Outcome::Ok), Some(50)));
        assert_eq!(trace.conn.reused, n > 0);
    }
    let gone = DialOptions { unix_socket: Some(folder.join("none")), ..DialOptions::default() };
    let error = get("http://h", &gone).await.unwrap_err();
    assert!(error.is_connect() && error.to_string().contains("none"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn names_are_looked_up_once_and_a_wrong_one_is_named() {
    let port = server("127.0.0.1", None, false).await;
    let resolved = Dial::resolve(&base(&format!("http://localhost:{port}")), &trusting()).await.unwrap();
    let conditions = resolved.conditions();
    assert_eq!(conditions.url, format!("http://localhost:{port}"));
    assert!(conditions.addresses.contains(&format!("127.0.0.1:{port}")) && conditions.dns_ns.is_some());
    let mut conditions = conditions;
    resolved.dial.probe().await.unwrap().describe(&mut conditions);
    assert_eq!((conditions.http.as_deref(), conditions.tls), (Some("1.1"), None));
    let error = get("http://no.such.host.invalid:8000", &trusting()).await.unwrap_err();
    let text = error.to_string();
    assert!(error.is_connect() && text.contains("`no.such.host.invalid`"), "{text}");
}

/// A proxy that logs the heads it gets. With CONNECT it opens a tunnel, else it answers itself.
async fn proxy(refusal: Option<&'static str>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let log = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&log);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let heads = Arc::clone(&heads);
            tokio::spawn(async move {
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    head.push(char::from(socket.read_u8().await.unwrap()));
                }
                heads.lock().unwrap().push(head.clone());
                if let Some(refusal) = refusal {
                    socket.write_all(refusal.as_bytes()).await.unwrap();
                } else if let Some(rest) = head.strip_prefix("CONNECT ") {
                    let mut server = TcpStream::connect(rest.split(' ').next().unwrap()).await.unwrap();
                    socket.write_all(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n").await.unwrap();
                    let _ = copy_bidirectional(&mut socket, &mut server).await;
                } else {
                    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-via: proxy\r\n\r\nok";
                    socket.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (port, log)
}

fn through(port: u16, credentials: &str) -> DialOptions {
    let proxy = Proxy::new(&format!("http://{credentials}127.0.0.1:{port}")).unwrap();
    DialOptions { proxy: Some(proxy), ..trusting() }
}

/// `me:secret`, by Python's base64.b64encode.
const BASIC: &str = "Basic bWU6c2VjcmV0";

#[tokio::test]
async fn plain_requests_are_given_to_a_proxy_whole() {
    let (port, log) = proxy(None).await;
    // The name is the proxy's to look up.
    let reply = get("http://no.such.host.invalid:8000/prefix", &through(port, "")).await.unwrap();
    assert_eq!(reply.header("x-via"), Some("proxy"));
    let reply = get("http://[::1]:8000", &through(port, "me:secret@")).await.unwrap();
    assert_eq!(reply.status, 200);
    let log = log.lock().unwrap();
    assert!(log[0].starts_with("GET http://no.such.host.invalid:8000/v1/models HTTP/1.1\r\n"), "{}", log[0]);
    assert!(
        log[0].contains("host: no.such.host.invalid:8000\r\n") && !log[0].contains("proxy-auth"),
        "{}",
        log[0]
    );
    assert!(log[1].starts_with("GET http://[::1]:8000/v1/models "), "{}", log[1]);
    assert!(log[1].contains(&format!("proxy-authorization: {BASIC}\r\n")), "{}", log[1]);
}

#[tokio::test]
async fn tls_and_http2_go_through_a_tunnel() {
    let (port, log) = proxy(None).await;
    let secure = server("127.0.0.1", Some(acceptor("server", &["h2"], false)), false).await;
    let plain = server("127.0.0.1", None, true).await;
    let url = format!("https://localhost:{secure}");
    let options = through(port, "me:secret@");
    let resolved = Dial::resolve(&base(&url), &options).await.unwrap();
    assert_eq!(resolved.conditions().proxy, Some(format!("http://127.0.0.1:{port}")));
    let mut slot = slot(&url, resolved.dial, "/v1/chat/completions?200");
    for n in 0..2 {
        let trace = post(&mut slot).await;
        assert_eq!((trace.outcome, trace.output_tokens), (Some(Outcome::Ok), Some(200)));
        assert_eq!((trace.conn.reused, trace.conn.tls_ns.is_some()), (n > 0, n == 0));
    }
    let url = format!("http://127.0.0.1:{plain}");
    let reply = get(&url, &DialOptions { http: HttpVersion::Two, ..options }).await.unwrap();
    assert!(reply.header("x-seen").unwrap().starts_with("HTTP/2.0"));
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 2);
    let want = format!(
        "CONNECT localhost:{secure} HTTP/1.1\r\nHost: localhost:{secure}\r\nProxy-Authorization: {BASIC}\r\n\r\n"
    );
    assert_eq!(log[0], want);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_heard_and_credentials_are_not_shown() {
    for (answer, word) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "env:NAME"),
        ("HTTP/1.1 403 no Basic bWU6c2VjcmV0 here\r\n\r\n", "403 no *** here"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "is it an HTTP proxy"),
        ("", "closed the connection"),
    ] {
        let (port, _) = proxy(Some(answer)).await;
        let error = get("https://h.invalid", &through(port, "me:secret@")).await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_connect() && text.contains(word), "{text}");
        assert!(
            text.contains(&format!("http://127.0.0.1:{port}")) && text.contains("h.invalid:443"),
            "{text}"
        );
        assert!(!text.contains("secret") && !text.contains("bWU6c2VjcmV0"), "{text}");
    }
    let (port, _) =
        proxy(Some("HTTP/1.1 200 OK\r\nx-got: bWU6c2VjcmV0\r\ncontent-length: 18\r\n\r\nBasic bWU6c2VjcmV0"))
            .await;
    let reply = get("http://h.invalid", &through(port, "me:secret@")).await.unwrap();
    assert_eq!((&reply.body[..], reply.header("x-got")), (&b"***"[..], Some("***")));
}

#[tokio::test]
async fn a_proxy_and_a_unix_socket_exclude_each_other() {
    let options = DialOptions { unix_socket: Some("x".into()), ..through(1, "") };
    assert!(get("http://h", &options).await.unwrap_err().is_usage());
    let dial = dial("http://127.0.0.1:1", &trusting()).await;
    assert!(matches!(dial, Dial::Tcp(_)), "what needs no route has none");
}
