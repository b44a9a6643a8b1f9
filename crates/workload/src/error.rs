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
    Arrivals,
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

    pub(crate) fn ramp_without_window() -> Self {
        let message = "a ramp needs a window of fixed length; give --duration".to_owned();
        Self { kind: Kind::Arrivals, message }
    }

    pub(crate) fn states_too_short() -> Self {
        let message =
            "the states of these on-off arrivals are so much shorter than the gaps between them that they \
                       are no different from poisson; write poisson, or longer states"
                .to_owned();
        Self { kind: Kind::Arrivals, message }
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

    /// True when requests cannot arrive as asked for.
    pub fn is_arrivals(&self) -> bool {
        self.kind == Kind::Arrivals
    }
}
