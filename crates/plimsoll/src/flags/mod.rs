//! What the commands take.

mod check;
mod mock;
mod report;
mod sweep;

pub use check::CheckFlags;
pub use mock::MockFlags;
pub use report::ReportFlags;
pub use sweep::SweepFlags;
