use clap::Args;
use std::path::PathBuf;

/// Flags of `report`.
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// The run folder, such as runs/<time>-<model>.
    pub run: PathBuf,
}
