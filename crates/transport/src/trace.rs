use crate::TransportError;
use plimsoll_record::{Connection, FailureKind, Nanos, Outcome, StreamEvent, TimeLimit};
use tokio::time::Instant;

/// Turns the clock's instants into nanoseconds since the run's start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// The run starts now.
    pub fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// The run started at `epoch`.
    pub const fn at(epoch: Instant) -> Self {
        Self { epoch }
    }

    /// The run's start.
    pub const fn epoch(self) -> Instant {
        self.epoch
    }

    /// Nanoseconds since the run's start; zero for earlier instants.
    pub fn nanos(self, instant: Instant) -> Nanos {
        let elapsed = instant.saturating_duration_since(self.epoch);
        Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Now.
    pub fn now(self) -> Nanos {
        self.nanos(Instant::now())
    }
}

/// What an exchange saw. Filled as things happen, so that it also tells of an exchange that was cut off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// First byte handed to the socket.
    pub sent: Option<Nanos>,
    /// The read that completed the response's head.
    pub head: Option<Nanos>,
    /// First event.
    pub first_event: Option<Nanos>,
    /// First event with generated text or a counted token.
    pub first_token: Option<Nanos>,
    /// Last event with generated text, or the first if a later count is not tied to text.
    pub last_token: Option<Nanos>,
    /// The response was over.
    pub end: Option<Nanos>,
    /// Every event.
    pub events: Vec<StreamEvent>,
    /// Prompt tokens, from usage, or else from the ids of the prompt.
    pub input_tokens: Option<u32>,
    /// Of these cached, from usage.
    pub cached_tokens: Option<u32>,
    /// Output tokens, from usage.
    pub output_tokens: Option<u32>,
    /// Generated token ids so far, where every event with text has them.
    pub output_ids: Option<u32>,
    /// Why the server stopped.
    pub finish_reason: Option<String>,
    /// Status of the response.
    pub http_status: Option<u16>,
    /// How long the server asked to wait before another attempt, with a refusal, seconds.
    pub retry_after_s: Option<u32>,
    /// The connection.
    pub conn: Connection,
    /// Redirects that were followed.
    pub redirects: u32,
    /// Content-Encoding that was undone.
    pub encoding: Option<String>,
    /// Largest time from the read of an event to its use.
    pub client_lag: Nanos,
    /// Largest time from the kernel's receipt of bytes to their read, where the kernel tells.
    pub kernel_lag: Option<Nanos>,
    /// Frames that could not be read.
    pub malformed: u32,
    /// Generated text in all channels, bounded.
    pub text: String,
    /// True when `text` was cut.
    pub text_cut: bool,
    /// How it ended; absent while it has not.
    pub outcome: Option<Outcome>,
    /// Where it ended by a time limit: which one.
    pub time_limit: Option<TimeLimit>,
}

impl Trace {
    /// Ends the trace with a failure, unless it has ended already.
    pub fn fail(&mut self, kind: FailureKind, message: impl Into<String>) {
        if self.outcome.is_none() {
            self.outcome = Some(Outcome::Failed { kind, message: message.into() });
        }
    }

    /// The same with what an error tells.
    pub(crate) fn fail_by(&mut self, error: &TransportError) {
        if self.outcome.is_none() {
            self.fail(error.kind(), error.to_string());
            self.time_limit = error.time_limit();
        }
    }
}
