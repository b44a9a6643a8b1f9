//! The functional check: does the server answer, correctly and completely?

use crate::SweepError;
use plimsoll_record::Span;
use plimsoll_transport::Secret;

/// What to check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Base address.
    pub url: String,
    /// The model; absent: the one that it serves.
    pub model: Option<String>,
    /// The API key.
    pub key: Option<Secret>,
    /// Metrics page, if it is not `/metrics`.
    pub scrape: Option<String>,
    /// Limit for each request.
    pub timeout: Span,
    /// Requests of the small load at the end; 0: none.
    pub requests: u32,
    /// How many of these at once.
    pub concurrency: u32,
    /// `max_tokens` of each.
    pub output_tokens: u32,
    /// Sampling temperature of the small load.
    pub temperature: f64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// One row per thing checked.
    pub rows: Vec<CheckRow>,
}

/// One thing checked.
#[derive(Clone, Debug)]
pub struct CheckRow {
    /// What.
    pub name: String,
    /// The finding.
    pub state: CheckState,
    /// In a sentence.
    pub detail: String,
}

/// Findings of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// As it should be.
    Pass,
    /// A sweep works, with something missing.
    Warn,
    /// A sweep cannot be trusted or made.
    Fail,
}

/// Checks a server; takes seconds.
pub async fn check(_options: &CheckOptions) -> Result<CheckReport, SweepError> {
    Ok(CheckReport { rows: Vec::new() })
}
