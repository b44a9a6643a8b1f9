use super::{FINGERPRINT, json};
use bytes::Bytes;
use std::fmt::Write as _;

/// Which of the two streaming shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// `chat.completion.chunk`.
    Chat,
    /// `text_completion`.
    Completion,
}

/// Token counts of a `usage` object; the total is their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageCounts {
    /// Prompt tokens.
    pub prompt: u32,
    /// Generated tokens so far.
    pub completion: u32,
}

/// Ids of tokens, as `return_token_ids` asks for them; `None` leaves them null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenIds<'a> {
    /// Of the whole prompt: only with the first event of an answer.
    pub prompt: Option<&'a [u32]>,
    /// Of the tokens whose text the event carries, or of the whole answer in a body that is not streamed.
    pub output: Option<&'a [u32]>,
}

/// Makes the events of one answer. What is the same in all of them is serialised once, so that a token costs
/// the escaping of its text and one copy.
#[derive(Clone, Debug)]
pub struct ChunkEncoder {
    kind: StreamKind,
    /// `data: {"id":..,"object":..,"created":..,"model":..,"choices":[`
    head: String,
}

impl ChunkEncoder {
    /// `created` is in seconds since the Unix epoch.
    pub fn new(kind: StreamKind, id: &str, created: u64, model: &str) -> Self {
        let object = match kind {
            StreamKind::Chat => "chat.completion.chunk",
            StreamKind::Completion => "text_completion",
        };
        let head = format!(
            r#"data: {{"id":{},"object":"{object}","created":{created},"model":{},"choices":["#,
            json(id),
            json(model)
        );
        Self { kind, head }
    }

    /// The first event of a chat answer: the role, with an empty text. `usage` only with continuous usage.
    pub fn role(&self, prompt_ids: Option<&[u32]>, usage: Option<UsageCounts>) -> Bytes {
        let choice =
            r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}"#;
        let prompt_ids = json(&prompt_ids);
        self.event(choice, usage, &format!(r#","prompt_token_ids":{prompt_ids},"prompt_text":null"#))
    }

    /// Text, more to come. `usage` only with continuous usage.
    pub fn delta(&self, text: &str, ids: TokenIds<'_>, usage: Option<UsageCounts>) -> Bytes {
        self.event(&self.choice(text, ids, None), usage, "")
    }

    /// The last text, with its finish reason. When no usage event will follow, this event has the fingerprint.
    pub fn last(
        &self,
        text: &str,
        ids: TokenIds<'_>,
        finish_reason: &str,
        usage: Option<UsageCounts>,
        usage_follows: bool,
    ) -> Bytes {
        let tail =
            if usage_follows { String::new() } else { format!(r#","system_fingerprint":"{FINGERPRINT}""#) };
        self.event(&self.choice(text, ids, Some(finish_reason)), usage, &tail)
    }

    /// The event that `stream_options.include_usage` asks for: no choices.
    pub fn usage(&self, usage: UsageCounts) -> Bytes {
        let UsageCounts { prompt, completion } = usage;
        let total = u64::from(prompt) + u64::from(completion);
        self.event(
            "",
            None,
            &format!(
                r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}}},"system_fingerprint":"{FINGERPRINT}""#
            ),
        )
    }

