//! What a server sends: the shapes of vLLM 0.32, as bytes. Pure; the mock server is built on it.
//!
//! - [`ChunkEncoder`], [`ResponsesEncoder`], [`MessagesEncoder`]: the events of one streamed answer
//! - [`chat_body`], [`completion_body`], [`responses_body`], [`messages_body`]: answers that are not streamed
//! - [`ErrorBody`]: refusals, and errors told inside a stream
//! - [`sse_event`], [`DONE`]: the framing
//! - [`PageWriter`]: the Prometheus text format
//!
//! ```
//! use plimsoll_wire::encode::{ChunkEncoder, StreamKind, TokenIds, UsageCounts};
//! let chunks = ChunkEncoder::new(StreamKind::Completion, "cmpl-1", 1_700_000_000, "tiny");
//! let event = chunks.delta(" hello", TokenIds::default(), None);
//! assert!(event.starts_with(b"data: {\"id\":\"cmpl-1\",\"object\":\"text_completion\""));
//! assert!(event.ends_with(b"}\n\n"));
//! let usage = chunks.usage(UsageCounts { prompt: 12, completion: 16 });
//! assert!(usage.ends_with(b"\"total_tokens\":28,\"completion_tokens\":16},\"system_fingerprint\":\"vllm-0.32.0-mock\"}\n\n"));
//! ```

mod body;
mod chunk;
mod error;
mod messages;
mod number;
mod page;
mod responses;

pub use body::{Answer, chat_body, completion_body};
pub use chunk::{ChunkEncoder, StreamKind, TokenIds, UsageCounts};
pub use error::ErrorBody;
pub use messages::{MessagesEncoder, messages_body, messages_error};
pub use number::go_float;
pub use page::{HistogramValues, MetricKind, PageWriter};
pub use responses::{ResponsesEncoder, responses_body};

use bytes::Bytes;
use serde::Serialize;

/// The event that ends a stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// Build tag in `system_fingerprint`.
pub const FINGERPRINT: &str = "vllm-0.32.0-mock";

/// One event: `data: `, the payload, a blank line. A payload must be a single line, as JSON is.
pub fn sse_event(payload: &str) -> Bytes {
    let mut out = Vec::with_capacity(payload.len() + 8);
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(payload.as_bytes());
    out.extend_from_slice(b"\n\n");
    Bytes::from(out)
}

/// One event with a name.
pub fn named_event(name: &str, payload: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {payload}\n\n"))
}

/// JSON of a value that always has one (no maps with non-string keys, no failing `Serialize`).
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_data_line_and_a_blank_one() {
        assert_eq!(&sse_event("{}")[..], b"data: {}\n\n");
    }
}
