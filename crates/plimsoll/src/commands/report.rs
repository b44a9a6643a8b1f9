use crate::{Exit, failure::Failure, flags::ReportFlags, terminal};
use plimsoll_sweep::{Rendered, RunFolder};

/// Makes the report of a folder again and prints its table, also of a folder that nothing can be written to.
pub fn report(flags: &ReportFlags) -> Result<Exit, Failure> {
    let folder = RunFolder::open(&flags.run)?;
    let rendered = Rendered::of(&folder)?;
    terminal::print(&rendered.table)?;
    rendered.write(&folder)?;
    Ok(Exit::of_summary(&rendered.summary))
}
