//! TLS against a real server: whom the client trusts, and what it says when it does not.

#![cfg(feature = "tls")]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod common;

use common::{acceptor, base, dial, fixture, head, post, server, slot, trusting};
use plimsoll_record::{HttpVersion, Outcome};
use plimsoll_transport::{Dial, DialOptions, FetchLimits, TlsOptions, TransportError, fetch};

async fn get(url: &str, options: &DialOptions) -> Result<u16, TransportError> {
    let dial = Dial::resolve(&base(url), options).await?.dial;
    Ok(fetch(&dial, &head(url), "/v1/models", None, FetchLimits::default()).await?.status)
}

async fn refused(url: &str, options: &DialOptions) -> String {
    let error = get(url, options).await.unwrap_err();
    let text = error.to_string();
    assert!(error.is_connect(), "{text}");
    assert!(text.lines().count() == 1 && text.len() < 600, "{text}");
    text
}

fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_for_names_and_addresses() {
    let port = server("127.0.0.1", Some(acceptor("server", &["http/1.1"], false)), false).await;
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}");
        assert_eq!(get(&url, &trusting()).await.unwrap(), 200, "{url}");
        let probe = dial(&url, &trusting()).await.probe().await.unwrap();
        assert_eq!((probe.http, probe.tls_version), ("1.1", Some("1.3")));
        assert!(probe.tls.is_some());
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_said() {
    let serve = async |name: &str| server("127.0.0.1", Some(acceptor(name, &[], false)), false).await;
    let (good, expired, elsewhere) =
        (serve("server").await, serve("expired").await, serve("elsewhere").await);
    let own = serve("self-signed").await;
    let stranger = TlsOptions { ca_file: Some(fixture("stranger.pem")), ..TlsOptions::default() };
    let stranger = DialOptions { tls: stranger, ..DialOptions::default() };

    let text = refused(&format!("https://localhost:{good}"), &stranger).await;
    has(&text, &[&format!("localhost:{good}"), "not trusted", "--ca-file", "--insecure"]);
    let text = refused(&format!("https://localhost:{expired}"), &trusting()).await;
    has(&text, &["expired", "days ago"]);
    let text = refused(&format!("https://localhost:{elsewhere}"), &trusting()).await;
    has(&text, &["localhost", "elsewhere.test", "--insecure"]);
    let text = refused(&format!("https://localhost:{own}"), &trusting()).await;
    has(&text, &["self-signed", "--ca-file"]);

    let any = TlsOptions { insecure: true, ..TlsOptions::default() };
    let any = DialOptions { tls: any, ..DialOptions::default() };
    for port in [good, expired, elsewhere, own] {
        assert_eq!(get(&format!("https://localhost:{port}"), &any).await.unwrap(), 200);
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_trusted_when_it_is_named_and_only_for_its_names() {
    let port = server("127.0.0.1", Some(acceptor("self-signed", &[], false)), false).await;
    let named = TlsOptions { ca_file: Some(fixture("self-signed.pem")), ..TlsOptions::default() };
    let named = DialOptions { tls: named, ..DialOptions::default() };
    assert_eq!(get(&format!("https://localhost:{port}"), &named).await.unwrap(), 200);
    let address = ([127, 0, 0, 1], port).into();
    let other = Dial::Tcp(vec![address]).over(&base("https://elsewhere.test"), &named).unwrap();
    has(&other.probe().await.unwrap_err().to_string(), &["not for elsewhere.test", "localhost"]);
}

#[tokio::test]
async fn a_client_certificate_is_shown_when_the_server_asks_for_it() {
    let port = server("127.0.0.1", Some(acceptor("server", &["h2", "http/1.1"], true)), false).await;
    let url = format!("https://localhost:{port}");
    for http in [HttpVersion::One, HttpVersion::Auto] {
        let mut options = DialOptions { http, ..trusting() };
        let text = refused(&url, &options).await;
        has(&text, &["client certificate", "--client-cert"]);
        options.tls.client_cert = Some(fixture("client.pem"));
        options.tls.client_key = Some(fixture("client.key"));
        assert_eq!(get(&url, &options).await.unwrap(), 200);
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let with = |ca: Option<&str>, cert: Option<&str>, key: Option<&str>| DialOptions {
        tls: TlsOptions {
            ca_file: ca.map(fixture),
            client_cert: cert.map(fixture),
            client_key: key.map(fixture),
            insecure: false,
        },
        ..DialOptions::default()
    };
    let ca = Some("ca.pem");
    for (options, word) in [
        (with(Some("none.pem"), None, None), "none.pem"),
        (with(Some("server.key"), None, None), "BEGIN CERTIFICATE"),
        (with(ca, Some("client.pem"), None), "give both"),
        (with(ca, None, Some("client.key")), "give both"),
        (with(ca, Some("client.pem"), Some("client.pem")), "private key"),
        (with(ca, Some("client.pem"), Some("server.key")), "client.pem"),
    ] {
        let error = Dial::resolve(&base("https://127.0.0.1:1"), &options).await.unwrap_err();
        assert!(
            error.is_usage() && !error.is_connect() && error.to_string().contains(word),
            "{word}: {error}"
        );
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_as_such() {
    let port = server("127.0.0.1", None, false).await;
    has(&refused(&format!("https://localhost:{port}"), &trusting()).await, &["not TLS", "http://"]);
}

#[tokio::test]
async fn handshakes_stand_apart_and_connections_are_kept() {
    let port = server("127.0.0.1", Some(acceptor("server", &[], false)), false).await;
    let url = format!("https://localhost:{port}");
    let mut slot = slot(&url, dial(&url, &trusting()).await, "/v1/chat/completions?20");
    for n in 0..3 {
        let trace = post(&mut slot).await;
        assert_eq!((trace.outcome, trace.output_tokens), (Some(Outcome::Ok), Some(20)));
        let conn = trace.conn;
        assert_eq!((conn.reused, conn.connect_ns.is_some(), conn.tls_ns.is_some()), (n > 0, n == 0, n == 0));
        assert!(trace.sent < trace.first_token);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
