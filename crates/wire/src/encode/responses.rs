use super::{Answer, UsageCounts, named_event};
use bytes::Bytes;
use serde_json::{Value, json};

/// Makes the events of one streamed answer of `/v1/responses` with one message, in the order in which they are sent:
/// [`Self::opening`], [`Self::delta`]s, [`Self::closing`].
#[derive(Clone, Debug)]
pub struct ResponsesEncoder {
    id: String,
    created: u64,
    model: String,
    text: String,
    number: u32,
}

impl ResponsesEncoder {
    /// `created` is in seconds since the Unix epoch.
    pub fn new(id: &str, created: u64, model: &str) -> Self {
        Self { id: id.to_owned(), created, model: model.to_owned(), text: String::new(), number: 0 }
    }

    /// The events before the first text.
    pub fn opening(&mut self) -> Vec<Bytes> {
        let response = self.response("in_progress", None, None);
        vec![
            self.event("response.created", json!({ "response": response })),
            self.event("response.in_progress", json!({ "response": response })),
            self.event(
                "response.output_item.added",
                json!({ "output_index": 0, "item": self.item("in_progress") }),
            ),
            self.event("response.content_part.added", self.at(json!({ "part": part("") }))),
        ]
    }

    /// Text, more to come.
    pub fn delta(&mut self, text: &str) -> Bytes {
        self.text.push_str(text);
        self.event("response.output_text.delta", self.at(json!({ "delta": text, "logprobs": [] })))
    }

    /// The events after the last text. `finish_reason` is `stop` or `length`; an absent usage is null.
    pub fn closing(&mut self, finish_reason: &str, usage: Option<UsageCounts>) -> Vec<Bytes> {
        let (status, incomplete) = ending(finish_reason);
        let text = self.text.clone();
        let response = self.response(status, incomplete, usage);
        vec![
            self.event("response.output_text.done", self.at(json!({ "text": text, "logprobs": [] }))),
            self.event("response.content_part.done", self.at(json!({ "part": part(&text) }))),
            self.event("response.output_item.done", json!({ "output_index": 0, "item": self.item(status) })),
            self.event(&format!("response.{status}"), json!({ "response": response })),
        ]
    }

    /// The event of an answer that failed.
    pub fn failed(&mut self, message: &str) -> Bytes {
        let mut response = self.response("failed", None, None);
        response["error"] = json!({ "code": "server_error", "message": message });
        self.event("response.failed", json!({ "response": response }))
    }

    /// An event about the answer's one part.
    fn at(&self, mut fields: Value) -> Value {
        fields["item_id"] = json!(self.item_id());
        fields["output_index"] = json!(0);
        fields["content_index"] = json!(0);
        fields
    }

    fn item_id(&self) -> String {
        format!("msg_{}", self.id)
    }

    fn item(&self, status: &str) -> Value {
        let content = if status == "in_progress" { json!([]) } else { json!([part(&self.text)]) };
        json!({ "id": self.item_id(), "type": "message", "role": "assistant", "status": status, "content": content })
    }

    fn response(&self, status: &str, incomplete: Option<&str>, usage: Option<UsageCounts>) -> Value {
        let output = if status == "in_progress" { json!([]) } else { json!([self.item(status)]) };
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "model": self.model,
            "status": status, "error": null, "incomplete_details": incomplete.map(|reason| json!({ "reason": reason })), "output": output,
            "usage": usage.map(counts),
        })
    }

    fn event(&mut self, name: &str, mut fields: Value) -> Bytes {
        fields["type"] = json!(name);
        fields["sequence_number"] = json!(self.number);
        self.number += 1;
        named_event(name, &fields.to_string())
    }
}

/// The body of `/v1/responses` without `stream`.
pub fn responses_body(answer: &Answer<'_>) -> String {
    let mut encoder = ResponsesEncoder::new(answer.id, answer.created, answer.model);
    answer.text.clone_into(&mut encoder.text);
    let (status, incomplete) = ending(answer.finish_reason);
    encoder.response(status, incomplete, answer.usage).to_string()
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

/// The status of a response, and why it is incomplete.
fn ending(finish_reason: &str) -> (&'static str, Option<&'static str>) {
    match finish_reason {
        "length" => ("incomplete", Some("max_output_tokens")),
        _ => ("completed", None),
    }
}

fn counts(UsageCounts { prompt, completion }: UsageCounts) -> Value {
    json!({
        "input_tokens": prompt, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": completion, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": u64::from(prompt) + u64::from(completion),
    })
}
