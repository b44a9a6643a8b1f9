//! Watches the servers, and this client, while the load runs.

use crate::{SweepError, host::Sampler, preflight::Ready, writer::Line};
use plimsoll_record::Sample;
use plimsoll_scrape::{ScrapeHandle, ScrapeThread, Scraper, mailbox};
use plimsoll_transport::Clock;
use std::sync::mpsc::Sender;
use tokio::task::JoinHandle;

/// Scrapers at work, one for each page, and, in real time, a sampler of this process.
pub struct Watch {
    scrapes: Vec<Scraping>,
    sampler: Option<Sampler>,
}

enum Scraping {
    /// On a thread of its own: real time.
    Thread(ScrapeThread),
    /// A task of this runtime: paused time.
    Task(ScrapeHandle, JoinHandle<()>),
}

impl Watch {
    pub fn start(ready: &Ready, clock: Clock, lines: &Sender<Line>) -> Result<Self, SweepError> {
        let memory = ready.target.dial.is_memory();
        let scrapes = ready.metrics.iter().map(|scraper| Scraping::start(scraper.clone(), memory, lines));
        let scrapes = scrapes.collect::<Result<_, _>>()?;
        let sampler = if memory { None } else { Some(sample(clock, lines)?) };
        Ok(Self { scrapes, sampler })
    }

    fn handles(&self) -> impl Iterator<Item = &ScrapeHandle> {
        self.scrapes.iter().map(|scraping| match scraping {
            Scraping::Thread(thread) => thread.handle(),
            Scraping::Task(handle, _) => handle,
        })
    }

    /// Scrapes when called, without waiting.
    pub fn edge(&self) -> impl Fn() + Send + Sync + 'static {
        let handles: Vec<ScrapeHandle> = self.handles().cloned().collect();
        move || handles.iter().for_each(ScrapeHandle::mark)
    }

    /// Waits until the servers' counters stand still.
    pub async fn settle(&self) {
        for handle in self.handles() {
            handle.settle().await;
        }
    }

    /// Ends it; no sample comes after.
    pub async fn stop(self) -> Result<(), SweepError> {
        if let Some(sampler) = self.sampler {
            sampler.stop();
        }
        for scraping in self.scrapes {
            scraping.stop().await?;
        }
        Ok(())
    }
}

impl Scraping {
    fn start(scraper: Scraper, memory: bool, lines: &Sender<Line>) -> Result<Self, SweepError> {
        let lines = lines.clone();
        let sink = move |sample: Sample| {
            // The receiver goes away only when a write has failed, which stops the run.
            let _ = lines.send(Line::Sample(Box::new(sample)));
        };
        if !memory {
            return ScrapeThread::start(scraper, sink).map(Self::Thread).map_err(SweepError::other);
        }
        let (handle, mailbox) = mailbox();
        let task = tokio::task::spawn_local(scraper.run(mailbox, sink));
        Ok(Self::Task(handle, task))
    }

    async fn stop(self) -> Result<(), SweepError> {
        match self {
            Self::Thread(thread) => thread.stop().map_err(SweepError::other),
            Self::Task(handle, task) => {
                handle.stop();
                task.await
                    .map_err(|error| SweepError::other(format!("the scraper ended abnormally: {error}")))
            }
        }
    }
}

fn sample(clock: Clock, lines: &Sender<Line>) -> Result<Sampler, SweepError> {
    let lines = lines.clone();
    let sink = move |sample| drop(lines.send(Line::Client(Box::new(sample))));
    Sampler::start(clock, sink)
        .map_err(|error| SweepError::other(format!("no thread for the sampler: {error}")))
}
