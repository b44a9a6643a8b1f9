use std::{num::NonZeroU32, time::Duration};

/// What goes wrong with which request, and how streams look. The default is a healthy vLLM.
///
/// Requests to the generating routes are numbered from 0 as they arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Faults of single requests; the first that fits a request's number applies.
    pub requests: Vec<Fault>,
    /// How streams look.
    pub stream: StreamShape,
    /// The model ends its text after this many tokens, unless a request sets `ignore_eos`.
    pub eos_after: Option<NonZeroU32>,
    /// Fields of a request that the server does not take: it answers 400 as vLLM does where it forbids unknown fields.
    pub refuse_fields: Vec<String>,
}

/// A fault of every `every`-th request: of number `every - 1`, `2 * every - 1`, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// 1 means every request.
    pub every: NonZeroU32,
    /// What goes wrong.
    pub kind: FaultKind,
}

/// What can go wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Refused with this status and an error body; the engine never sees it.
    Status(u16),
    /// The connection is cut after so many tokens, in mid-body.
    Cut {
        /// Tokens emitted before.
        after_tokens: u32,
    },
    /// The stream tells an error after so many tokens, then ends with `[DONE]` as vLLM's does. Without
    /// streaming: status 500.
    ErrorEvent {
        /// Tokens emitted before.
        after_tokens: u32,
    },
    /// Nothing is sent for a while after so many tokens; what the engine makes meanwhile comes in a burst.
    Stall {
        /// Tokens emitted before.
        after_tokens: u32,
        /// For how long.
        pause: Duration,
    },
}

/// How a stream looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamShape {
    /// When the role of a chat answer, or the opening of an answer of the responses or messages route, is sent.
    pub role: RoleChunk,
    /// Tokens per event from the second event on, as vLLM's `--stream-interval`; the first event has one token.
    pub interval: NonZeroU32,
    /// Every so-maniest event has an empty text, which comes with the next one, as an incomplete UTF-8 sequence
    /// does.
    pub empty_every: Option<NonZeroU32>,
    /// Leaves usage out although it was asked for.
    pub no_usage: bool,
}

/// When the role of a chat answer is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoleChunk {
    /// In an event of its own right before the first token, as vLLM does.
    #[default]
    WithFirstToken,
    /// In an event of its own as soon as the request is accepted.
    Early,
    /// Not at all.
    Absent,
}

impl Default for StreamShape {
    fn default() -> Self {
        Self { role: RoleChunk::default(), interval: NonZeroU32::MIN, empty_every: None, no_usage: false }
    }
}

impl Faults {
    /// The fault of a request.
    pub fn of_request(&self, number: u64) -> Option<&FaultKind> {
        let fits = |fault: &&Fault| (number + 1).is_multiple_of(u64::from(fault.every.get()));
        self.requests.iter().find(fits).map(|fault| &fault.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_request() {
        let every = NonZeroU32::new(3).unwrap();
        let faults =
            Faults { requests: vec![Fault { every, kind: FaultKind::Status(503) }], ..Faults::default() };
        let hit: Vec<u64> = (0..9).filter(|number| faults.of_request(*number).is_some()).collect();
        assert_eq!(hit, [2, 5, 8]);
    }
}
