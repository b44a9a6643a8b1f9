//! The subcommands.

mod check;
mod mock;
mod report;
mod sweep;

pub use check::check;
pub use mock::mock;
pub use report::report;
pub use sweep::sweep;
