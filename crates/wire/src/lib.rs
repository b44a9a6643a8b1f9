//! Bytes in, values out: the formats that an LLM server speaks, without any I/O.

pub mod chat;
pub mod encode;
pub mod models;
pub mod prometheus;
pub mod request;
pub mod sse;
pub mod url;
