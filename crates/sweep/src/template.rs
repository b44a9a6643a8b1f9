//! How a planned request is put into words for this server.

use bytes::Bytes;
use plimsoll_record::Endpoint;
use plimsoll_wire::request::{Input, Message, RequestBody, limit_fields};
use plimsoll_workload::{PlannedRequest, Prompt};

/// What all requests of a run have in common.
#[derive(Clone, Debug)]
pub struct Template {
    pub endpoint: Endpoint,
    pub model: String,
    pub temperature: f64,
    pub form: Form,
}

/// Which fields a request has: what this server takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field that is sent or not, free of the others")]
pub struct Form {
    /// The name of the limit on output tokens.
    pub limit: &'static str,
    pub temperature: bool,
    /// Asks for usage at the end of a stream, where the route has such a field.
    pub include_usage: bool,
    /// Asks for usage on every event too.
    pub continuous_usage: bool,
    pub token_ids: bool,
    pub ignore_eos: bool,
}

impl Form {
    /// The usual form of a route.
    pub fn usual(endpoint: Endpoint, ignore_eos: bool) -> Self {
        Self {
            limit: limit_fields(endpoint).first().copied().unwrap_or("max_tokens"),
            temperature: true,
            include_usage: matches!(endpoint, Endpoint::Chat | Endpoint::Completions),
            continuous_usage: false,
            token_ids: false,
            ignore_eos,
        }
    }
}

impl Template {
    /// The body of a planned request.
    pub fn body(&self, planned: &PlannedRequest) -> Bytes {
        self.prompt(&planned.prompt, planned.max_tokens)
    }

    /// The body of a prompt.
    pub fn prompt(&self, prompt: &Prompt, max_tokens: u32) -> Bytes {
        self.put(prompt, max_tokens, true)
    }

    /// The same for an answer in one piece.
    pub fn whole(&self, prompt: &Prompt, max_tokens: u32) -> Bytes {
        self.put(prompt, max_tokens, false)
    }

    fn put(&self, prompt: &Prompt, max_tokens: u32, stream: bool) -> Bytes {
        let flat;
        let input = match self.endpoint {
            Endpoint::Chat | Endpoint::Responses | Endpoint::Messages => {
                Input::Messages(prompt.chat().map(|(role, content)| Message { role, content }).collect())
            }
            Endpoint::Completions => {
                flat = prompt.flatten();
                Input::Prompt(&flat)
            }
        };
        let mut body = RequestBody::of(self.endpoint, &self.model, input, max_tokens);
        body.stream = stream;
        body.limit_field = Some(self.form.limit);
        body.temperature = self.form.temperature.then_some(self.temperature);
        body.include_usage = self.form.include_usage;
        body.continuous_usage = self.form.continuous_usage;
        body.return_token_ids = self.form.token_ids;
        body.ignore_eos = self.form.ignore_eos;
        body.to_bytes()
    }
}
