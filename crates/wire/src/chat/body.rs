use super::{
    Chunk, ChunkError, ServerError, Usage,
    fill::read,
    payload::{First, Payload},
};
use serde_json::de::SliceRead;
use std::borrow::Cow;

/// A whole answer that was not streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body<'a> {
    /// Visible text of all choices.
    pub content: Cow<'a, str>,
    /// Reasoning text.
    pub reasoning: Cow<'a, str>,
    /// Names and arguments of tool calls.
    pub tool_call: Cow<'a, str>,
    /// Number of generated token ids, where the server sends them (`return_token_ids`).
    pub tokens: Option<u32>,
    /// Number of ids of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Why the server stopped.
    pub finish_reason: Option<Cow<'a, str>>,
    /// The server's counts.
    pub usage: Option<Usage>,
    /// An error in place of an answer.
    pub error: Option<ServerError>,
}

/// Reads the body of any of the four routes. A body that is JSON but no answer gives a [`Body`] without text,
/// finish reason and error.
pub fn parse_body(bytes: &[u8]) -> Result<Body<'_>, ChunkError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut payload = Payload { first: First::Message, ..Payload::default() };
    match read(SliceRead::new(bytes), &mut payload) {
        Ok(()) => {
            let Chunk {
                content,
                reasoning,
                tool_call,
                tokens,
                prompt_tokens,
                finish_reason,
                usage,
                error,
                ..
            } = Chunk::from_payload(payload, "");
            Ok(Body { content, reasoning, tool_call, tokens, prompt_tokens, finish_reason, usage, error })
        }
        Err(error) => Err(ChunkError::of_body(error, bytes)),
    }
}

impl Body<'_> {
    /// Generated text of every channel, in the order content, reasoning, tool call.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [&*self.content, &*self.reasoning, &*self.tool_call].into_iter().filter(|text| !text.is_empty())
    }

    /// True when there is neither text nor a finish reason nor an error: JSON, but no answer.
    pub fn is_empty(&self) -> bool {
        self.texts().next().is_none() && self.finish_reason.is_none() && self.error.is_none()
    }
}
