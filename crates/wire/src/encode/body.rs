use super::{FINGERPRINT, TokenIds, UsageCounts, json};

/// What a body that is not streamed says.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// `chatcmpl-...` or `cmpl-...`.
    pub id: &'a str,
    /// Seconds since the Unix epoch.
    pub created: u64,
    /// The model's name.
    pub model: &'a str,
    /// The generated text.
    pub text: &'a str,
    /// `stop`, `length`, ...
    pub finish_reason: &'a str,
    /// Token counts; `None` leaves `usage` null.
    pub usage: Option<UsageCounts>,
    /// Only in the bodies of the chat and completions routes.
    pub ids: TokenIds<'a>,
}

/// The body of `/v1/chat/completions` without `stream`.
pub fn chat_body(answer: &Answer<'_>) -> String {
    let Answer { created, .. } = answer;
    let (id, model, text, reason, usage) = parts(answer);
    let (prompt_ids, ids) = (json(&answer.ids.prompt), json(&answer.ids.output));
    format!(
        r#"{{"id":{id},"object":"chat.completion","created":{created},"model":{model},"choices":[{{"index":0,"message":{{"role":"assistant","content":{text},"refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null}},"logprobs":null,"finish_reason":{reason},"stop_reason":null,"token_ids":{ids},"routed_experts":null}}],"service_tier":null,"system_fingerprint":"{FINGERPRINT}","usage":{usage},"prompt_logprobs":null,"prompt_token_ids":{prompt_ids},"prompt_text":null,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}}"#
    )
}

/// The body of `/v1/completions` without `stream`.
pub fn completion_body(answer: &Answer<'_>) -> String {
    let Answer { created, .. } = answer;
    let (id, model, text, reason, usage) = parts(answer);
    let (prompt_ids, ids) = (json(&answer.ids.prompt), json(&answer.ids.output));
    format!(
        r#"{{"id":{id},"object":"text_completion","created":{created},"model":{model},"choices":[{{"index":0,"text":{text},"logprobs":null,"finish_reason":{reason},"stop_reason":null,"token_ids":{ids},"prompt_logprobs":null,"prompt_token_ids":{prompt_ids},"routed_experts":null}}],"service_tier":null,"system_fingerprint":"{FINGERPRINT}","usage":{usage},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}}"#
    )
}

/// id, model, text, reason and usage as JSON.
fn parts(answer: &Answer<'_>) -> (String, String, String, String, String) {
    let usage = match answer.usage {
        None => "null".to_owned(),
        Some(UsageCounts { prompt, completion }) => format!(
            r#"{{"prompt_tokens":{prompt},"total_tokens":{},"completion_tokens":{completion},"prompt_tokens_details":null,"completion_tokens_details":null}}"#,
            u64::from(prompt) + u64::from(completion)
        ),
    };
    (json(answer.id), json(answer.model), json(answer.text), json(answer.finish_reason), usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: UsageCounts = UsageCounts { prompt: 2040, completion: 8 };

    // A captured body of vLLM 0.32.0; only the fingerprint differs.
    #[test]
    fn a_completion_is_the_captured_bytes() {
        let body = completion_body(&Answer {
            id: "cmpl-816890711c4eb838",
            created: 1_796_078_231,
            model: "tiny",
            text: " sh sh sh sh",
            finish_reason: "length",
            usage: Some(USAGE),
            ids: TokenIds::default(),
        });
        assert_eq!(
            body,
            r#"{"id":"cmpl-816890711c4eb838","object":"text_completion","created":1796078231,"model":"tiny","choices":[{"index":0,"text":" sh sh sh sh","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null}],"service_tier":null,"system_fingerprint":"vllm-0.32.0-mock","usage":{"prompt_tokens":2040,"total_tokens":2048,"completion_tokens":8,"prompt_tokens_details":null,"completion_tokens_details":null},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#
        );
    }

    #[test]
    fn a_chat_answer_is_the_captured_bytes() {
        let body = chat_body(&Answer {
            id: "chatcmpl-b13acfe83739b271",
            created: 1_796_078_231,
            model: "tiny",
            text: " mailbox ac(*cate",
            finish_reason: "length",
            usage: Some(UsageCounts { prompt: 24, completion: 5 }),
            ids: TokenIds::default(),
        });
        assert_eq!(
            body,
            r#"{"id":"chatcmpl-b13acfe83739b271","object":"chat.completion","created":1796078231,"model":"tiny","choices":[{"index":0,"message":{"role":"assistant","content":" mailbox ac(*cate","refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"routed_experts":null}],"service_tier":null,"system_fingerprint":"vllm-0.32.0-mock","usage":{"prompt_tokens":24,"total_tokens":29,"completion_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":null},"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#
        );
    }
}
