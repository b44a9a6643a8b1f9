//! From the records of a load test to its numbers, intervals and verdicts. Pure: no clock, no I/O.
//!
//! [`summarize`] takes what a run folder holds ([`RunData`]) and gives what `summary.json` holds ([`Summary`]):
//!
//! ```
//! use plimsoll_metrics::{KneeState, RunData, summarize};
//!
//! let summary = summarize(&RunData::default());
//! assert!(summary.levels.is_empty());
//! assert_eq!(summary.knee.state, KneeState::CannotJudge);
//! ```
//!
//! The records are those of `plimsoll-record`; its `read_lines` reads the files of a run folder, and the example
//! `summarize` of this crate makes a run by hand.
//!
//! The way of the data:
//!
//! - `window`: which records belong to a level, and its window `[t0, t1)`
//! - [`timing`]: the latencies of one request; `latency`: those of a cohort
//! - `throughput`: tokens, completions and requests in flight inside the window
//! - `open_loop`: what arrived, and whether the server kept up with it
//! - `targets`: the same by target, where there are several
//! - `server`: what the server's own metrics say inside the window
//! - `client`: what this client was busy with, and whether it may have been the limit
//! - [`quantile`], [`stats`]: exact quantiles, their intervals, and what may be printed at a given n
//! - [`knee`], [`slo`], `operating`, `bottleneck`, `reconcile`: the verdicts
//! - `integrity`: the checks; a finding of class INVALID withholds the numbers it names
//! - [`formula`]: the text of every formula that a number names
//!
//! A number that is not known is absent with its reason; it is never 0. Every number is finite.

#![cfg_attr(test, expect(clippy::float_cmp, reason = "golden values that are exact"))]

mod bottleneck;
mod client;
pub mod formula;
mod integrity;
pub mod knee;
mod latency;
mod level;
mod number;
mod open_loop;
mod operating;
pub mod quantile;
mod reconcile;
mod run;
mod server;
pub mod slo;
pub mod stats;
mod summary;
mod targets;
#[cfg(test)]
mod testing;
mod throughput;
pub mod timing;
mod window;
mod words;

pub use client::{ClientProof, ClientVerdict, Criterion, CriterionState};
pub use knee::refine::{Refinement, next_level, refine};
pub use run::{RunData, summarize};
pub use server::{Bucketed, bucket_quantile};
pub use slo::{Objective, Slo, SloError};
pub use summary::*;
pub use targets::TargetSummary;
