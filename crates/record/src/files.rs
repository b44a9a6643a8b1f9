//! Names of the files in a run folder.

/// The plan as resolved; can be run again.
pub const PLAN: &str = "plan.toml";
/// [`crate::Conditions`].
pub const CONDITIONS: &str = "conditions.json";
/// [`crate::RequestRecord`], a line each.
pub const REQUESTS: &str = "requests.jsonl";
/// [`crate::PhaseMark`], a line each.
pub const PHASES: &str = "phases.jsonl";
/// [`crate::Sample`], a line each.
pub const SAMPLES: &str = "samples.jsonl";
/// [`crate::ClientSample`], a line each.
pub const CLIENT: &str = "client.jsonl";
/// Every number with its formula, window, n and interval.
pub const SUMMARY: &str = "summary.json";
/// The table.
pub const LEVELS: &str = "levels.csv";
/// Conditions, table and verdicts to paste into a document.
pub const REPORT: &str = "report.md";
