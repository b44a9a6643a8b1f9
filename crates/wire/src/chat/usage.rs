use super::{
    fill::{Fill, Place, skip},
    lenient::Count,
};
use serde::{Deserialize, de::MapAccess};

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
#[derive(Debug, Default)]
pub struct RawUsage {
    prompt: Option<u32>,
    completion: Option<u32>,
    cached: Option<u32>,
    /// Of the responses and messages dialects.
    input: Option<u32>,
    output: Option<u32>,
    /// Of the messages dialect, where `input_tokens` leaves both of these out.
    read: Option<u32>,
    created: Option<u32>,
}

impl<'de> Fill<'de> for RawUsage {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum Key {
            PromptTokens,
            CompletionTokens,
            #[serde(alias = "input_tokens_details")]
            PromptTokensDetails,
            #[serde(alias = "prompt_cache_hit_tokens")]
            CachedTokens,
            InputTokens,
            OutputTokens,
            CacheReadInputTokens,
            CacheCreationInputTokens,
            #[serde(other)]
            Other,
        }
        while let Some(key) = map.next_key::<Key>()? {
            let place = match key {
                Key::PromptTokens => &mut self.prompt,
                Key::CompletionTokens => &mut self.completion,
                Key::CachedTokens => &mut self.cached,
                Key::InputTokens => &mut self.input,
                Key::OutputTokens => &mut self.output,
                Key::CacheReadInputTokens => &mut self.read,
                Key::CacheCreationInputTokens => &mut self.created,
                Key::PromptTokensDetails => {
                    let mut details = Self::default();
                    map.next_value_seed(Place(&mut details))?;
                    self.cached = details.cached.or(self.cached);
                    continue;
                }
                Key::Other => {
                    skip(&mut map)?;
                    continue;
                }
            };
            *place = map.next_value::<Count>()?.0.or(*place);
        }
        Ok(())
    }
}

impl Usage {
    /// Absent when no count was told.
    pub(super) fn from_raw(raw: &RawUsage) -> Option<Self> {
        let input = raw.input.and_then(|input| {
            input.checked_add(raw.read.unwrap_or(0))?.checked_add(raw.created.unwrap_or(0))
        });
        let usage = Self {
            prompt_tokens: raw.prompt.or(input),
            completion_tokens: raw.completion.or(raw.output),
            cached_tokens: raw.cached.or(raw.read),
        };
        (usage != Self::default()).then_some(usage)
    }

    /// Reads the value of an entry.
    pub(super) fn read<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Self>, A::Error> {
        let mut raw = RawUsage::default();
        map.next_value_seed(Place(&mut raw))?;
        Ok(Self::from_raw(&raw))
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
        let mut raw = RawUsage::default();
        let mut deserializer = serde_json::Deserializer::from_str(json);
        serde::de::DeserializeSeed::deserialize(Place(&mut raw), &mut deserializer).unwrap();
        let usage = Usage::from_raw(&raw)?;
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
            (r#"{"completion_tokens":3,"completion_tokens":4}"#, Some((None, Some(4), None))),
            (r#"{"total_tokens":3}"#, None),
            ("[]", None),
        ];
        for (json, want) in cases {
            assert_eq!(usage(json), want, "{json}");
        }
    }
}
