use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The line at a cap on requests in flight, over all workers: first come, first served.
#[derive(Debug)]
pub struct Line(Arc<Semaphore>);

/// A place among those in flight; given back when dropped.
#[derive(Debug)]
pub struct Place(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Line {
    pub fn new(cap: u32) -> Self {
        Self(Arc::new(Semaphore::new((cap as usize).min(Semaphore::MAX_PERMITS))))
    }

    /// A place, if one is free and nobody is in line for it.
    pub fn place(&self) -> Option<Place> {
        Arc::clone(&self.0).try_acquire_owned().ok().map(Place)
    }

    /// Sends everybody in line away, in their order.
    pub fn close(&self) {
        self.0.close();
    }

    /// Waits in line for a place; `None` when the line was closed meanwhile.
    pub async fn wait(&self) -> Option<Place> {
        Arc::clone(&self.0).acquire_owned().await.ok().map(Place)
    }
}
