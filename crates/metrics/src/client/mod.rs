//! Was this client the limit? What it was busy with inside a window, and what that proves.

mod activity;
mod numbers;
mod proof;

pub(crate) use activity::Activity;
pub(crate) use numbers::numbers;
pub(crate) use proof::{Proving, of_run, prove};

use serde::{Deserialize, Serialize};

/// Whether this client may have been the limit, with what that rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientProof {
    /// The finding.
    pub verdict: ClientVerdict,
    /// What decided it, in words; empty when clear.
    pub reasons: String,
    /// Each thing that was looked at. Empty for a whole run, whose levels have theirs.
    pub criteria: Vec<Criterion>,
}

/// Findings about this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientVerdict {
    /// Every threshold was met.
    Clear,
    /// None was exceeded, but some cannot be judged.
    NotProven,
    /// One was exceeded.
    Limited,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// `send_delay`, `read_delay`, `runtime_lag`, `busiest_thread`, `throttling`, `prompts`, `ceiling`, `files`, `ports`.
    pub name: String,
    /// What came of it.
    pub state: CriterionState,
    /// The value, in `unit`; absent when it is not known.
    pub value: Option<f64>,
    /// The value must stay below this, or, for `ceiling`, reach it.
    pub threshold: f64,
    /// `s`, `share`, `times`, `requests`, `files`, `ports`.
    pub unit: String,
    /// Observations that it rests on.
    pub n: u64,
    /// In words, with value, n and threshold.
    pub text: String,
}

/// What came of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriterionState {
    /// Met.
    Met,
    /// The evidence decides neither way.
    Open,
    /// Not measured.
    Unknown,
    /// Exceeded, and by more than chance.
    Exceeded,
}

impl ClientProof {
    /// `clear`, `not proven (...)` or `limited (...)`.
    pub fn text(&self) -> String {
        match self.verdict {
            ClientVerdict::Clear if self.reasons.is_empty() => "clear".to_owned(),
            ClientVerdict::Clear => format!("clear ({})", self.reasons),
            ClientVerdict::NotProven => format!("not proven ({})", self.reasons),
            ClientVerdict::Limited => format!("limited ({})", self.reasons),
        }
    }
}
