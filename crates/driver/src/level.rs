use plimsoll_record::{Level, Rate};
use plimsoll_workload::ArrivalTimes;
use std::time::Duration;

/// One level.
#[derive(Clone, Debug)]
pub struct LevelPlan {
    /// What the load is.
    pub load: Load,
    /// The repeat, from 0.
    pub repeat: u32,
    /// Warm-up requests before the window opens; in a closed loop more, if need be, until all slots have begun. 0: none.
    pub warmup: u32,
    /// Which requests are measured.
    pub cohort: Cohort,
    /// How often a request that failed before any event is sent again, its time still counted.
    pub retries: u32,
}

/// What keeps the server busy.
#[derive(Clone, Debug)]
pub enum Load {
    /// A closed loop: each slot sends its next request when the last one has ended.
    Closed {
        /// Requests in flight at once: the number of slots.
        slots: u32,
        /// Time over which the first starts are spread: about one request's duration.
        ramp: Duration,
    },
    /// An open loop: requests are sent when they are due, whatever the server does.
    Open(OpenLoop),
}

/// An open loop.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// Requests per second in the long run.
    pub rate: Rate,
    /// When each request is due, since the level's start: warm-up first, then all others.
    pub times: ArrivalTimes,
    /// Most requests in flight; those due beyond it wait in line, and their wait counts.
    pub cap: Option<u32>,
    /// Connections opened before the level begins; more are opened when all are busy.
    pub connections: u32,
    /// Most requests that may be due and not ended. A level that reaches it ends: the server does not keep up.
    pub most_unfinished: u32,
}

/// Which requests are measured: those that start in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cohort {
    /// This many; in a closed loop the window closes when the next one is due, in an open loop with the last of them.
    Requests(u32),
    /// Those of a window of this length.
    Duration(Duration),
    /// The window closes when all of these hold.
    Rule {
        /// Shortest window.
        floor: Duration,
        /// Fewest measured requests.
        requests: u32,
        /// The window spans this many times the 95th percentile of the requests' own durations so far; in an open loop
        /// at most four times as long as at its opening, since a queue that grows makes all durations grow with it.
        durations: u32,
    },
}

impl LevelPlan {
    /// The level as records name it.
    pub const fn level(&self) -> Level {
        match &self.load {
            Load::Closed { slots, .. } => Level::Concurrency(*slots),
            Load::Open(open) => Level::Rate(open.rate),
        }
    }

    /// Connections that are opened before the level begins.
    pub const fn connections(&self) -> u32 {
        match &self.load {
            Load::Closed { slots, .. } => *slots,
            Load::Open(open) => open.connections,
        }
    }
}
