use thiserror::Error;

/// Why a level could not be run.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct DriverError {
    message: String,
}

impl DriverError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
