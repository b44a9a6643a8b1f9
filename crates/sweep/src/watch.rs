//! Watches the server while the load runs.

use crate::{SweepError, preflight::Ready, writer::Line};
use plimsoll_record::Sample;
use plimsoll_scrape::{ScrapeHandle, ScrapeThread, mailbox};
use std::sync::mpsc::Sender;
use tokio::task::JoinHandle;

/// A scraper at work, or none where there is no page.
pub enum Watch {
    Nothing,
    /// On a thread of its own: real time.
    Thread(ScrapeThread),
    /// A task of this runtime: paused time.
    Task(ScrapeHandle, JoinHandle<()>),
}

impl Watch {
    pub fn start(ready: &Ready, lines: &Sender<Line>) -> Result<Self, SweepError> {
        let Some(scraper) = ready.metrics.clone() else { return Ok(Self::Nothing) };
        let lines = lines.clone();
        let sink = move |sample: Sample| {
            // The receiver goes away only when a write has failed, which stops the run.
            let _ = lines.send(Line::Sample(Box::new(sample)));
        };
        if !ready.target.dial.is_memory() {
            return ScrapeThread::start(scraper, sink).map(Self::Thread).map_err(SweepError::other);
        }
        let (handle, mailbox) = mailbox();
        let task = tokio::task::spawn_local(scraper.run(mailbox, sink));
        Ok(Self::Task(handle, task))
    }

    fn handle(&self) -> Option<&ScrapeHandle> {
        match self {
            Self::Nothing => None,
            Self::Thread(thread) => Some(thread.handle()),
            Self::Task(handle, _) => Some(handle),
        }
    }

    /// Scrapes when called, without waiting.
    pub fn edge(&self) -> impl Fn() + Send + Sync + 'static {
        let handle = self.handle().cloned();
        move || {
            if let Some(handle) = &handle {
                handle.mark();
            }
        }
    }

    /// Waits until the server's counters stand still.
    pub async fn settle(&self) {
        if let Some(handle) = self.handle() {
            handle.settle().await;
        }
    }

    /// Ends it; no sample comes after.
    pub async fn stop(self) -> Result<(), SweepError> {
        match self {
            Self::Nothing => Ok(()),
            Self::Thread(thread) => thread.stop().map_err(SweepError::other),
            Self::Task(handle, task) => {
                handle.stop();
                task.await
                    .map_err(|error| SweepError::other(format!("the scraper ended abnormally: {error}")))
            }
        }
    }
}
