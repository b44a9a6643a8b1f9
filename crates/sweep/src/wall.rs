//! The one place that reads the wall clock: one stamp a run.

use jiff::Timestamp;
use plimsoll_transport::Clock;

/// The wall-clock anchor of a run: the zero of its clock.
#[derive(Clone, Debug)]
pub struct WallStamp {
    timestamp: Timestamp,
    clock: Clock,
}

impl WallStamp {
    /// Now.
    pub fn now() -> Self {
        Self { timestamp: Timestamp::now(), clock: Clock::start() }
    }

    /// The clock that started at this instant.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Whole seconds, RFC 3339, UTC.
    pub fn rfc3339(&self) -> String {
        self.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// For a folder's name: sorts by time.
    pub fn folder(&self) -> String {
        self.timestamp.strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    /// Nanoseconds since 1970.
    pub fn unix_ns(&self) -> u64 {
        u64::try_from(self.timestamp.as_nanosecond()).unwrap_or(0)
    }
}
