//! Levels in sentences.

use plimsoll_record::Level;

/// `8 in flight`, `2.5/s`.
pub(crate) fn load(level: Level) -> String {
    match level {
        Level::Concurrency(slots) => format!("{slots} in flight"),
        Level::Rate(rate) => format!("{rate}/s"),
    }
}
