//! How a planned request is put into words for this server.

use bytes::Bytes;
use plimsoll_record::Endpoint;
use plimsoll_wire::request::{Input, Message, RequestBody};
use plimsoll_workload::{PlannedRequest, Prompt};

/// What all requests of a run have in common.
#[derive(Clone, Debug)]
pub struct Template {
    pub endpoint: Endpoint,
    pub model: String,
    pub temperature: f64,
    pub ignore_eos: bool,
    /// False for servers that refuse `stream_options`.
    pub include_usage: bool,
}

impl Template {
    /// The body of a planned request.
    pub fn body(&self, planned: &PlannedRequest) -> Bytes {
        self.prompt(&planned.prompt, planned.max_tokens)
    }

    /// The body of a prompt.
    pub fn prompt(&self, prompt: &Prompt, max_tokens: u32) -> Bytes {
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
        body.temperature = Some(self.temperature);
        body.include_usage = self.include_usage;
        body.ignore_eos = self.ignore_eos;
        body.to_bytes()
    }
}
