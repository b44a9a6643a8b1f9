//! OpenAI-style answers: the chunks of a stream ([`parse_chunk`]), whole bodies ([`parse_body`]) and the server's
//! message in an error body ([`error_message`]).
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
mod surrogates;
mod usage;

pub use body::{Body, parse_body};
pub use chunk::{Chunk, parse_chunk, parse_event};
pub use reader::ChunkReader;
pub use usage::Usage;
pub(crate) use error::clean;
pub use error::{ChunkError, MESSAGE_LIMIT, ServerError, error_message};

/// The payload that ends a stream.
pub const DONE: &str = "[DONE]";
