//! Server-sent events: bytes in, events out, after WHATWG HTML 9.2.6.
//!
//! [`SseDecoder`] takes the bytes in whatever pieces they come and gives the same events. An event is handed out as
//! soon as the bytes that complete it are there.

mod decoder;
mod sniff;

pub use decoder::{SseDecoder, SseEvent};
pub use sniff::{Sniff, looks_like_sse, sniff};

use thiserror::Error;

/// Longest event by default, bytes.
pub const DEFAULT_EVENT_LIMIT: usize = 64 << 20;

/// What was wrong in an event stream.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("an event of the stream is longer than the limit of {limit} bytes; it was dropped")]
pub struct SseError {
    limit: usize,
}

impl SseError {
    /// The limit that was passed, bytes.
    pub const fn limit(&self) -> usize {
        self.limit
    }
}
