use thiserror::Error;

/// Why an engine cannot be made, or cannot take a request.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct EngineError {
    message: String,
}

impl EngineError {
    pub(crate) fn zero(name: &str) -> Self {
        Self { message: format!("mock engine: `{name}` is 0; give at least 1") }
    }

    pub(crate) fn too_large(tokens: u64, capacity: u64) -> Self {
        Self {
            message: format!(
                "mock engine: the request may need {tokens} tokens, more than the {capacity} it can hold; \
                 shorten it, or raise `max-model-len` or `num-blocks`"
            ),
        }
    }

    pub(crate) fn no_tokens() -> Self {
        Self {
            message: "mock engine: the request has no prompt token or asks for no output token".to_owned(),
        }
    }
}
