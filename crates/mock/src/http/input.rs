use super::fields::{Fields, validation};
use crate::tokenizer::{encode, encode_chat};
use plimsoll_wire::encode::ErrorBody;
use serde_json::Value;

/// Which generating route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Chat,
    Completion,
}

/// A request's body, read. Unknown fields are ignored, as vLLM does.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) prompt: Vec<u32>,
    /// As asked; not yet checked.
    pub(super) max_tokens: Option<i64>,
    pub(super) delivery: Delivery,
    pub(super) ignore_eos: bool,
}

/// How the answer shall come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Whole,
    Stream { include_usage: bool, continuous_usage: bool },
}

pub(super) fn bad_request(message: String, param: Option<&str>) -> ErrorBody {
    ErrorBody { message, kind: "BadRequestError", param: param.map(str::to_owned), code: 400 }
}

pub(super) fn parse(route: Route, body: &[u8], model: &str) -> Result<Input, ErrorBody> {
    let fields = Fields::of_body(body)?;
    let required = match route {
        Route::Chat => "messages",
        Route::Completion => "prompt",
    };
    if fields.get(required).is_none() {
        return Err(fields.missing(required));
    }
    let temperature = fields.number("temperature")?;
    let max_tokens = match (route, fields.integer("max_completion_tokens")?) {
        (Route::Chat, Some(limit)) => Some(limit),
        _ => fields.integer("max_tokens")?,
    };
    let answers = fields.integer("n")?;
    let stream = fields.flag("stream")?;
    let ignore_eos = fields.flag("ignore_eos")?;
    let (include_usage, continuous_usage) = match fields.object("stream_options")? {
        None => (false, false),
        Some(options) => (options.flag("include_usage")?, options.flag("continuous_usage_stats")?),
    };
    check_model(&fields, model)?;
    let prompt = match route {
        Route::Chat => chat_prompt(&fields)?,
        Route::Completion => text_prompt(&fields)?,
    };
    if let Some(value) = temperature.filter(|value| *value < 0.0) {
        let message = format!(
            "temperature must be non-negative, got {value:?}. (parameter=temperature, value={value:?})"
        );
        return Err(bad_request(message, Some("temperature")));
    }
    if answers.is_some_and(|n| n != 1) {
        let message = "The mock generates one answer per request: n must be 1.".to_owned();
        return Err(bad_request(message, Some("n")));
    }
    let delivery =
        if stream { Delivery::Stream { include_usage, continuous_usage } } else { Delivery::Whole };
    Ok(Input { prompt, max_tokens, delivery, ignore_eos })
}

pub(super) fn parse_tokenize(body: &[u8], model: &str) -> Result<Vec<u32>, ErrorBody> {
    let fields = Fields::of_body(body)?;
    check_model(&fields, model)?;
    if fields.get("messages").is_some() {
        return chat_prompt(&fields);
    }
    match fields.get("prompt") {
        Some(Value::String(text)) => Ok(encode(text)),
        Some(other) => Err(validation("string_type", "prompt", "Input should be a valid string", other)),
        None => Err(fields.missing("prompt")),
    }
}

fn check_model(fields: &Fields<'_>, model: &str) -> Result<(), ErrorBody> {
    match fields.get("model") {
        None => Ok(()),
        Some(Value::String(asked)) if asked == model => Ok(()),
        Some(Value::String(asked)) => Err(ErrorBody {
            message: format!("The model `{asked}` does not exist. Valid aliases: {model}."),
            kind: "NotFoundError",
            param: Some("model".to_owned()),
            code: 404,
        }),
        Some(other) => Err(validation("string_type", "model", "Input should be a valid string", other)),
    }
}

fn chat_prompt(fields: &Fields<'_>) -> Result<Vec<u32>, ErrorBody> {
    let messages = match fields.get("messages") {
        Some(Value::Array(messages)) => messages,
        Some(other) => {
            return Err(validation("list_type", "messages", "Input should be a valid list", other));
        }
        None => return Err(fields.missing("messages")),
    };
    if messages.is_empty() {
        let message =
            "Cannot apply chat template to an empty conversation. Provide at least one message.".to_owned();
        return Err(bad_request(message, None));
    }
    let mut turns = Vec::with_capacity(messages.len());
    for message in messages {
        let Some(role) = message.get("role").and_then(Value::as_str) else {
            return Err(validation("missing", "messages.0.role", "Field required", message));
        };
        turns.push((role, message_text(message)?));
    }
    Ok(encode_chat(turns.iter().map(|(role, text)| (*role, text.as_str()))))
}

/// A text, or the text parts of a list, with a space between them.
fn message_text(message: &Value) -> Result<String, ErrorBody> {
    match message.get("content") {
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
