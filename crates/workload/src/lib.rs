//! From a plan and a seed to the requests of a load test: prompts, lengths, prompt files, arrival times.
//!
//! [`Workload::request`] is a pure function of seed, level, repeat, stream and number, so that the same plan and
//! seed give the same requests on any number of workers, processes or hosts, and any one of them can be made again.
//!
//! ```
//! use plimsoll_record::{Level, Plan};
//! use plimsoll_workload::{Calibration, Stream, Workload};
//!
//! let workload = Workload::new(&Plan::default(), 7, None, None, None, Calibration::default())?;
//! let level = Level::Concurrency(8);
//! let request = workload.request(level, 0, Stream::Load, 0);
//! assert_eq!(request, workload.request(level, 0, Stream::Load, 0));
//! assert_ne!(request.prompt, workload.request(level, 0, Stream::Load, 1).prompt);
//! assert_eq!(request.asked_input_tokens, Some(256));
//! # Ok::<(), plimsoll_workload::WorkloadError>(())
//! ```
//!
//! Prompts are either generated, of a drawn length and different from their first block on, so that no prefix cache
//! holds any of them ([`Regime::Cold`]); or they come from a [`PromptFile`] ([`Regime::Natural`]).
//!
//! [`ArrivalTimes`] is the schedule of an open loop: absolute times, drawn from a stream of their own, so that neither
//! a late send nor a change of the prompts moves them.
//!
//! The crate is pure: no clock, no files, no network. The feature `tokenizers` makes prompts of exact length from a
//! `tokenizer.json`; without it, [`Calibration`] learns from two probes how the server counts.

mod arrivals;
mod calibration;
mod draw;
mod error;
mod file;
mod fingerprint;
mod length;
mod prompt;
mod request;
mod tokenizer;
mod workload;

pub use arrivals::ArrivalTimes;
pub use calibration::Calibration;
pub use error::WorkloadError;
pub use file::{PromptFile, Skipped};
pub use fingerprint::fingerprint;
pub use request::{Message, PlannedRequest, Prompt, Stream};
pub use tokenizer::Tokenizer;
pub use workload::{Regime, Workload};
