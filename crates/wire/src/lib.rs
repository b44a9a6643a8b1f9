//! Bytes in, values out: the formats that an LLM server speaks, without any I/O, clock or thread.
//!
//! | Module | Reads | Gives |
//! |---|---|---|
//! | [`sse`] | an event stream in pieces of any size | events |
//! | [`chat`] | the payload of an event, a whole body, an error body, of any of four routes | text by channel, finish reason, usage, error |
//! | [`prometheus`] | a metrics page | samples |
//! | [`concepts`] | the samples of a known server | gauges, counters and histograms under one set of names |
//! | [`models`] | `/v1/models`, `/version` | ids, lengths |
//! | [`url`] | an address as a user writes it | the addresses of the routes |
//!
//! [`request`] writes what a client sends, [`encode`] what a server sends.
//!
//! All that a server sends may be malformed or hostile: events are bounded in size, messages in length, nesting in
//! depth; what cannot be read is an error value or a count, never a panic, and never costs what stands beside it.
//!
//! ```
//! use plimsoll_wire::{chat, sse::SseDecoder};
//!
//! let mut decoder = SseDecoder::new();
//! let mut text = String::new();
//! for piece in [r#"data: {"choices":[{"delta":{"content":"H"#, "ello\"}}]}\n\ndata: [DONE]\n\n"] {
//!     decoder.push(piece.as_bytes());
//!     while let Some(event) = decoder.next_event() {
//!         let event = event?;
//!         text.push_str(&chat::parse_event(event.name, event.data)?.content);
//!     }
//! }
//! assert_eq!(text, "Hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod chat;
pub mod concepts;
pub mod encode;
pub mod models;
pub mod prometheus;
pub mod request;
pub mod sse;
pub mod url;
