//! How much a client may send, and what the engine can take.

use super::input::bad_request;
use http_body_util::{BodyExt, Limited};
use hyper::Request;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use plimsoll_wire::encode::ErrorBody;

/// Largest body of a request, bytes.
const MAX_BODY: usize = 16 << 20;

/// Reads a body of JSON.
pub(super) async fn read_json(request: Request<Incoming>) -> Result<Bytes, ErrorBody> {
    let media = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        return Err(ErrorBody {
            message: "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"
                .to_owned(),
            kind: "Bad Request",
            param: None,
            code: 400,
        });
    }
    let body = request.into_body();
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Err(_) => Err(bad_request("The request's body could not be read.".to_owned(), None)),
    }
}

fn too_large() -> ErrorBody {
    ErrorBody {
        message: format!("The request's body is longer than {MAX_BODY} bytes."),
        kind: "Request Entity Too Large",
        param: None,
        code: 413,
    }
}

/// Checks the lengths as vLLM does and gives `max_tokens`.
pub(super) fn max_tokens(
    prompt_tokens: usize,
    asked: Option<i64>,
    default: Option<u32>,
    capacity: u64,
) -> Result<u32, ErrorBody> {
    let prompt = prompt_tokens as u64;
    if prompt > capacity {
        return Err(too_long(
            capacity,
            capacity + 1,
            &format!(
                "your prompt contains at least {} input tokens, which exceeds this limit even without any \
                 output tokens. Please reduce the length of the input prompt.",
                capacity + 1
            ),
        ));
    }
    let room = capacity - prompt;
    let room_signed = i64::try_from(room).unwrap_or(i64::MAX);
    let wanted = match (asked, default) {
        (Some(asked), _) => asked,
        (None, Some(default)) => i64::from(default).min(room_signed),
        (None, None) => room_signed,
    };
    if wanted < 1 {
        return Err(parameter(
            "max_tokens",
            wanted,
            &format!("max_tokens must be at least 1, got {wanted}."),
        ));
    }
    let tokens = wanted as u64;
    if tokens > capacity {
        return Err(parameter(
            "max_tokens",
            wanted,
            &format!(
                "max_tokens={wanted} cannot be greater than max_model_len={capacity}. Please request fewer \
                 output tokens."
            ),
        ));
    }
    if tokens > room {
        let least = capacity - tokens + 1;
        return Err(too_long(
            capacity,
            least,
            &format!(
                "you requested {tokens} output tokens and your prompt contains at least {least} input tokens, \
                 for a total of at least {} tokens. Please reduce the length of the input prompt or the number \
                 of requested output tokens.",
                capacity + 1
            ),
        ));
    }
    // Not above the capacity, which is at most `max_model_len`, a u32.
    Ok(u32::try_from(tokens).unwrap_or(u32::MAX))
}

fn too_long(capacity: u64, value: u64, what: &str) -> ErrorBody {
    let message = format!("This model's maximum context length is {capacity} tokens. However, {what}");
    parameter("input_tokens", value, &message)
}

fn parameter(name: &str, value: impl std::fmt::Display, what: &str) -> ErrorBody {
    bad_request(format!("{what} (parameter={name}, value={value})"), Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_tokens_has_the_room_that_the_prompt_leaves() {
        assert_eq!(max_tokens(2040, Some(8), None, 2048), Ok(8));
        assert_eq!(max_tokens(2040, None, None, 2048), Ok(8));
        assert_eq!(max_tokens(10, None, Some(16), 2048), Ok(16));
        for (prompt, asked, param) in
            [(2041, Some(8), "input_tokens"), (2049, Some(1), "input_tokens"), (2048, None, "max_tokens")]
        {
            let error = max_tokens(prompt, asked, None, 2048).unwrap_err();
            assert_eq!((error.param.as_deref(), error.code), (Some(param), 400), "{}", error.message);
        }
    }
}
