//! From the records of a load test to its numbers.
//!
//! [`summarize`] takes what a run folder holds ([`RunData`]) and gives what `summary.json` holds ([`Summary`]).

pub mod formula;
mod run;
pub mod slo;
mod summary;

pub use run::{RunData, summarize};
pub use slo::{Objective, Slo, SloError};
pub use summary::*;
