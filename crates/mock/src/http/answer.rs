use super::input::Route;
use super::reply::{Reply, ReplyBody};
use crate::feed::{Feed, FeedItem};
use crate::tokenizer::{answer_id, answer_word};
use hyper::{Response, StatusCode};
use plimsoll_wire::encode::{
    Answer, ErrorBody, TokenIds, UsageCounts, chat_body, completion_body, messages_body, responses_body,
};

/// What vLLM says when its engine process died.
pub(super) const ENGINE_FAILED: &str =
    "EngineCore encountered an issue. See stack trace (above) for the root cause.";

/// What an answer says beside its text.
pub(super) struct AnswerHead<'a> {
    pub(super) route: Route,
    pub(super) id: &'a str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) prompt_tokens: u32,
    pub(super) prompt_hash: u64,
    /// Of the prompt, where ids are asked for.
    pub(super) prompt_ids: Option<Vec<u32>>,
    pub(super) no_usage: bool,
}

pub(super) fn engine_failed(message: &str) -> ErrorBody {
    ErrorBody { message: message.to_owned(), kind: "InternalServerError", param: None, code: 500 }
}

/// Waits for all tokens and makes a body of them.
pub(super) async fn whole(mut feed: Feed, head: &AnswerHead<'_>) -> Response<ReplyBody> {
    let mut text = String::new();
    let mut tokens = 0;
    let reason = loop {
        match feed.next().await {
            FeedItem::Token { index, last } => {
                text.push_str(answer_word(head.prompt_hash, index));
                tokens += 1;
                if let Some(reason) = last {
                    break reason;
                }
            }
            FeedItem::Failed => return Reply::refusal(head.route, &engine_failed(ENGINE_FAILED)),
            FeedItem::Cut => return Reply::broken(),
        }
    };
    let usage = UsageCounts { prompt: head.prompt_tokens, completion: tokens };
    let ids: Option<Vec<u32>> = head
        .prompt_ids
        .as_ref()
        .map(|_| (0..tokens).map(|index| answer_id(head.prompt_hash, index)).collect());
    let answer = Answer {
        id: head.id,
        created: head.created,
        model: head.model,
        text: &text,
        finish_reason: reason.name(),
        usage: (!head.no_usage).then_some(usage),
        ids: TokenIds { prompt: head.prompt_ids.as_deref(), output: ids.as_deref() },
    };
    let body = match head.route {
        Route::Chat => chat_body(&answer),
        Route::Completion => completion_body(&answer),
        Route::Responses => responses_body(&answer),
        Route::Messages => messages_body(&answer),
    };
    Reply::json(StatusCode::OK, body)
}
