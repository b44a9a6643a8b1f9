use plimsoll_driver::Progress;
use plimsoll_record::Level;
use std::path::PathBuf;

/// What a sweep tells while it goes on.
#[derive(Clone, Debug)]
pub enum SweepEvent {
    /// A step of the preflight.
    Preflight(String),
    /// Something the user should know; the run goes on.
    Note(String),
    /// The folder has been made, the load begins.
    Started {
        /// Where the evidence goes.
        folder: PathBuf,
        /// Levels in the order in which they run.
        levels: Vec<Level>,
        /// How often each is run.
        repeats: u32,
    },
    /// A level goes on; several times a second.
    Level {
        /// Its load.
        level: Level,
        /// Its repeat, from 0.
        repeat: u32,
        /// Its place in the run, from 0.
        index: usize,
        /// How far it is.
        progress: Progress,
        /// Seconds since its start.
        elapsed_s: f64,
        /// Measured requests that close the window, if their number is fixed.
        target: Option<u32>,
    },
    /// A level has ended.
    LevelEnded {
        /// Its load.
        level: Level,
        /// Its repeat, from 0.
        repeat: u32,
        /// Its place in the run, from 0.
        index: usize,
        /// What it came to.
        progress: Progress,
        /// Seconds it took.
        elapsed_s: f64,
    },
    /// The load is over.
    Finished,
}

/// Takes the events; called on the thread that steers the sweep, never on one that sends.
pub trait Observer {
    /// One event.
    fn event(&mut self, event: SweepEvent);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _event: SweepEvent) {}
}
