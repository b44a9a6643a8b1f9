use plimsoll_record::Nanos;
use std::fmt;

/// Names a request inside one engine; given out in order of submission, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What a request asks of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineRequest {
    /// Token ids of the prompt.
    pub prompt: Vec<u32>,
    /// Largest number of tokens to generate.
    pub max_tokens: u32,
    /// The model would end by itself after this many tokens.
    pub eos_after: Option<u32>,
}

/// Something that happened in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineEvent {
    /// When, on the engine's own schedule.
    pub at: Nanos,
    /// To which request.
    pub id: RequestId,
    /// What.
    pub kind: EventKind,
}

/// Kinds of [`EngineEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It joined the running batch. Comes again when it was preempted.
    Admitted {
        /// Prompt tokens found in the prefix cache.
        cached: u32,
    },
    /// It lost its KV blocks and waits again; its tokens are computed anew later.
    Preempted,
    /// It generated a token.
    Token {
        /// From 0.
        index: u32,
    },
    /// It is over. After the last token, at the same instant.
    Finished {
        /// Why.
        reason: FinishReason,
    },
}

/// Why a request ended; all that vLLM counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FinishReason {
    /// The model ended by itself.
    Stop,
    /// `max_tokens` were generated.
    Length,
    /// The client went away.
    Abort,
    /// The engine failed.
    Error,
    /// Cut for repeating itself; the mock never does.
    Repetition,
}

impl FinishReason {
    /// All, in the order of vLLM's metrics page.
    pub const ALL: [Self; 5] = [Self::Stop, Self::Length, Self::Abort, Self::Error, Self::Repetition];

    /// The name on the wire and on the metrics page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
            Self::Error => "error",
            Self::Repetition => "repetition",
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
