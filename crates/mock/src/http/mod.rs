//! The HTTP face: routes, refusals and streams as vLLM 0.32 has them.

mod answer;
mod encoder;
mod fields;
mod generate;
mod input;
mod limits;
mod pages;
mod prompt;
mod reply;
mod stream;

use crate::shared::Shared;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use reply::{Reply, ReplyBody};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves one connection to its end. A client that closes it while an answer is under way aborts the request.
pub(crate) async fn serve(shared: Arc<Shared>, io: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(route(&shared, request).await) }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .half_close(false)
        .serve_connection(TokioIo::new(io), service);
    // An error is the client's (gone, or not HTTP) or a planned cut; the ledger has what matters of it.
    let _ = connection.await;
}

async fn route(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<ReplyBody> {
    if !authorized(shared, &request) {
        return Reply::json(StatusCode::UNAUTHORIZED, r#"{"error":"Unauthorized"}"#.to_owned());
    }
    let path = request.uri().path().to_owned();
    let (allow, post): (&'static str, bool) = match path.as_str() {
        "/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/messages" | "/tokenize" => {
            ("POST", true)
        }
        "/v1/models" | "/health" | "/version" | "/metrics" | "/load" => ("GET", false),
        "/ping" => ("GET, POST", *request.method() == Method::POST),
        _ => return Reply::json(StatusCode::NOT_FOUND, r#"{"detail":"Not Found"}"#.to_owned()),
    };
    if *request.method() != if post { Method::POST } else { Method::GET } {
        return Reply::method_not_allowed(allow);
    }
    match path.as_str() {
        "/v1/chat/completions" => generate::generate(shared, input::Route::Chat, request).await,
        "/v1/completions" => generate::generate(shared, input::Route::Completion, request).await,
        "/v1/responses" => generate::generate(shared, input::Route::Responses, request).await,
        "/v1/messages" => generate::generate(shared, input::Route::Messages, request).await,
        "/tokenize" => pages::tokenize(shared, request).await,
        "/v1/models" => pages::models(shared),
        "/version" => pages::version(),
        "/metrics" => pages::metrics(shared),
        "/load" => pages::load(),
        _ => Reply::empty(),
    }
}

/// Only `/v1` is guarded, as in vLLM.
fn authorized(shared: &Shared, request: &Request<Incoming>) -> bool {
    let Some(key) = &shared.config.api_key else { return true };
    if !request.uri().path().starts_with("/v1") {
        return true;
    }
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.strip_prefix("Bearer ")) == Some(key.as_str())
}
