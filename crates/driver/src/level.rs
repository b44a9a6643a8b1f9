use std::time::Duration;

/// One level of a closed loop.
#[derive(Clone, Debug)]
pub struct LevelPlan {
    /// Requests in flight at once: the number of slots.
    pub level: u32,
    /// The repeat, from 0.
    pub repeat: u32,
    /// Warm-up requests before the window opens; more, if need be, until all slots have begun. 0: none.
    pub warmup: u32,
    /// Which requests are measured.
    pub cohort: Cohort,
    /// Time over which the first starts are spread: about one request's duration.
    pub ramp: Duration,
    /// Limit for a whole request.
    pub timeout: Duration,
}

/// Which requests are measured: those that start in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cohort {
    /// This many; the window closes when the next one is due.
    Requests(u32),
    /// Those of a window of this length.
    Duration(Duration),
    /// The window closes when all of these hold.
    Rule {
        /// Shortest window.
        floor: Duration,
        /// Fewest measured requests.
        requests: u32,
        /// The window spans this many times the 95th percentile of the requests' own durations so far.
        durations: u32,
    },
}
