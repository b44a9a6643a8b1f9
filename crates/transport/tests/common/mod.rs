//! A server for the tests of connections: hyper's, with or without TLS, over whatever a test listens on.

use bytes::Bytes;
use hyper::{
    Request, Response,
    body::{Body, Frame, Incoming},
    rt::{Executor, Read, Write},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use plimsoll_transport::{Clock, Dial, DialOptions, Head, Limits, Slot, TlsOptions, Trace};
use plimsoll_wire::url::BaseUrl;
use std::{
    convert::Infallible,
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Sleep, sleep},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tls")).join(name)
}

/// A TLS server with the certificate NAME.pem. `client`: it asks for one of the private authority's.
pub fn acceptor(name: &str, alpn: &[&str], client: bool) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = if client {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(fixture("ca.pem")).unwrap()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let chain = vec![CertificateDer::from_pem_file(fixture(&format!("{name}.pem"))).unwrap()];
    let key = PrivateKeyDer::from_pem_file(fixture(&format!("{name}.key"))).unwrap();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config).into()
}

#[derive(Clone)]
struct Spawn;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Spawn {
    fn execute(&self, future: F) {
        tokio::spawn(future);
    }
}

/// An event stream: so many tokens, so far apart, then usage and `[DONE]`.
pub struct Events {
    pub tokens: u32,
    pub sent: u32,
    pub gap: Duration,
    pub pause: Option<Pin<Box<Sleep>>>,
}

impl Events {
    pub fn new(tokens: u32, gap: Duration) -> Self {
        Self { tokens, sent: 0, gap, pause: None }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if this.sent > this.tokens {
            return Poll::Ready(None);
        }
        if !this.gap.is_zero() {
            let pause = this.pause.get_or_insert_with(|| Box::pin(sleep(this.gap)));
            ready!(pause.as_mut().poll(cx));
            this.pause = None;
        }
        let n = this.sent;
        this.sent += 1;
        let text = if n < this.tokens {
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{n} \"}}}}]}}\n\n")
        } else {
            format!("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{n}}}}}\n\ndata: [DONE]\n\n")
        };
        Poll::Ready(Some(Ok(Frame::data(text.into()))))
    }
}

/// Answers every request with an event stream; says in headers what it has seen. The query is the number of tokens.
async fn answer(request: Request<Incoming>) -> Result<Response<Events>, Infallible> {
    let tokens = request.uri().query().and_then(|query| query.parse().ok()).unwrap_or(3);
    let header = |name: &str| {
        request.headers().get(name).map_or("-", |value| value.to_str().unwrap_or("?")).to_owned()
    };
    let seen = format!("{:?} {} {}", request.version(), request.method(), request.uri());
    let response = Response::builder()
        .header("content-type", "text/event-stream")
        .header("x-seen", seen)
        .header("x-host", header("host"))
        .header("x-key", header("authorization"));
    Ok(response.body(Events::new(tokens, Duration::ZERO)).unwrap())
}

/// Serves one connection to its end.
pub async fn serve<T: Read + Write + Unpin + Send + 'static>(io: T, two: bool) {
    // That a client hangs up is no fault of the server's.
    let _ = if two {
        http2::Builder::new(Spawn).serve_connection(io, service_fn(answer)).await
    } else {
        http1::Builder::new().serve_connection(io, service_fn(answer)).await
    };
}

/// Listens and serves; returns the port. With TLS the HTTP version is what was agreed, else as told.
pub async fn server(host: &str, tls: Option<TlsAcceptor>, two: bool) -> u16 {
    let listener = TcpListener::bind((host, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(serve_socket(socket, tls.clone(), two));
        }
    });
    port
}

pub async fn serve_socket(socket: TcpStream, tls: Option<TlsAcceptor>, two: bool) {
    let Some(tls) = tls else { return serve(TokioIo::new(socket), two).await };
    if let Ok(stream) = tls.accept(socket).await {
        let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        serve(TokioIo::new(stream), two).await;
    }
}

pub fn base(url: &str) -> BaseUrl {
    url.parse().unwrap()
}

/// Options that trust the private authority.
pub fn trusting() -> DialOptions {
    let tls = TlsOptions { ca_file: Some(fixture("ca.pem")), ..TlsOptions::default() };
    DialOptions { tls, ..DialOptions::default() }
}

pub async fn dial(url: &str, options: &DialOptions) -> Dial {
    Dial::resolve(&base(url), options).await.unwrap().dial
}

pub fn head(url: &str) -> Head {
    Head::new(&base(url).authority(), None).unwrap()
}

pub fn slot(url: &str, dial: Dial, path: &str) -> Slot {
    Slot::new(dial, head(url), path, Limits::default()).unwrap()
}

pub async fn post(slot: &mut Slot) -> Trace {
    let mut trace = Trace::default();
    slot.post(Bytes::from_static(b"{\"x\":1}"), Clock::start(), &mut trace).await;
    trace
}