    fn choice(&self, text: &str, ids: TokenIds<'_>, finish_reason: Option<&str>) -> String {
        let text = json(text);
        let output = json(&ids.output);
        let reason = finish_reason.map_or_else(|| "null".to_owned(), json);
        match self.kind {
            StreamKind::Chat => {
                let stop = if finish_reason.is_some() { r#""stop_reason":null,"# } else { "" };
                format!(
                    r#"{{"index":0,"delta":{{"content":{text}}},"logprobs":null,"finish_reason":{reason},{stop}"token_ids":{output}}}"#
                )
            }
            StreamKind::Completion => {
                let prompt = json(&ids.prompt);
                format!(
                    r#"{{"index":0,"text":{text},"logprobs":null,"finish_reason":{reason},"stop_reason":null,"prompt_token_ids":{prompt},"token_ids":{output}}}"#
                )
            }
        }
    }

    fn event(&self, choice: &str, usage: Option<UsageCounts>, tail: &str) -> Bytes {
        let mut out = String::with_capacity(self.head.len() + choice.len() + tail.len() + 112);
        out.push_str(&self.head);
        out.push_str(choice);
        out.push(']');
        if let Some(UsageCounts { prompt, completion }) = usage {
            let total = u64::from(prompt) + u64::from(completion);
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion},"completion_tokens_details":null}}"#
            );
        }
        out.push_str(tail);
        out.push_str("}\n\n");
        Bytes::from(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: UsageCounts = UsageCounts { prompt: 24, completion: 16 };

    const NO_IDS: TokenIds<'static> = TokenIds { prompt: None, output: None };

    fn chat() -> ChunkEncoder {
        ChunkEncoder::new(StreamKind::Chat, "chatcmpl-9892888acd3d47a8", 1_796_078_198, "tiny")
    }

    fn payload(event: &Bytes) -> String {
        let text = std::str::from_utf8(event).unwrap();
        text.strip_prefix("data: ").and_then(|text| text.strip_suffix("\n\n")).unwrap().to_owned()
    }

    // The expected texts are events of a captured vLLM 0.32.0 stream; only the fingerprint differs.
    #[test]
    fn chat_events_are_the_captured_bytes() {
        const HEAD: &str = r#"{"id":"chatcmpl-9892888acd3d47a8","object":"chat.completion.chunk","created":1796078198,"model":"tiny","choices":["#;
        let expect = [
            (
                chat().role(None, None),
                r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
            ),
            (
                chat().role(None, Some(UsageCounts { prompt: 24, completion: 0 })),
                r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":24,"total_tokens":24,"completion_tokens":0,"completion_tokens_details":null},"prompt_token_ids":null,"prompt_text":null}"#,
            ),
            (
                chat().delta("wo", NO_IDS, None),
                r#"{"index":0,"delta":{"content":"wo"},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            ),
            (
                chat().last("", NO_IDS, "length", None, true),
                r#"{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}]}"#,
            ),
            (
                chat().last("", NO_IDS, "length", Some(USAGE), true),
                r#"{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}],"usage":{"prompt_tokens":24,"total_tokens":40,"completion_tokens":16,"completion_tokens_details":null}}"#,
            ),
            (
                chat().last("", NO_IDS, "length", None, false),
                r#"{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}],"system_fingerprint":"vllm-0.32.0-mock"}"#,
            ),
            (
                chat().usage(USAGE),
                r#"],"usage":{"prompt_tokens":24,"total_tokens":40,"completion_tokens":16},"system_fingerprint":"vllm-0.32.0-mock"}"#,
            ),
        ];
        for (event, tail) in expect {
            assert_eq!(payload(&event), format!("{HEAD}{tail}"));
        }
    }

    #[test]
    fn completion_events_are_the_captured_bytes() {
        let chunks =
            ChunkEncoder::new(StreamKind::Completion, "cmpl-8a3cbef79c03941d", 1_796_078_229, "tiny");
        assert_eq!(
            payload(&chunks.delta(" encode", NO_IDS, None)),
            r#"{"id":"cmpl-8a3cbef79c03941d","object":"text_completion","created":1796078229,"model":"tiny","choices":[{"index":0,"text":" encode","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#
        );
        assert_eq!(
            payload(&chunks.last(" inte", NO_IDS, "length", None, true)),
            r#"{"id":"cmpl-8a3cbef79c03941d","object":"text_completion","created":1796078229,"model":"tiny","choices":[{"index":0,"text":" inte","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#
        );
    }

    // Where they stand: vLLM's protocol of its chat and completions routes.
    #[test]
    fn token_ids_stand_with_the_first_event_and_with_each_text() {
        let ids = TokenIds { prompt: Some(&[1, 2]), output: Some(&[7]) };
        let value = |event: &Bytes| serde_json::from_str::<serde_json::Value>(&payload(event)).unwrap();
        let role = value(&chat().role(ids.prompt, None));
        assert_eq!(role["prompt_token_ids"], serde_json::json!([1, 2]));
        let text = value(&chat().delta("a", ids, None));
        assert_eq!(text["choices"][0]["token_ids"], serde_json::json!([7]));
        assert!(text.get("prompt_token_ids").is_none());
        let text = value(&ChunkEncoder::new(StreamKind::Completion, "c", 1, "m").delta("a", ids, None));
        assert_eq!(text["choices"][0]["prompt_token_ids"], serde_json::json!([1, 2]));
        assert_eq!(text["choices"][0]["token_ids"], serde_json::json!([7]));
    }

    #[test]
    fn text_ids_and_models_are_escaped() {
        let chunks = ChunkEncoder::new(StreamKind::Chat, "a\"b", 1, "m\\n");
        let text = payload(&chunks.delta("x\"\n\u{1}", NO_IDS, None));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["id"], "a\"b");
        assert_eq!(value["model"], "m\\n");
        assert_eq!(value["choices"][0]["delta"]["content"], "x\"\n\u{1}");
    }
}
