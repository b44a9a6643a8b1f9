use crate::{
    Mailbox, Scraper,
    grid::Grid,
    handle::Command,
    settle::{self, Settled, Watch},
};
use plimsoll_record::{Sample, SampleTrigger};
use std::{future::Future, pin::Pin};
use tokio::{
    select,
    sync::oneshot,
    time::{Instant, sleep_until},
};

type Pending<'a> = Pin<Box<dyn Future<Output = Sample> + 'a>>;

/// What an edge scrape is for.
enum Purpose {
    Edge(oneshot::Sender<Sample>),
    Settle(Watch, oneshot::Sender<Settled>),
}

impl Scraper {
    /// Scrapes at the interval and on demand, until it is told to stop; every sample goes to `sink`, in the order in
    /// which they were complete.
    pub async fn run(self, mailbox: Mailbox, mut sink: impl FnMut(Sample)) {
        let mut receiver = mailbox.receiver;
        let mut grid = Grid::new(Instant::now(), self.settings.interval, self.settings.seed);
        let mut tick: Option<Pending<'_>> = None;
        let mut edge: Option<(Pending<'_>, Purpose)> = None;
        loop {
            select! {
                biased;
                sample = ready(edge.as_mut().map(|(pending, _)| pending)), if edge.is_some() => {
                    sink(sample.clone());
                    edge = edge.take().and_then(|(_, purpose)| self.answer(purpose, sample));
                }
                sample = ready(tick.as_mut()), if tick.is_some() => {
                    tick = None;
                    sink(sample);
                }
                command = receiver.recv(), if edge.is_none() => {
                    let now = Instant::now();
                    let purpose = match command {
                        Some(Command::Edge(reply)) => Purpose::Edge(reply),
                        Some(Command::Settle(reply)) => Purpose::Settle(Watch::new(now), reply),
                        Some(Command::Stop) | None => return,
                    };
                    // Of two pages under way at once nobody knows which shows the later state, and a counter that seems
                    // to fall would tell of a restart. So the tick is given up.
                    tick = None;
                    edge = Some((self.edge_at(now), purpose));
                }
                () = sleep_until(grid.due()) => {
                    if tick.is_none() && edge.is_none() {
                        tick = Some(Box::pin(self.scrape_once(SampleTrigger::Tick)));
                    }
                    grid.advance(Instant::now());
                }
            }
        }
    }

    fn edge_at(&self, at: Instant) -> Pending<'_> {
        Box::pin(async move {
            sleep_until(at).await;
            self.scrape_once(SampleTrigger::Edge).await
        })
    }

    /// Tells who asked, or goes on waiting for counters to stand still.
    fn answer(&self, purpose: Purpose, sample: Sample) -> Option<(Pending<'_>, Purpose)> {
        // Who no longer listens needs no answer.
        match purpose {
            Purpose::Edge(reply) => {
                let _ = reply.send(sample);
                None
            }
            Purpose::Settle(mut watch, reply) => {
                let now = Instant::now();
                if let Some(settled) = watch.see(&sample, now) {
                    let _ = reply.send(settled);
                    return None;
                }
                Some((self.edge_at(now + settle::PAUSE), Purpose::Settle(watch, reply)))
            }
        }
    }
}

/// The output of `pending`; never, when there is none.
async fn ready(pending: Option<&mut Pending<'_>>) -> Sample {
    match pending {
        Some(pending) => pending.await,
        None => std::future::pending().await,
    }
}
