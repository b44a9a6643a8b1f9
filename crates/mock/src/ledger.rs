use crate::engine::{FinishReason, RequestId};
use plimsoll_record::Nanos;

/// What the mock did, and when: the truth that a client's records are held against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Requests that the engine took, in order of arrival.
    pub requests: Vec<LedgerEntry>,
    /// Requests to the generating routes that were refused, in order.
    pub refused: Vec<Refusal>,
}

/// One request that the engine took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The engine's number; it is also the index in [`Ledger::requests`].
    pub id: RequestId,
    /// The `id` of the answer: `chatcmpl-...`, `cmpl-...`, `resp_...` or `msg_...`, with the client's `X-Request-Id` if it sent one.
    pub response_id: String,
    /// Its body had been read and was valid.
    pub arrival: Nanos,
    /// It joined the running batch, for the last time if it was preempted.
    pub admission: Option<Nanos>,
    /// Prompt tokens, those of the chat template included.
    pub prompt_tokens: u32,
    /// Of these, found in the prefix cache.
    pub cached_tokens: u32,
    /// Tokens asked for.
    pub max_tokens: u32,
    /// Hash of the prompt's first 16 tokens (of all, if fewer): equal for prompts that start alike.
    pub first_block: u64,
    /// Each token's emission.
    pub tokens: Vec<Emission>,
    /// How often it was preempted.
    pub preemptions: u32,
    /// When the last token was emitted, or the request was given up.
    pub finish: Option<Nanos>,
    /// Why it ended.
    pub reason: Option<FinishReason>,
}

/// When a token was emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// On the engine's schedule.
    pub planned: Nanos,
    /// When it was handed to the connection: the first instant at or after `planned` at which the runtime's timer
    /// and the connection were ready.
    pub actual: Nanos,
}

/// A request that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When.
    pub at: Nanos,
    /// With which status.
    pub status: u16,
}

impl LedgerEntry {
    /// True when the client went away before the end.
    pub fn aborted(&self) -> bool {
        self.reason == Some(FinishReason::Abort)
    }

    /// True when all tokens were emitted.
    pub fn completed(&self) -> bool {
        matches!(self.reason, Some(FinishReason::Stop | FinishReason::Length))
    }

    /// First token minus arrival.
    pub fn ttft(&self) -> Option<Nanos> {
        self.tokens.first().map(|token| token.actual - self.arrival)
    }

    /// Last token minus arrival, when completed.
    pub fn e2e(&self) -> Option<Nanos> {
        self.tokens.last().filter(|_| self.completed()).map(|token| token.actual - self.arrival)
    }
}

impl Ledger {
    /// Tokens emitted, over all requests.
    pub fn emitted_tokens(&self) -> u64 {
        self.requests.iter().map(|entry| entry.tokens.len() as u64).sum()
    }
}
