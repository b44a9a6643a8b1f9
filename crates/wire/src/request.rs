//! The JSON bodies that a client sends.

use bytes::Bytes;
use plimsoll_record::Endpoint;
use serde::Serialize;

/// One message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message<'a> {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'a str,
    /// Its text.
    pub content: &'a str,
}

/// What the model shall go on from; it decides the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// For the chat route.
    Messages(Vec<Message<'a>>),
    /// For the completions route.
    Prompt(&'a str),
}

/// A request of the chat or completions route. Fields stand in the JSON in a fixed order; what is not asked for is
/// left out.
///
/// ```
/// use plimsoll_wire::request::{Input, RequestBody};
///
/// let mut request = RequestBody::new("tiny", Input::Prompt("Once"), 16);
/// request.temperature = Some(0.0);
/// assert_eq!(
///     &request.to_bytes()[..],
///     br#"{"model":"tiny","prompt":"Once","max_tokens":16,"temperature":0.0,"stream":true,"stream_options":{"include_usage":true}}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RequestBody<'a> {
    /// Model name.
    pub model: &'a str,
    /// Messages or prompt.
    pub input: Input<'a>,
    /// Most tokens to generate.
    pub max_tokens: u32,
    /// Sampling temperature; absent: the server's default.
    pub temperature: Option<f64>,
    /// Seed of the server's sampling; absent: the server's choice.
    pub seed: Option<u64>,
    /// Asks for an event stream.
    pub stream: bool,
    /// Asks for a `usage` at the end of the stream. A body that is not streamed always has one.
    pub include_usage: bool,
    /// Asks for exactly `max_tokens`: `ignore_eos` and `min_tokens`, which OpenAI's own API does not know.
    pub ignore_eos: bool,
}

impl<'a> RequestBody<'a> {
    /// A streamed request with usage.
    pub const fn new(model: &'a str, input: Input<'a>, max_tokens: u32) -> Self {
        Self {
            model,
            input,
            max_tokens,
            temperature: None,
            seed: None,
            stream: true,
            include_usage: true,
            ignore_eos: false,
        }
    }

    /// The route that takes it.
    pub const fn endpoint(&self) -> Endpoint {
        match self.input {
            Input::Messages(_) => Endpoint::Chat,
            Input::Prompt(_) => Endpoint::Completions,
        }
    }

    /// The JSON.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "strings and numbers in a struct: serialising to memory cannot fail"
    )]
    pub fn to_bytes(&self) -> Bytes {
        let (messages, prompt) = match &self.input {
            Input::Messages(messages) => (Some(messages.as_slice()), None),
            Input::Prompt(prompt) => (None, Some(*prompt)),
        };
        let json = Json {
            model: self.model,
            messages,
            prompt,
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            seed: self.seed,
            stream: self.stream,
            stream_options: (self.stream && self.include_usage)
                .then_some(StreamOptions { include_usage: true }),
            ignore_eos: self.ignore_eos.then_some(true),
            min_tokens: self.ignore_eos.then_some(self.max_tokens),
        };
        serde_json::to_vec(&json).expect("a struct of strings and numbers").into()
    }
}

#[derive(Serialize)]
struct Json<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a [Message<'a>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tokens: Option<u32>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_request_has_what_was_asked_for() {
        let messages = vec![
            Message { role: "system", content: "Be \"brief\"" },
            Message { role: "user", content: "Hi\n" },
        ];
        let mut request = RequestBody::new("m", Input::Messages(messages), 8);
        request.stream = false;
        request.ignore_eos = true;
        request.seed = Some(7);
        assert_eq!(request.endpoint(), Endpoint::Chat);
        let want = concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"Be \"brief\""},{"role":"user","content":"Hi\n"}],"#,
            r#""max_tokens":8,"seed":7,"stream":false,"ignore_eos":true,"min_tokens":8}"#,
        );
        assert_eq!(std::str::from_utf8(&request.to_bytes()).unwrap(), want);
    }

    #[test]
    fn stream_options_are_sent_only_when_asked() {
        let mut request = RequestBody::new("m", Input::Prompt("p"), 8);
        request.include_usage = false;
        assert_eq!(&request.to_bytes()[..], br#"{"model":"m","prompt":"p","max_tokens":8,"stream":true}"#);
        assert_eq!(request.endpoint(), Endpoint::Completions);
    }
}
