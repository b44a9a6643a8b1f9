use super::answer::{AnswerHead, whole};
use super::encoder::Encoder;
use super::input::{Delivery, Input, Route, bad_request, parse};
use super::limits::{max_tokens, read_json};
use super::reply::{Reply, ReplyBody};
use super::stream::{AnswerStream, StreamOptions};
use crate::core::Submission;
use crate::faults::FaultKind;
use crate::feed::Feed;
use crate::shared::Shared;
use crate::tokenizer::prompt_hash;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{Request, Response};
use plimsoll_wire::encode::ErrorBody;
use std::sync::Arc;

const REQUEST_ID: &str = "x-request-id";
/// Longest request id taken from a client, bytes.
const MAX_REQUEST_ID: usize = 128;
/// Default of `max_tokens` on `/v1/completions`.
const COMPLETION_MAX_TOKENS: u32 = 16;

/// Answers a request to one of the generating routes.
pub(super) async fn generate(
    shared: &Arc<Shared>,
    route: Route,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let number = shared.take_number();
    let given_id = request.headers().get(REQUEST_ID).filter(|id| is_sound(id)).cloned();
    let mut response = match answer(shared, route, number, given_id.as_ref(), request).await {
        Ok(response) => response,
        Err(error) => {
            shared.change(|core, now| core.refused(now, error.code));
            Reply::refusal(route, &error)
        }
    };
    if let Some(id) = given_id {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

async fn answer(
    shared: &Arc<Shared>,
    route: Route,
    number: u64,
    given_id: Option<&HeaderValue>,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, ErrorBody> {
    let body = read_json(request).await?;
    let fault = shared.config.faults.of_request(number).cloned();
    if let Some(FaultKind::Status(status)) = fault {
        return Err(refusal(status));
    }
    let model = &shared.config.engine.model;
    let input = parse(route, &body, model, &shared.config.faults.refuse_fields)?;
    let default = (route == Route::Completion).then_some(COMPLETION_MAX_TOKENS);
    let capacity = shared.read(crate::core::Core::capacity_tokens);
    let max_tokens = max_tokens(input.prompt.len(), input.max_tokens, default, capacity)?;
    let id = response_id(route, number, given_id);
    let created = shared.created();
    let prompt_tokens = input.prompt.len() as u32;
    let hash = prompt_hash(&input.prompt);
    let Input { prompt, delivery, ignore_eos, return_token_ids, .. } = input;
    let prompt_ids = return_token_ids.then(|| prompt.clone());
    let eos_after = shared.config.faults.eos_after.filter(|_| !ignore_eos).map(std::num::NonZeroU32::get);
    let submission = Submission { response_id: id.clone(), prompt, max_tokens, eos_after };
    let feed = Feed::open(shared, submission, fault).map_err(|error| bad_request(error.to_string(), None))?;
    let shape = &shared.config.faults.stream;
    match delivery {
        Delivery::Whole => {
            let no_usage = shape.no_usage;
            let head = AnswerHead {
                route,
                id: &id,
                created,
                model,
                prompt_tokens,
                prompt_hash: hash,
                prompt_ids,
                no_usage,
            };
            Ok(whole(feed, &head).await)
        }
        Delivery::Stream { include_usage, continuous_usage } => {
            let encoder = Encoder::new(route, &id, created, model);
            let options = StreamOptions { include_usage, continuous_usage, prompt_tokens, prompt_hash: hash };
            Ok(Reply::stream(AnswerStream::new(feed, encoder, options, prompt_ids, shape.clone())))
        }
    }
}

/// The number of the request stands in for vLLM's random digits, so that runs repeat.
fn response_id(route: Route, number: u64, given_id: Option<&HeaderValue>) -> String {
    let prefix = match route {
        Route::Chat => "chatcmpl-",
        Route::Completion => "cmpl-",
        Route::Responses => "resp_",
        Route::Messages => "msg_",
    };
    match given_id.and_then(|id| id.to_str().ok()) {
        Some(id) => format!("{prefix}{id}"),
        None => format!("{prefix}{number:016x}"),
    }
}

fn is_sound(id: &HeaderValue) -> bool {
    (1..=MAX_REQUEST_ID).contains(&id.len()) && id.to_str().is_ok()
}

/// A planned refusal, with the words of vLLM where it has some for the status.
fn refusal(status: u16) -> ErrorBody {
    let (message, kind) = match status {
        429 => ("Too many requests. Please try again later.", "Too Many Requests"),
        503 => (
            "The engine is currently busy and cannot accept new requests. Please try again later or on a \
             different instance.",
            "Service Unavailable",
        ),
        500..=599 => (super::answer::ENGINE_FAILED, "InternalServerError"),
        _ => ("Refused on purpose.", "BadRequestError"),
    };
    ErrorBody { message: message.to_owned(), kind, param: None, code: status }
}
