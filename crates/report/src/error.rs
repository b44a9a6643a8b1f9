use thiserror::Error;

/// A report could not be written.
#[derive(Debug, Error)]
#[error("cannot write {what}: {reason}")]
pub struct ReportError {
    what: &'static str,
    reason: String,
}

impl ReportError {
    pub(crate) fn new(what: &'static str, reason: &dyn std::fmt::Display) -> Self {
        Self { what, reason: reason.to_string() }
    }
}
