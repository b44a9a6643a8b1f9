use thiserror::Error;

/// Why no workload could be made.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct WorkloadError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    PromptFile,
    Tokenizer,
    Calibration,
}

impl WorkloadError {
    pub(crate) fn prompt_file(message: String) -> Self {
        Self { kind: Kind::PromptFile, message }
    }

    pub(crate) fn tokenizer(message: String) -> Self {
        Self { kind: Kind::Tokenizer, message }
    }

    pub(crate) fn calibration(message: String) -> Self {
        Self { kind: Kind::Calibration, message }
    }

    /// True when a file of prompts could not be used.
    pub fn is_prompt_file(&self) -> bool {
        self.kind == Kind::PromptFile
    }

    /// True when a tokenizer could not be used.
    pub fn is_tokenizer(&self) -> bool {
        self.kind == Kind::Tokenizer
    }

    /// True when the server's counts of the probes contradict each other.
    pub fn is_calibration(&self) -> bool {
        self.kind == Kind::Calibration
    }
}
