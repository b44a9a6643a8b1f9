use super::lenient::{Count, Object};
use serde::Deserialize;

/// The server's counts. In a stream they are cumulative: the last one holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub prompt_tokens: Option<u32>,
    /// Generated tokens.
    pub completion_tokens: Option<u32>,
    /// Prompt tokens found in the prefix cache.
    pub cached_tokens: Option<u32>,
}

/// A `usage` of any dialect.
#[derive(Debug, Default, Deserialize)]
pub struct RawUsage {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default)]
    prompt_tokens_details: Object<Details>,
    /// Of the responses and messages dialects.
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    input_tokens_details: Object<Details>,
    /// Of the messages dialect, where `input_tokens` leaves both of these out.
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
}

#[derive(Debug, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
}

impl Usage {
    /// Absent when no count was told.
    pub(super) fn from_raw(raw: RawUsage) -> Option<Self> {
        let detail = |details: Object<Details>| details.0.and_then(|details| details.cached_tokens.0);
        let (read, created) = (raw.cache_read_input_tokens.0, raw.cache_creation_input_tokens.0);
        let input = raw
            .input_tokens
            .0
            .and_then(|input| input.checked_add(read.unwrap_or(0))?.checked_add(created.unwrap_or(0)));
        let usage = Self {
            prompt_tokens: raw.prompt_tokens.0.or(input),
            completion_tokens: raw.completion_tokens.0.or(raw.output_tokens.0),
            cached_tokens: detail(raw.prompt_tokens_details)
                .or(detail(raw.input_tokens_details))
                .or(read)
                .or(raw.prompt_cache_hit_tokens.0),
        };
        (usage != Self::default()).then_some(usage)
    }

    /// The same without the generated tokens, which the messages dialect only estimates at the start of its stream.
    pub(super) fn of_prompt(self) -> Option<Self> {
        let usage = Self { completion_tokens: None, ..self };
        (usage != Self::default()).then_some(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(json: &str) -> Option<(Option<u32>, Option<u32>, Option<u32>)> {
        let raw: Object<RawUsage> = serde_json::from_str(json).unwrap();
        let usage = Usage::from_raw(raw.0?)?;
        Some((usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens))
    }

    // The meaning of the counts: API references of OpenAI (chat, responses), Anthropic (messages) and DeepSeek.
    #[test]
    fn the_names_of_every_dialect() {
        let cases = [
            (
                r#"{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}"#,
                Some((Some(9), Some(2), Some(4))),
            ),
            (
                r#"{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":4},"total_tokens":11}"#,
                Some((Some(9), Some(2), Some(4))),
            ),
            (
                r#"{"input_tokens":9,"cache_read_input_tokens":100,"cache_creation_input_tokens":50,"output_tokens":2}"#,
                Some((Some(159), Some(2), Some(100))),
            ),
            (
                r#"{"input_tokens":9,"cache_read_input_tokens":null,"output_tokens":0}"#,
                Some((Some(9), Some(0), None)),
            ),
            (r#"{"prompt_tokens":9,"prompt_cache_hit_tokens":3}"#, Some((Some(9), None, Some(3)))),
            (
                r#"{"prompt_tokens":9,"input_tokens":9,"cache_read_input_tokens":3}"#,
                Some((Some(9), None, Some(3))),
            ),
            (r#"{"input_tokens":4294967295,"cache_read_input_tokens":1}"#, Some((None, None, Some(1)))),
            (r#"{"total_tokens":3}"#, None),
            ("[]", None),
        ];
        for (json, want) in cases {
            assert_eq!(usage(json), want, "{json}");
        }
    }
}
