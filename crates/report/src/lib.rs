//! The numbers of a run as text: the contents of a run folder in, a string out.
//!
//! - [`table`]: for the terminal.
//! - [`markdown`]: `report.md`, what people paste into a document: conditions, table, intervals, verdicts, formulas.
//! - [`summary_json`]: `summary.json`, every number with all that belongs to it.
//! - [`levels_csv`]: `levels.csv`, a flat row per level and repeat.
//!
//! Each is a function of its input alone, byte for byte: no clock, no locale, no terminal is asked. What a server or a
//! user's file said reaches the text only through [`escape`].
//!
//! ```
//! use plimsoll_metrics::{RunData, summarize};
//! use plimsoll_report::{ReportInput, table};
//!
//! let run = RunData::default();
//! let summary = summarize(&run);
//! let input = ReportInput { plan: &run.plan, conditions: &run.conditions, summary: &summary };
//! assert!(table(&input, Some(100)).starts_with("PARTIAL"));
//! ```
//!
//! # How figures are printed
//!
//! Three significant digits; whole numbers in full. `≥ 551 ms (n=150)`: the true quantile is at least this, and n is too
//! small to know an upper bound. `–`: not known or withheld, and the reason stands below. `[a, b]` is a confidence
//! interval. Times are in ms below 1 s, or in the unit that the column's header names.

mod column;
mod csv;
mod error;
pub mod escape;
mod figure;
mod footnote;
mod grid;
mod json;
mod markdown;
mod terminal;
mod wording;

pub use crate::csv::levels_csv;
pub use error::ReportError;
pub use json::summary_json;
pub use markdown::markdown;
pub use terminal::table;

use plimsoll_metrics::Summary;
use plimsoll_record::{Conditions, Plan};

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// `plan.toml`, as resolved.
    pub plan: &'a Plan,
    /// `conditions.json`.
    pub conditions: &'a Conditions,
    /// Every number and verdict.
    pub summary: &'a Summary,
}
