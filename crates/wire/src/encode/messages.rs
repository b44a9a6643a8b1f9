use super::{Answer, UsageCounts, named_event};
use bytes::Bytes;
use serde_json::{Value, json};

/// Makes the events of one streamed answer of `/v1/messages` with one block of text, in the order in which they are
/// sent: [`Self::opening`], [`Self::delta`]s, [`Self::closing`].
#[derive(Clone, Debug)]
pub struct MessagesEncoder {
    id: String,
    model: String,
}

impl MessagesEncoder {
    /// `id` is that of the message.
    pub fn new(id: &str, model: &str) -> Self {
        Self { id: id.to_owned(), model: model.to_owned() }
    }

    /// The events before the first text. The first tells the prompt's length, unless it is absent.
    pub fn opening(&self, prompt: Option<u32>) -> Vec<Bytes> {
        let usage = prompt.map(|prompt| json!({ "input_tokens": prompt, "output_tokens": 0 }));
        let message = message(&self.id, &self.model, &json!([]), None, usage);
        vec![
            event("message_start", json!({ "message": message })),
            event(
                "content_block_start",
                json!({ "index": 0, "content_block": { "type": "text", "text": "" } }),
            ),
            event("ping", json!({})),
        ]
    }

    /// Text, more to come.
    pub fn delta(&self, text: &str) -> Bytes {
        event("content_block_delta", json!({ "index": 0, "delta": { "type": "text_delta", "text": text } }))
    }

    /// The events after the last text. `finish_reason` is `stop` or `length`; an absent usage is left out.
    pub fn closing(&self, finish_reason: &str, usage: Option<UsageCounts>) -> Vec<Bytes> {
        let mut delta = json!({ "delta": { "stop_reason": stop(finish_reason), "stop_sequence": null } });
        if let Some(UsageCounts { completion, .. }) = usage {
            delta["usage"] = json!({ "output_tokens": completion });
        }
        vec![
            event("content_block_stop", json!({ "index": 0 })),
            event("message_delta", delta),
            event("message_stop", json!({})),
        ]
    }

    /// The event of an answer that failed.
    pub fn failed(&self, message: &str) -> Bytes {
        named_event("error", &messages_error("api_error", message))
    }
}

/// The body of `/v1/messages` without `stream`.
pub fn messages_body(answer: &Answer<'_>) -> String {
    let content = json!([{ "type": "text", "text": answer.text }]);
    let usage =
        answer.usage.map(|usage| json!({ "input_tokens": usage.prompt, "output_tokens": usage.completion }));
    message(answer.id, answer.model, &content, Some(stop(answer.finish_reason)), usage).to_string()
}

/// The body of a refusal by `/v1/messages`; also the payload of an error event.
pub fn messages_error(kind: &str, message: &str) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string()
}

fn message(id: &str, model: &str, content: &Value, stop: Option<&str>, usage: Option<Value>) -> Value {
    let mut message = json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop, "stop_sequence": null,
    });
    if let Some(usage) = usage {
        message["usage"] = usage;
    }
    message
}

fn stop(finish_reason: &str) -> &'static str {
    if finish_reason == "length" { "max_tokens" } else { "end_turn" }
}

fn event(name: &str, mut fields: Value) -> Bytes {
    fields["type"] = json!(name);
    named_event(name, &fields.to_string())
}
