use crate::{
    Bottleneck, BottleneckKind, Knee, KneeState, OperatingPoint, Reconciliation, ReconciliationState,
    RunState, SUMMARY_SCHEMA, Summary,
};
use plimsoll_record::{Conditions, PhaseMark, Plan, RequestRecord, Sample};
use std::collections::BTreeMap;

/// What a run folder holds.
#[derive(Clone, Debug, Default)]
pub struct RunData {
    /// `plan.toml`.
    pub plan: Plan,
    /// `conditions.json`.
    pub conditions: Conditions,
    /// `phases.jsonl`.
    pub phases: Vec<PhaseMark>,
    /// `requests.jsonl`, in any order.
    pub requests: Vec<RequestRecord>,
    /// `samples.jsonl`, in any order.
    pub samples: Vec<Sample>,
    /// Torn or unreadable lines in the folder.
    pub bad_lines: usize,
}

/// Every number and verdict of a run. A pure function of the folder: the same records give the same summary.
pub fn summarize(run: &RunData) -> Summary {
    let _ = run;
    Summary {
        schema: SUMMARY_SCHEMA,
        state: RunState::Partial { reason: "no records".to_owned() },
        levels: Vec::new(),
        knee: Knee { state: KneeState::CannotJudge, elasticities: Vec::new(), text: String::new() },
        slo: Vec::new(),
        operating_point: OperatingPoint { level: None, headroom: None, text: String::new() },
        bottleneck: Bottleneck {
            kind: BottleneckKind::CannotJudge,
            level: None,
            text: String::new(),
            figures: BTreeMap::new(),
        },
        reconciliation: Reconciliation {
            state: ReconciliationState::CannotJudge,
            rows: Vec::new(),
            text: String::new(),
        },
        flags: Vec::new(),
        checks: 0,
    }
}
