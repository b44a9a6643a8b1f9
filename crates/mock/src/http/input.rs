use super::fields::{Fields, validation};
use super::prompt;
use crate::tokenizer::encode;
use plimsoll_wire::encode::ErrorBody;
use serde_json::Value;

/// Which generating route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Chat,
    Completion,
    Responses,
    Messages,
}

/// A request's body, read. Unknown fields are ignored, as vLLM does.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) prompt: Vec<u32>,
    /// As asked; not yet checked.
    pub(super) max_tokens: Option<i64>,
    pub(super) delivery: Delivery,
    pub(super) ignore_eos: bool,
    pub(super) return_token_ids: bool,
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

/// `refused` are fields that this server does not take.
pub(super) fn parse(route: Route, body: &[u8], model: &str, refused: &[String]) -> Result<Input, ErrorBody> {
    let fields = Fields::of_body(body)?;
    if let Some((name, value)) = refused.iter().find_map(|name| Some((name, fields.get(name)?))) {
        return Err(validation("extra_forbidden", name, "Extra inputs are not permitted", value));
    }
    let required: &[&str] = match route {
        Route::Chat => &["messages"],
        Route::Completion => &["prompt"],
        Route::Responses => &["input"],
        Route::Messages => &["messages", "max_tokens"],
    };
    if let Some(missing) = required.iter().find(|name| fields.get(name).is_none()) {
        return Err(fields.missing(missing));
    }
    let temperature = fields.number("temperature")?;
    let max_tokens = match route {
        Route::Chat => match fields.integer("max_completion_tokens")? {
            Some(limit) => Some(limit),
            None => fields.integer("max_tokens")?,
        },
        Route::Responses => fields.integer("max_output_tokens")?,
        Route::Completion | Route::Messages => fields.integer("max_tokens")?,
    };
    let answers = fields.integer("n")?;
    let stream = fields.flag("stream")?;
    let ignore_eos = fields.flag("ignore_eos")?;
    let return_token_ids =
        matches!(route, Route::Chat | Route::Completion) && fields.flag("return_token_ids")?;
    let (include_usage, continuous_usage) = match fields.object("stream_options")? {
        // These two always tell their usage.
        _ if matches!(route, Route::Responses | Route::Messages) => (true, false),
        None => (false, false),
        Some(options) => (options.flag("include_usage")?, options.flag("continuous_usage_stats")?),
    };
    check_model(&fields, model)?;
    let prompt = prompt::of(route, &fields)?;
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
    Ok(Input { prompt, max_tokens, delivery, ignore_eos, return_token_ids })
}

pub(super) fn parse_tokenize(body: &[u8], model: &str) -> Result<Vec<u32>, ErrorBody> {
    let fields = Fields::of_body(body)?;
    check_model(&fields, model)?;
    if fields.get("messages").is_some() {
        return prompt::of(Route::Chat, &fields);
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
