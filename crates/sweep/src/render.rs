//! From a run folder to its report, and nothing but the folder.

use crate::{RunFolder, SweepError};
use plimsoll_metrics::{Summary, summarize};
use plimsoll_record::files;
use plimsoll_report::ReportInput;

/// A report, ready to print and to write.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Every number and verdict.
    pub summary: Summary,
    /// For the terminal.
    pub table: String,
    /// Names and texts of the files.
    files: [(&'static str, String); 3],
}

impl Rendered {
    /// Computes the report of a folder. The same folder gives the same bytes, at any time and on any host.
    pub fn of(folder: &RunFolder) -> Result<Self, SweepError> {
        let run = folder.read()?;
        let summary = summarize(&run);
        let input = ReportInput { plan: &run.plan, conditions: &run.conditions, summary: &summary };
        let other =
            |error: &dyn std::fmt::Display| SweepError::other(format!("cannot make the report: {error}"));
        let files = [
            (files::SUMMARY, plimsoll_report::summary_json(&input).map_err(|error| other(&error))?),
            (files::LEVELS, plimsoll_report::levels_csv(&input).map_err(|error| other(&error))?),
            (files::REPORT, plimsoll_report::markdown(&input)),
        ];
        Ok(Self { table: plimsoll_report::table(&input, None), summary, files })
    }

    /// Writes `summary.json`, `levels.csv` and `report.md` into the folder.
    pub fn write(&self, folder: &RunFolder) -> Result<(), SweepError> {
        self.files.iter().try_for_each(|(name, text)| folder.write(name, text))
    }
}

/// Computes the report of a folder and writes it there.
pub fn render(folder: &RunFolder) -> Result<Rendered, SweepError> {
    let rendered = Rendered::of(folder)?;
    rendered.write(folder)?;
    Ok(rendered)
}
