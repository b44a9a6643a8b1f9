//! Words for findings.

use crate::footnote;
use plimsoll_metrics::{
    BottleneckKind, Flag, FlagClass, Knee, KneeState, ReconciliationState, RunState, Summary, Verdict,
};

/// Why a run is partial, if it is.
pub fn partial(summary: &Summary) -> Option<&str> {
    match &summary.state {
        RunState::Complete => None,
        RunState::Partial { reason } => Some(reason),
    }
}

/// The knee's sentence; from its state where the sentence is missing.
pub fn knee(knee: &Knee) -> String {
    if !knee.text.is_empty() {
        return knee.text.clone();
    }
    match knee.state {
        KneeState::Bracket { low, high } => format!("between {low} and {high}"),
        KneeState::NoneInRange { highest } => format!("none up to {highest}"),
        KneeState::SaturatedAtLowest { lowest } => format!("already saturated at {lowest}"),
        KneeState::CannotJudge => "cannot be judged".to_owned(),
    }
}

pub const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

pub const fn bottleneck(kind: BottleneckKind) -> &'static str {
    match kind {
        BottleneckKind::ServerSlots => "server: slot limit",
        BottleneckKind::ServerAdmission => "server: admission limit",
        BottleneckKind::Mixed => "server near its limit, client leaves gaps",
        BottleneckKind::Client => "client",
        BottleneckKind::Network => "network or front end",
        BottleneckKind::UnderLoaded => "none: under-loaded",
        BottleneckKind::CannotJudge => "cannot judge",
    }
}

pub const fn reconciliation(state: ReconciliationState) -> &'static str {
    match state {
        ReconciliationState::Match => "match",
        ReconciliationState::Mismatch => "MISMATCH",
        ReconciliationState::CannotJudge => "cannot judge",
    }
}

pub const fn class(class: FlagClass) -> &'static str {
    match class {
        FlagClass::Warn => "WARN",
        FlagClass::Invalid => "INVALID",
    }
}

/// All flags, with the level that they concern; the gravest first.
pub fn flags(summary: &Summary) -> Vec<(Option<String>, &Flag)> {
    let run = summary.flags.iter().map(|flag| (None, flag));
    let levels = summary
        .levels
        .iter()
        .flat_map(|level| level.flags.iter().map(move |flag| (Some(footnote::place(level, summary)), flag)));
    let mut flags: Vec<_> = run.chain(levels).collect();
    flags.sort_by_key(|(_, flag)| std::cmp::Reverse(flag.class));
    flags
}

/// Where an objective was judged at no level.
pub const NOT_JUDGED: &str = "not judged: no level that it names was measured";

/// What the flags amount to. Without any, the number of checks tells silence from checks that were not made.
pub fn integrity(summary: &Summary) -> String {
    let flags = flags(summary);
    if flags.is_empty() {
        return format!("no integrity flags ({} checks)", summary.checks);
    }
    let invalid = flags.iter().filter(|(_, flag)| flag.class == FlagClass::Invalid).count();
    format!("{invalid} INVALID and {} WARN flags ({} checks)", flags.len() - invalid, summary.checks)
}
