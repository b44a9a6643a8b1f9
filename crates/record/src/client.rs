use crate::{Level, Nanos};
use serde::{Deserialize, Serialize};

/// One line of `client.jsonl`: what one of this client's threads, or its whole process, was doing for about a second.
/// The proof that the client was not the limit. What the system does not tell is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientSample {
    /// [`crate::RECORD_SCHEMA`].
    pub schema: u32,
    /// End of the interval.
    pub at_ns: Nanos,
    /// Its length.
    pub interval_ns: Nanos,
    /// The level's load; absent between levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The repeat, from 0; absent between levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The worker thread, from 0; absent: the process and its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// Processor time that the thread or the process used in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<Nanos>,
    /// Of a worker: how late its runtime was at each tick of a heartbeat, microseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lag_us: Vec<u32>,
    /// Of a worker: connections that it opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<u32>,
    /// Of a worker: requests that were due before they had been made, so that it stood still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starved: Option<u32>,
    /// Of the process: periods in which its control group was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// Of the process: time that its control group was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<Nanos>,
    /// Of the host: TCP segments sent again, all connections of the network namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Of the host: time that other virtual machines took from its processors, summed over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<Nanos>,
}
