use crate::{ScrapeError, ScrapeHandle, Scraper, mailbox};
use plimsoll_record::Sample;
use std::thread::{Builder, JoinHandle};
use tokio::runtime;

/// A scraper on a thread of its own, with a runtime of its own: neither its reads nor its parsing take time from the
/// threads that carry the load.
#[derive(Debug)]
pub struct ScrapeThread {
    thread: JoinHandle<()>,
    handle: ScrapeHandle,
}

impl ScrapeThread {
    /// Starts [`Scraper::run`]. `sink` is called on the new thread.
    pub fn start(scraper: Scraper, sink: impl FnMut(Sample) + Send + 'static) -> Result<Self, ScrapeError> {
        let (handle, mailbox) = mailbox();
        let runtime = runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ScrapeError::start)?;
        let thread = Builder::new()
            .name("plimsoll-scrape".to_owned())
            .spawn(move || runtime.block_on(scraper.run(mailbox, sink)))
            .map_err(ScrapeError::start)?;
        Ok(Self { thread, handle })
    }

    /// Asks the scraper, from any thread and runtime.
    pub const fn handle(&self) -> &ScrapeHandle {
        &self.handle
    }

    /// Stops the scraper and waits for the thread's end; everything asked for before is done. This blocks for at most
    /// the time of the scrapes that were asked for.
    pub fn stop(self) -> Result<(), ScrapeError> {
        self.handle.stop();
        self.thread.join().map_err(|_| ScrapeError::panicked())
    }
}
