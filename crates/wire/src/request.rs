//! The JSON bodies that a client sends.

use bytes::Bytes;
use plimsoll_record::Endpoint;
use serde::{Serialize, Serializer, ser::SerializeMap};

/// One message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message<'a> {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'a str,
    /// Its text.
    pub content: &'a str,
}

/// What the model shall go on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// A conversation.
    Messages(Vec<Message<'a>>),
    /// A text.
    Prompt(&'a str),
}

/// A request of any of the four routes. Fields stand in the JSON in a fixed order; what is not asked for, or what the route does
/// not know, is left out.
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
#[expect(clippy::struct_excessive_bools, reason = "each stands for a field of the JSON")]
pub struct RequestBody<'a> {
    /// The route that takes it.
    pub endpoint: Endpoint,
    /// Model name.
    pub model: &'a str,
    /// Messages or prompt. Each route takes either: a prompt is one message of the user, messages without a chat template are
    /// one text of a paragraph each.
    pub input: Input<'a>,
    /// Most tokens to generate.
    pub max_tokens: u32,
    /// The field that says so; absent: the route's own, the first of [`limit_fields`].
    pub limit_field: Option<&'a str>,
    /// Sampling temperature; absent: the server's default.
    pub temperature: Option<f64>,
    /// Seed of the server's sampling; absent: the server's choice.
    pub seed: Option<u64>,
    /// Asks for an event stream.
    pub stream: bool,
    /// Asks for a `usage` at the end of the stream. A body that is not streamed always has one, and so have the streams of
    /// the responses and messages routes.
    pub include_usage: bool,
    /// Asks for a `usage` in every event, beside the one at the end: vLLM's `continuous_usage_stats`. Only with
    /// `include_usage`, on the chat and completions routes.
    pub continuous_usage: bool,
    /// Asks for the ids of the generated tokens: vLLM's `return_token_ids`, on the chat and completions routes.
    pub return_token_ids: bool,
    /// Asks for exactly `max_tokens`: `ignore_eos` and `min_tokens`, which OpenAI's own API does not know.
    pub ignore_eos: bool,
}

/// The fields that limit the output of a route, by which its servers differ; the usual one first.
pub const fn limit_fields(endpoint: Endpoint) -> &'static [&'static str] {
    match endpoint {
        Endpoint::Chat => &["max_tokens", "max_completion_tokens"],
        Endpoint::Completions => &["max_tokens", "max_completion_tokens", "max_new_tokens"],
        Endpoint::Responses => &["max_output_tokens", "max_tokens", "max_completion_tokens"],
        Endpoint::Messages => &["max_tokens"],
    }
}

impl<'a> RequestBody<'a> {
    /// A streamed request with usage, of the chat route for messages and of the completions route for a prompt.
    pub const fn new(model: &'a str, input: Input<'a>, max_tokens: u32) -> Self {
        let endpoint = match input {
            Input::Messages(_) => Endpoint::Chat,
            Input::Prompt(_) => Endpoint::Completions,
        };
        Self::of(endpoint, model, input, max_tokens)
    }

    /// A streamed request with usage.
    pub const fn of(endpoint: Endpoint, model: &'a str, input: Input<'a>, max_tokens: u32) -> Self {
        Self {
            endpoint,
            model,
            input,
            max_tokens,
            limit_field: None,
            temperature: None,
            seed: None,
            stream: true,
            include_usage: true,
            continuous_usage: false,
            return_token_ids: false,
            ignore_eos: false,
        }
    }

    /// The JSON.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "strings and numbers in a map: serialising to memory cannot fail"
    )]
    pub fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).expect("a map of strings and numbers").into()
    }

    fn write_input<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let whole;
        let messages = match (&self.input, self.endpoint) {
            (Input::Prompt(prompt), Endpoint::Completions) => return map.serialize_entry("prompt", prompt),
            (Input::Prompt(prompt), Endpoint::Responses) => return map.serialize_entry("input", prompt),
            (Input::Prompt(prompt), Endpoint::Chat | Endpoint::Messages) => {
                whole = [Message { role: "user", content: prompt }];
                whole.as_slice()
            }
            (Input::Messages(messages), _) => messages.as_slice(),
        };
        match self.endpoint {
            Endpoint::Chat => map.serialize_entry("messages", messages),
            Endpoint::Responses => map.serialize_entry("input", messages),
            Endpoint::Completions => map.serialize_entry("prompt", &paragraphs(messages.iter())),
            Endpoint::Messages => {
                let is_system = |message: &&Message<'_>| matches!(message.role, "system" | "developer");
                let (system, turns): (Vec<_>, Vec<_>) = messages.iter().partition(is_system);
                if !system.is_empty() {
                    map.serialize_entry("system", &paragraphs(system.into_iter()))?;
                }
                map.serialize_entry("messages", &turns)
            }
        }
    }
}

