use crate::{Level, Nanos, Outcome, Phase, TimeLimit};
use serde::{Deserialize, Serialize};

/// One line of `requests.jsonl`: one request, written when it ended. Raw stamps, so that any definition of a
/// latency can be recomputed. Absent means not known or not reached; it never means zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestRecord {
    /// [`crate::RECORD_SCHEMA`].
    pub schema: u32,
    /// Number of the request, from 0, in its stream: that of the warm-up, or that of all others. With level, repeat and
    /// stream it names the planned request.
    pub id: u64,
    /// The level's load.
    pub level: Level,
    /// The repeat, from 0.
    pub repeat: u32,
    /// What the request was for.
    pub phase: Phase,
    /// The worker thread, from 0.
    pub worker: u32,
    /// The slot (virtual user) of the level, from 0.
    pub slot: u32,
    /// Which of the run's target addresses it went to, from 0; absent when there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
    /// Intended start. In a closed loop: the instant at which the slot became free. In an open loop: as scheduled.
    pub due_ns: Nanos,
    /// In an open loop: it had to wait for the cap on requests in flight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capped: bool,
    /// First byte handed to the socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<Nanos>,
    /// The response's head was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_ns: Option<Nanos>,
    /// First event of the stream, of whatever kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_ns: Option<Nanos>,
    /// First event with generated text (content, reasoning or tool call), or with a counted token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ns: Option<Nanos>,
    /// Last such event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_token_ns: Option<Nanos>,
    /// The request was over: `[DONE]`, the end of the body, or the failure.
    pub end_ns: Nanos,
    /// Every event of the stream in order.
    pub events: Vec<StreamEvent>,
    /// Prompt tokens, as the server counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
    /// Of these, found in the server's prefix cache, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
    /// Output tokens, from `token_source`. A count of chunks is never a count of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Where `output_tokens` comes from.
    pub token_source: TokenSource,
    /// Prompt tokens that the plan asked for; absent for prompts from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_input_tokens: Option<u32>,
    /// `max_tokens` of the request.
    pub max_tokens: u32,
    /// The server's word on why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The response's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// How long the server asked to wait before another attempt (`Retry-After`), seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u32>,
    /// Attempts before this one that failed and were repeated, as the plan asked for. Their time counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Of `retries`, those that were never sent, for example because no connection was made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent_retries: u32,
    /// Redirects that were followed, as the plan asked for. Their time counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redirects: u32,
    /// The connection it went over.
    pub conn: Connection,
    /// Largest time between the read that brought an event and its use by this client.
    pub client_lag_ns: Nanos,
    /// Largest time between the kernel's receipt of bytes and their read by this client, where the kernel tells. Looked at
    /// with the first read of an answer and once in 0.1 ms of a thread's reads, with every fourth while it is late; a read in
    /// between counts as late as the one before it that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_lag_ns: Option<Nanos>,
    /// Content-Encoding that the server used without being asked; undone while reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Frames that were neither an event nor a comment, skipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub malformed: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Where that is a time limit: which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<TimeLimit>,
    /// The generated text, bounded to 64 KiB at a character boundary.
    pub text: String,
    /// True when `text` was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_cut: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One event of a response's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamEvent {
    /// When the read that completed it returned.
    pub at_ns: Nanos,
    /// What it carried.
    pub kind: EventKind,
    /// Tokens it carried, where the server says so per event. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// True when it came in the same read as the event before it, so that its gap is not a gap in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coalesced: bool,
}

/// What an event carried. Only the first three are generated text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Visible text.
    Content,
    /// Reasoning text.
    Reasoning,
    /// Text of a tool call.
    ToolCall,
    /// A delta with a role only.
    Role,
    /// A delta without text.
    Empty,
    /// A finish reason without text.
    Finish,
    /// Usage without text.
    Usage,
    /// `[DONE]`.
    Done,
    /// An error told inside the stream.
    Error,
    /// A frame that could not be read.
    Malformed,
}

impl EventKind {
    /// True for the kinds that carry generated text.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Content | Self::Reasoning | Self::ToolCall)
    }
}

/// Where a count of output tokens comes from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The server's last `usage`.
    Usage,
    /// The ids of the generated tokens, which the server sends with its events, counted.
    TokenIds,
    /// A tokenizer file that the user named, over the generated text.
    Tokenizer,
    /// Not known.
    Unknown,
}

/// The connection a request went over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connection {
    /// True when an earlier request had opened it.
    pub reused: bool,
    /// Time to connect, when this request had to wait for that: TCP, and the proxy's part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<Nanos>,
    /// Time of the TLS handshake, when this request had to wait for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ns: Option<Nanos>,
}
