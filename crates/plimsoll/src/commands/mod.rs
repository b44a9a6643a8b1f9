//! The subcommands.

mod check;
mod mock;
mod report;
mod selftest;
mod sweep;

pub use check::check;
pub use mock::mock;
pub use report::report;
pub use selftest::selftest;
pub use sweep::sweep;
