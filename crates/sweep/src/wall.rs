//! The one place that reads the wall clock: one stamp a run.

use jiff::Timestamp;

/// The wall-clock anchor of a run.
#[derive(Clone, Debug)]
pub struct WallStamp {
    timestamp: Timestamp,
}

impl WallStamp {
    /// Now.
    pub fn now() -> Self {
        Self { timestamp: Timestamp::now() }
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
