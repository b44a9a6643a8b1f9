use crate::{Level, Nanos, RECORD_SCHEMA};
use serde::{Deserialize, Serialize};

/// What a request is for. One level runs warm-up, measured and filler requests without a drain between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Sent before the window opens; drawn from a stream of its own; enters no latency figure.
    Warmup,
    /// Its intended start lies in the window `[t0, t1)`; followed to its end.
    Measure,
    /// Keeps the load up until the last measured request has ended; enters no latency figure.
    Filler,
}

/// An instant at which the load changed its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PhaseEdge {
    /// The run's load begins. No level.
    RunStart,
    /// A level begins: the first of its requests is due.
    LevelStart,
    /// `t0`: the window opens with the first measured request.
    WindowOpen,
    /// `t1`: the window closes; requests due from now on are filler.
    WindowClose,
    /// The last measured request has ended; nothing more is sent at this level.
    Drain,
    /// The last request of the level has ended.
    LevelEnd,
    /// The run's load is over. No level. A folder without this line is partial.
    RunEnd,
}

/// Why the run's load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// Every planned level ran.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// The run stopped itself; the message says why.
    Failed,
}

/// One line of `phases.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseMark {
    /// [`RECORD_SCHEMA`].
    pub schema: u32,
    /// When.
    pub at_ns: Nanos,
    /// What began.
    pub edge: PhaseEdge,
    /// The level's load; absent at the run's own edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The repeat, from 0; absent at the run's own edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// With [`PhaseEdge::RunEnd`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FinishReason>,
    /// With [`FinishReason::Failed`]: what happened. With [`PhaseEdge::Drain`]: why the level ended before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl PhaseMark {
    /// An edge of a level.
    pub const fn of_level(at_ns: Nanos, edge: PhaseEdge, level: Level, repeat: u32) -> Self {
        Self {
            schema: RECORD_SCHEMA,
            at_ns,
            edge,
            level: Some(level),
            repeat: Some(repeat),
            reason: None,
            message: None,
        }
    }

    /// An edge of the run.
    pub const fn of_run(at_ns: Nanos, edge: PhaseEdge) -> Self {
        Self { schema: RECORD_SCHEMA, at_ns, edge, level: None, repeat: None, reason: None, message: None }
    }
}
