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

/// Flags of one kind and class, over all levels that have it.
#[derive(Debug)]
pub struct FlagGroup<'a> {
    /// The levels that it concerns; empty: the whole run.
    pub places: Vec<String>,
    /// The flag of the last of these levels.
    pub flag: &'a Flag,
    /// True when all of them say the same.
    alike: bool,
}

impl FlagGroup<'_> {
    /// What was found: of several levels that say different things, the last one's.
    pub fn text(&self) -> String {
        match self.places.last() {
            Some(last) if !self.alike => format!("at {last}: {}", self.flag.text),
            _ => self.flag.text.clone(),
        }
    }
}

/// All flags, those of one kind together; the gravest first.
pub fn flags(summary: &Summary) -> Vec<FlagGroup<'_>> {
    let run = summary.flags.iter().map(|flag| FlagGroup { places: Vec::new(), flag, alike: true });
    let mut groups: Vec<FlagGroup<'_>> = run.collect();
    let of_run = groups.len();
    for level in &summary.levels {
        for flag in &level.flags {
            let place = footnote::place(level, summary);
            let of_levels = groups.get_mut(of_run..).unwrap_or_default();
            let same =
                |group: &&mut FlagGroup<'_>| group.flag.id == flag.id && group.flag.class == flag.class;
            match of_levels.iter_mut().find(same) {
                Some(group) => {
                    group.alike &= group.flag.text == flag.text;
                    group.flag = flag;
                    group.places.push(place);
                }
                None => groups.push(FlagGroup { places: vec![place], flag, alike: true }),
            }
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.flag.class));
    groups
}

/// What stands for the latencies of an open loop.
pub const RESPONSE: &str = "latencies count from the scheduled arrival, whenever the request was sent";

/// Where an objective was judged at no level.
pub const NOT_JUDGED: &str = "not judged: no level that it names was measured";

/// Names of numbers, families together: `ttft_*` for all of its quantiles, mean and largest.
pub fn numbers(names: &[String]) -> Vec<String> {
    const SUFFIXES: [&str; 6] = ["p50", "p90", "p95", "p99", "mean", "max"];
    let mut shown: Vec<String> = Vec::new();
    for name in names {
        let stem =
            name.rsplit_once('_').filter(|(_, suffix)| SUFFIXES.contains(suffix)).map(|(stem, _)| stem);
        let all = |stem: &str| {
            SUFFIXES.iter().all(|suffix| names.iter().any(|name| *name == format!("{stem}_{suffix}")))
        };
        let name = stem.filter(|stem| all(stem)).map_or_else(|| name.clone(), |stem| format!("{stem}_*"));
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    shown
}

/// What the flags amount to. Without any, the number of checks tells silence from checks that were not made.
pub fn integrity(summary: &Summary) -> String {
    let flags = flags(summary);
    if flags.is_empty() {
        return format!("no integrity flags ({} checks)", summary.checks);
    }
    let count = |class| {
        let groups = flags.iter().filter(|group| group.flag.class == class);
        groups.map(|group| group.places.len().max(1)).sum::<usize>()
    };
    let (invalid, warn) = (count(FlagClass::Invalid), count(FlagClass::Warn));
    format!("{invalid} INVALID and {warn} WARN flags ({} checks)", summary.checks)
}
