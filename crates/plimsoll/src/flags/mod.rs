//! What the commands take.

mod check;
mod levels;
mod mock;
mod report;
mod selftest;
mod sweep;
mod target;

pub use check::CheckFlags;
pub use mock::MockFlags;
pub use report::ReportFlags;
pub use selftest::SelftestFlags;
pub use sweep::SweepFlags;
pub use target::TargetFlags;

/// Puts a flag, if given, over a key that always has a value.
fn set<T: Clone>(place: &mut T, flag: Option<&T>) {
    if let Some(value) = flag {
        place.clone_from(value);
    }
}

/// The same over a key that may be absent.
fn given<T: Clone>(place: &mut Option<T>, flag: Option<&T>) {
    if flag.is_some() {
        *place = flag.cloned();
    }
}
