//! Answers of the four routes: the chunks of a stream ([`parse_chunk`], [`ChunkReader`]), whole bodies
//! ([`parse_body`]), the server's message in an error body ([`error_message`]) and the field of a request that it
//! refuses ([`refused_field`]).
//!
//! The dialects are OpenAI's chat, completions and responses and Anthropic's messages. A payload is told by what it says
//! of itself (`choices`, `type`, `object`), not by the route that it came from, and all of them become the same [`Chunk`]:
//!
//! | | Text | Finish | Usage | Over |
//! |---|---|---|---|---|
//! | chat | `choices[].delta` | `finish_reason` | `usage` of any chunk | `[DONE]` |
//! | completions | `choices[].text` | `finish_reason` | `usage` of any chunk | `[DONE]` |
//! | responses | `response.*.delta` | status, or why incomplete | in `response.completed` | `response.completed` |
//! | messages | `content_block_delta` | `stop_reason` | `message_start`, `message_delta` | `message_stop` |
//!
//! Servers differ in what they leave out, so every field may be absent, null or of another type; what is unknown is
//! ignored. A field that cannot be used never costs the others.

mod body;
mod chunk;
mod delta;
mod dialect;
mod error;
mod fill;
pub(crate) mod lenient;
mod payload;
mod reader;
mod refusal;
mod surrogates;
mod usage;

pub use body::{Body, parse_body};
pub use chunk::{Chunk, parse_chunk, parse_event};
pub(crate) use error::clean;
pub use error::{ChunkError, MESSAGE_LIMIT, ServerError, error_message};
pub use reader::ChunkReader;
pub use refusal::{RefusedField, refused_field};
pub use usage::Usage;

/// The payload that ends a stream.
pub const DONE: &str = "[DONE]";
