use tokio::sync::watch;

/// Stops a run early: the requests in flight are recorded as cancelled.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Not stopped.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Stops.
    pub fn set(&self) {
        self.0.send_replace(true);
    }

    /// True once stopped.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when stopped.
    pub async fn wait(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|stopped| *stopped).await;
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
