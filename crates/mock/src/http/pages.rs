use super::input::parse_tokenize;
use super::limits::read_json;
use super::reply::{Reply, ReplyBody};
use crate::shared::Shared;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde_json::json;

/// What `/version` says.
pub(super) const VERSION: &str = "0.32.0-mock";
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) fn version() -> Response<ReplyBody> {
    Reply::json(StatusCode::OK, json!({ "version": VERSION }).to_string())
}

pub(super) fn load() -> Response<ReplyBody> {
    Reply::json(StatusCode::OK, r#"{"server_load":0}"#.to_owned())
}

pub(super) fn metrics(shared: &Shared) -> Response<ReplyBody> {
    Reply::text(StatusCode::OK, PROMETHEUS_TEXT, shared.metrics())
}

pub(super) fn models(shared: &Shared) -> Response<ReplyBody> {
    let engine = &shared.config.engine;
    let created = shared.created();
    let body = json!({ "object": "list", "data": [{
        "id": engine.model, "object": "model", "created": created, "owned_by": "vllm", "root": engine.model,
        "parent": null, "max_model_len": engine.max_model_len,
        "permission": [{
            "id": "modelperm-0000000000000000", "object": "model_permission", "created": created,
            "allow_create_engine": false, "allow_sampling": true, "allow_logprobs": true,
            "allow_search_indices": false, "allow_view": true, "allow_fine_tuning": false,
            "organization": "*", "group": null, "is_blocking": false,
        }],
    }]});
    Reply::json(StatusCode::OK, body.to_string())
}

pub(super) async fn tokenize(shared: &Shared, request: Request<Incoming>) -> Response<ReplyBody> {
    let tokens = match read_json(request).await {
        Ok(body) => parse_tokenize(&body, &shared.config.engine.model),
        Err(error) => Err(error),
    };
    match tokens {
        Err(error) => Reply::error(&error),
        Ok(tokens) => {
            let body = json!({
                "count": tokens.len(), "max_model_len": shared.config.engine.max_model_len,
                "tokens": tokens, "token_strs": null,
            });
            Reply::json(StatusCode::OK, body.to_string())
        }
    }
}
