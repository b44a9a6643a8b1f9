//! From a run folder to its report, and nothing but the folder.

use crate::{RunFolder, SweepError};
use plimsoll_metrics::{Summary, summarize};
use plimsoll_record::files;
use plimsoll_report::ReportInput;

/// A report, written and ready to print.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Every number and verdict.
    pub summary: Summary,
    /// For the terminal.
    pub table: String,
}

/// Computes the report of a folder and writes `summary.json`, `levels.csv` and `report.md` into it.
/// The same folder gives the same bytes, at any time and on any host.
pub fn render(folder: &RunFolder) -> Result<Rendered, SweepError> {
    let run = folder.read()?;
    let summary = summarize(&run);
    let input = ReportInput { plan: &run.plan, conditions: &run.conditions, summary: &summary };
    let other = |error: &dyn std::fmt::Display| SweepError::other(format!("cannot make the report: {error}"));
    folder.write(files::SUMMARY, &plimsoll_report::summary_json(&input).map_err(|error| other(&error))?)?;
    folder.write(files::LEVELS, &plimsoll_report::levels_csv(&input).map_err(|error| other(&error))?)?;
    folder.write(files::REPORT, &plimsoll_report::markdown(&input))?;
    Ok(Rendered { table: plimsoll_report::table(&input, None), summary })
}
