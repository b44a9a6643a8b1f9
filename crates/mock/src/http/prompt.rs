//! The prompt of a request, in each route's form, as token ids.

use super::fields::{Fields, validation};
use super::input::{Route, bad_request};
use crate::tokenizer::{encode, encode_chat};
use plimsoll_wire::encode::ErrorBody;
use serde_json::{Value, json};
use std::borrow::Cow;

pub(super) fn of(route: Route, fields: &Fields<'_>) -> Result<Vec<u32>, ErrorBody> {
    match route {
        Route::Completion => text_prompt(fields),
        Route::Chat => chat_prompt(fields, "messages", None),
        Route::Responses => chat_prompt(fields, "input", fields.get("instructions")),
        Route::Messages => chat_prompt(fields, "messages", fields.get("system")),
    }
}

/// The conversation in field `name`, which for the responses route may be one text, after a system prompt.
fn chat_prompt(fields: &Fields<'_>, name: &str, system: Option<&Value>) -> Result<Vec<u32>, ErrorBody> {
    let messages = match fields.get(name) {
        Some(Value::Array(messages)) => Cow::Borrowed(messages),
        Some(text @ Value::String(_)) if name == "input" => {
            Cow::Owned(vec![json!({ "role": "user", "content": text })])
        }
        Some(other) => {
            return Err(validation("list_type", name, "Input should be a valid list", other));
        }
        None => return Err(fields.missing(name)),
    };
    if messages.is_empty() {
        let message =
            "Cannot apply chat template to an empty conversation. Provide at least one message.".to_owned();
        return Err(bad_request(message, None));
    }
    let mut turns = Vec::with_capacity(messages.len() + 1);
    if let Some(system) = system {
        turns.push(("system", message_text(Some(system))?));
    }
    for message in messages.iter() {
        let Some(role) = message.get("role").and_then(Value::as_str) else {
            return Err(validation("missing", "messages.0.role", "Field required", message));
        };
        turns.push((role, message_text(message.get("content"))?));
    }
    Ok(encode_chat(turns.iter().map(|(role, text)| (*role, text.as_str()))))
}

/// A text, or the text parts of a list, with a space between them.
fn message_text(content: Option<&Value>) -> Result<String, ErrorBody> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            Ok(texts.collect::<Vec<_>>().join(" "))
        }
        Some(other) => {
            Err(validation("string_type", "messages.0.content", "Input should be a valid string", other))
        }
    }
}

/// A text, or token ids.
fn text_prompt(fields: &Fields<'_>) -> Result<Vec<u32>, ErrorBody> {
    let tokens = match fields.get("prompt") {
        Some(Value::String(text)) => Some(encode(text)),
        Some(Value::Array(ids)) => {
            let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
            ids.iter().map(id).collect()
        }
        _ => None,
    };
    match tokens {
        None => {
            let message = "The mock takes one prompt per request: a text, or a list of token ids.".to_owned();
            Err(bad_request(message, Some("prompt")))
        }
        Some(tokens) if tokens.is_empty() => {
            let message = "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)"
                .to_owned();
            Err(bad_request(message, Some("prompt")))
        }
        Some(tokens) => Ok(tokens),
    }
}
