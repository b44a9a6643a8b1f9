//! A vLLM that runs anywhere: an [engine model](engine) behind vLLM's HTTP face, and a [`Ledger`] of everything
//! it emitted and when. Tests hold a client's numbers against the ledger; `plimsoll sweep` without a server sweeps
//! this one.
//!
//! ```
//! use plimsoll_mock::{MockConfig, spawn_thread};
//! let mock = spawn_thread(MockConfig::default(), tokio::time::Instant::now())?;
//! println!("try: curl {}/v1/models", mock.url());
//! let ledger = mock.stop();
//! assert!(ledger.requests.is_empty());
//! # Ok::<(), plimsoll_mock::SpawnError>(())
//! ```
//!
//! # Three ways to run it
//! - [`spawn_thread`]: on a thread and runtime of its own, behind a TCP port;
//! - [`Mock::serve_tcp`]: on your runtime, behind your listener;
//! - [`Mock::serve_stream`]: over anything that reads and writes, such as `tokio::io::duplex`. On a current-thread
//!   runtime with a paused clock this is deterministic: the same requests give the same bytes at the same instants.
//!
//! # What it serves
//! `/v1/chat/completions`, `/v1/completions`, `/v1/responses` and `/v1/messages`, streamed or not, `/v1/models`,
//! `/tokenize`, `/health`, `/ping`, `/load`, `/version` and `/metrics`, with the shapes, refusals, metric names, labels
//! and buckets of vLLM 0.32; the responses and messages routes as their API references describe them.
//! Words are tokens ([`tokenizer`]). [`Faults`] makes it misbehave.
//!
//! Where it differs: `created` and ids count from a fixed start instead of telling the time or being random; one
//! answer per request (`n` is 1); the metrics page leaves out multi-modal and external caches, sleep state,
//! roofline estimates, admission limits, `http_*` and `*_created`.
//!
//! # Time
//! The engine keeps its own schedule, free of the runtime's delays. A token leaves at the first instant at or after
//! its planned one at which tokio's timer fires and the connection takes it; tokio's timer counts whole
//! milliseconds and fires up to one late. The ledger has both instants; the metrics page shows actual ones.

mod config;
mod core;
pub mod engine;
mod faults;
mod feed;
mod http;
mod ledger;
mod mock;
mod shared;
mod stats;
mod thread;
pub mod tokenizer;

pub use config::MockConfig;
pub use faults::{Fault, FaultKind, Faults, RoleChunk, StreamShape};
pub use ledger::{Emission, Ledger, LedgerEntry, Refusal};
pub use mock::Mock;
pub use thread::{MockHandle, SpawnError, spawn_thread, spawn_thread_at};
