use crate::{Exit, failure::Failure, flags::ReportFlags, terminal};
use plimsoll_sweep::{RunFolder, render};

/// Makes the report of a folder again and prints its table.
pub fn report(flags: &ReportFlags) -> Result<Exit, Failure> {
    let folder = RunFolder::open(&flags.run)?;
    let rendered = render(&folder)?;
    terminal::print(&rendered.table);
    Ok(Exit::of_summary(&rendered.summary))
}