fn paragraphs<'m>(messages: impl Iterator<Item = &'m Message<'m>>) -> String {
    messages.map(|message| message.content).collect::<Vec<_>>().join("\n\n")
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of_openai = matches!(self.endpoint, Endpoint::Chat | Endpoint::Completions);
        let usual = limit_fields(self.endpoint).first().copied().unwrap_or("max_tokens");
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", self.model)?;
        self.write_input(&mut map)?;
        map.serialize_entry(self.limit_field.unwrap_or(usual), &self.max_tokens)?;
        if let Some(temperature) = self.temperature {
            map.serialize_entry("temperature", &temperature)?;
        }
        if let Some(seed) = self.seed {
            map.serialize_entry("seed", &seed)?;
        }
        map.serialize_entry("stream", &self.stream)?;
        if of_openai && self.stream && self.include_usage {
            let continuous_usage_stats = self.continuous_usage;
            map.serialize_entry(
                "stream_options",
                &StreamOptions { include_usage: true, continuous_usage_stats },
            )?;
        }
        if of_openai && self.return_token_ids {
            map.serialize_entry("return_token_ids", &true)?;
        }
        if self.ignore_eos {
            map.serialize_entry("ignore_eos", &true)?;
            map.serialize_entry("min_tokens", &self.max_tokens)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    continuous_usage_stats: bool,
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
        assert_eq!(request.endpoint, Endpoint::Chat);
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
        assert_eq!(request.endpoint, Endpoint::Completions);
    }

    fn json(request: &RequestBody<'_>) -> String {
        String::from_utf8(request.to_bytes().to_vec()).unwrap()
    }

    fn talk() -> Input<'static> {
        Input::Messages(vec![
            Message { role: "system", content: "Be brief" },
            Message { role: "user", content: "Hi" },
        ])
    }

    // Required and known fields: API references of OpenAI (responses) and Anthropic (messages).
    #[test]
    fn each_route_has_its_own_fields() {
        let mut request = RequestBody::of(Endpoint::Responses, "m", talk(), 8);
        (request.continuous_usage, request.return_token_ids) = (true, true);
        assert_eq!(
            json(&request),
            r#"{"model":"m","input":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hi"}],"max_output_tokens":8,"stream":true}"#
        );
        request.endpoint = Endpoint::Messages;
        request.stream = false;
        assert_eq!(
            json(&request),
            r#"{"model":"m","system":"Be brief","messages":[{"role":"user","content":"Hi"}],"max_tokens":8,"stream":false}"#
        );
        request.endpoint = Endpoint::Completions;
        request.stream = true;
        assert_eq!(
            json(&request),
            concat!(
                r#"{"model":"m","prompt":"Be brief\n\nHi","max_tokens":8,"stream":true,"#,
                r#""stream_options":{"include_usage":true,"continuous_usage_stats":true},"return_token_ids":true}"#
            )
        );
    }

    #[test]
    fn every_route_takes_a_prompt() {
        let body = |endpoint| json(&RequestBody::of(endpoint, "m", Input::Prompt("p"), 8));
        assert!(
            body(Endpoint::Chat).contains(r#""messages":[{"role":"user","content":"p"}],"max_tokens":8"#)
        );
        assert!(
            body(Endpoint::Messages).contains(r#""messages":[{"role":"user","content":"p"}],"max_tokens":8"#)
        );
        assert!(body(Endpoint::Responses).contains(r#""input":"p","max_output_tokens":8"#));
    }

    #[test]
    fn the_limit_has_the_name_that_the_server_takes() {
        let mut request = RequestBody::new("m", talk(), 8);
        request.limit_field = Some("max_completion_tokens");
        let text = json(&request);
        assert!(text.contains(r#""max_completion_tokens":8"#) && !text.contains(r#""max_tokens""#), "{text}");
    }
}
