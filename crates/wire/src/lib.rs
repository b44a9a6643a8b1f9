//! Bytes in, values out: the formats that an LLM server speaks, without any I/O.

pub mod chat;
pub mod encode;
pub mod sse;
