use crate::Settled;
use plimsoll_record::Sample;
use tokio::sync::{mpsc, oneshot};

/// Asks a running scraper, from any thread and runtime. It may be cloned. When the last handle is gone, the scraper
/// stops.
#[derive(Clone, Debug)]
pub struct ScrapeHandle {
    sender: mpsc::UnboundedSender<Command>,
}

/// The other end, for [`crate::Scraper::run`].
#[derive(Debug)]
pub struct Mailbox {
    pub(crate) receiver: mpsc::UnboundedReceiver<Command>,
}

#[derive(Debug)]
pub enum Command {
    Edge(oneshot::Sender<Sample>),
    Settle(oneshot::Sender<Settled>),
    Stop,
}

/// A handle and its mailbox.
pub fn mailbox() -> (ScrapeHandle, Mailbox) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (ScrapeHandle { sender }, Mailbox { receiver })
}

impl ScrapeHandle {
    /// Scrapes now, giving up a tick in flight, and waits for the sample; it has gone to the sink as well.
    /// `None`: the scraper has stopped.
    pub async fn edge(&self) -> Option<Sample> {
        let (reply, sample) = oneshot::channel();
        self.sender.send(Command::Edge(reply)).ok()?;
        sample.await.ok()
    }

    /// Scrapes now; the sample goes to the sink, and nobody waits for it.
    pub fn mark(&self) {
        // A scraper that is gone scrapes no more.
        let _ = self.sender.send(Command::Edge(oneshot::channel().0));
    }

    /// Scrapes until counters and histogram counts stood still in two scrapes, as a server may count a request after
    /// its client has read the last byte; for about 2 s at most. `None`: the scraper has stopped.
    pub async fn settle(&self) -> Option<Settled> {
        let (reply, settled) = oneshot::channel();
        self.sender.send(Command::Settle(reply)).ok()?;
        settled.await.ok()
    }

    /// Ends the run once what was asked for before is done. A tick in flight is given up.
    pub fn stop(&self) {
        // A scraper that is gone has stopped.
        let _ = self.sender.send(Command::Stop);
    }
}
