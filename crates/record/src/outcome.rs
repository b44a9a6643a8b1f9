use serde::{Deserialize, Serialize};
use std::fmt;

/// How a request ended. Failures count as misses in every SLO and never enter success percentiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Outcome {
    /// Complete: `[DONE]`, or a finish reason and a clean end of the body.
    Ok,
    /// Anything else.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// What the server or the system said, bounded.
        message: String,
    },
}

/// The kinds of failure that are told apart and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No connection could be made.
    Connect,
    /// A status other than 2xx.
    HttpStatus,
    /// An error told inside a 200: an error event, an error object in a chunk or in place of the stream.
    StreamError,
    /// The body ended with neither `[DONE]` nor a finish reason.
    Truncated,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the response's head.
    Closed,
    /// A time limit of the client passed.
    Timeout,
    /// Not SSE, JSON or HTTP, or beyond a bound.
    BadPayload,
    /// Ended well, with no generated text and no token counted.
    Empty,
    /// Refused by this client's own policy, for example a redirect that it may not follow.
    Policy,
    /// Given up by this client, for example when the user stopped the run.
    Cancelled,
}

/// The time limits of the client, told apart where one has passed ([`FailureKind::Timeout`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeLimit {
    /// For a connection.
    Connect,
    /// From sending the request to its first token.
    FirstToken,
    /// Between two reads, from the first token on.
    Idle,
    /// For the whole.
    Total,
}

impl TimeLimit {
    /// The name as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::FirstToken => "first_token",
            Self::Idle => "idle",
            Self::Total => "total",
        }
    }
}

impl Outcome {
    /// True for [`Outcome::Ok`].
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }

    /// The kind of failure, if it is one.
    pub const fn failure(&self) -> Option<FailureKind> {
        match self {
            Self::Ok => None,
            Self::Failed { kind, .. } => Some(*kind),
        }
    }
}

impl FailureKind {
    /// The name as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::HttpStatus => "http_status",
            Self::StreamError => "stream_error",
            Self::Truncated => "truncated",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Timeout => "timeout",
            Self::BadPayload => "bad_payload",
            Self::Empty => "empty",
            Self::Policy => "policy",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
