use std::io;
use thiserror::Error;

/// Why a scraper could not be run on its thread.
#[derive(Debug, Error)]
#[error("{problem}")]
pub struct ScrapeError {
    problem: &'static str,
    source: Option<io::Error>,
}

impl ScrapeError {
    pub(crate) const fn start(source: io::Error) -> Self {
        Self { problem: "the thread that reads metrics could not be started", source: Some(source) }
    }

    pub(crate) const fn panicked() -> Self {
        Self {
            problem: "the thread that reads metrics panicked; its last samples may be missing",
            source: None,
        }
    }
}
