//! What a server says of itself during a load: its metrics page, read at intervals and on demand, as
//! [`Sample`](plimsoll_record::Sample)s.
//!
//! A [`Scraper`] reads one page of one [`Target`]. [`Scraper::run`] reads it at an interval until it is told to stop
//! and takes requests through a [`ScrapeHandle`] meanwhile: [`ScrapeHandle::edge`] for a sample at this very moment,
//! as a phase begins or ends, and [`ScrapeHandle::settle`] to wait until the server's counters stand still.
//! [`ScrapeThread`] runs it on a thread of its own, so that reading pages never takes time from the load.
//!
//! - One page is read at a time by the clock: a tick that comes due meanwhile is skipped, never queued. Only an edge
//!   does not wait for a tick in flight, as its page would come too late.
//! - Ticks stand on a fixed grid, each late by a drawn part of the interval, at most a tenth, so that they do not keep
//!   step with the server's own rhythm. The draws come from a seed.
//! - A scrape that fails is a sample that says why. It never ends the run.
//! - Nothing here needs more than tokio's clock and one task, so it runs in paused time as well.

mod error;
mod grid;
mod handle;
mod run;
mod scraper;
mod settle;
mod target;
mod thread;

pub use error::ScrapeError;
pub use handle::{Mailbox, ScrapeHandle, mailbox};
pub use scraper::{Notes, Scrape, Scraper, Settings};
pub use settle::Settled;
pub use target::Target;
pub use thread::ScrapeThread;
