//! The JSON as servers send it.

use super::lenient::{Count, List, Object, Text};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub struct RawChunk<'a> {
    #[serde(borrow, default)]
    pub choices: List<RawChoice<'a>>,
    #[serde(default)]
    pub usage: Object<RawUsage>,
    #[serde(default)]
    pub error: Value,
    /// `error` in the error bodies of older servers, whose message stands at the top.
    #[serde(borrow, default)]
    pub object: Text<'a>,
    #[serde(borrow, default)]
    pub message: Text<'a>,
    #[serde(default)]
    pub code: Value,
}

#[derive(Debug, Deserialize)]
pub struct RawChoice<'a> {
    #[serde(borrow, default)]
    pub delta: Object<RawDelta<'a>>,
    #[serde(borrow, default)]
    pub message: Object<RawDelta<'a>>,
    /// Of the completions route.
    #[serde(borrow, default)]
    pub text: Text<'a>,
    #[serde(borrow, default)]
    pub finish_reason: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub struct RawDelta<'a> {
    #[serde(borrow, default)]
    pub role: Text<'a>,
    #[serde(borrow, default)]
    pub content: Text<'a>,
    #[serde(borrow, default)]
    pub reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    pub reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub refusal: Text<'a>,
    #[serde(borrow, default)]
    pub tool_calls: List<RawToolCall<'a>>,
    /// The form before `tool_calls`.
    #[serde(borrow, default)]
    pub function_call: Object<RawFunction<'a>>,
}

#[derive(Debug, Deserialize)]
pub struct RawToolCall<'a> {
    #[serde(borrow, default)]
    pub function: Object<RawFunction<'a>>,
}

#[derive(Debug, Deserialize)]
pub struct RawFunction<'a> {
    #[serde(borrow, default)]
    pub name: Text<'a>,
    #[serde(borrow, default)]
    pub arguments: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub struct RawUsage {
    #[serde(default)]
    pub prompt_tokens: Count,
    #[serde(default)]
    pub completion_tokens: Count,
    #[serde(default)]
    pub prompt_tokens_details: Object<RawPromptDetails>,
}

#[derive(Debug, Deserialize)]
pub struct RawPromptDetails {
    #[serde(default)]
    pub cached_tokens: Count,
}
