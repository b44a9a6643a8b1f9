use crate::integrity::{Checks, RunChecks, check_level, check_run};
use crate::level::{Measured, measure};
use crate::number::withhold;
use crate::reconcile::reconcile;
use crate::server::Targets;
use crate::slo::{Objective, Pool, Slo, judge};
use crate::summary::{
    Bottleneck, Flag, FlagClass, LevelSummary, ReconciliationState, RunState, SUMMARY_SCHEMA, SloVerdict,
    Summary,
};
use crate::{bottleneck, client, integrity, knee, operating, targets, window};
use plimsoll_record::{
    ClientSample, Conditions, FinishReason, Level, PhaseEdge, PhaseMark, Plan, RequestRecord, Sample,
};
use std::collections::{BTreeMap, BTreeSet};

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
    /// `client.jsonl`, in any order; empty when the run kept none.
    pub client: Vec<ClientSample>,
    /// Torn or unreadable lines of the other files.
    pub bad_lines: usize,
}

/// Every number and verdict of a run. A pure function of the folder: the same records give the same summary.
///
/// Whatever the records hold, it gives a summary: what cannot be computed is absent, with the reason.
pub fn summarize(run: &RunData) -> Summary {
    let targets = Targets::of(&run.samples);
    let measured: Vec<Measured<'_>> =
        window::levels(run).into_iter().map(|level| measure(level, run, &targets)).collect();
    let state = state(run, &measured);
    let reconciliation = reconcile(run, &targets);
    let of_run = check_run(&RunChecks {
        run,
        state: &state,
        measured: &measured,
        targets: &targets,
        reconciliation: &reconciliation,
    });
    let of_levels: Vec<Checks> = measured.iter().map(|level| check_level(level, run)).collect();
    let checks = of_levels.iter().fold(of_run.made, |sum, checks| sum.saturating_add(checks.made));

    let trusted = reconciliation.state != ReconciliationState::Mismatch;
    let distrust: Vec<Option<&Flag>> = of_levels
        .iter()
        .map(|checks| checks.flags.iter().chain(&of_run.flags).find(|flag| withholds_budget(flag)))
        .collect();
    let verdicts = bottlenecks(&measured, trusted, &distrust);
    let (objectives, unreadable) = objectives(run);
    let pools = pools(&measured, &of_levels, &of_run.flags);
    let levels: Vec<LevelSummary> = measured
        .into_iter()
        .zip(of_levels)
        .zip(verdicts)
        .map(|((measured, checks), bottleneck)| summary_of(measured, checks.flags, &of_run.flags, bottleneck))
        .collect();

    let client = client::of_run(&levels.iter().map(|level| (level.level, &level.client)).collect::<Vec<_>>());
    let throughput: Vec<(Level, f64)> =
        levels.iter().filter_map(|level| Some((level.level, level.number("output_tok_s")?.value?))).collect();
    let behind: Vec<Level> = levels
        .iter()
        .filter(|level| level.flags.iter().any(|flag| flag.id == integrity::NOT_STEADY))
        .map(|level| level.level)
        .collect();
    let knee = knee::find(&throughput, &behind);
    let judged: Vec<operating::Judged<'_>> = objectives
        .iter()
        .map(|objective| (objective, pools.iter().map(|pool| (pool.level, judge(objective, pool))).collect()))
        .collect();
    let tested: Vec<Level> =
        levels.iter().map(|level| level.level).collect::<BTreeSet<_>>().into_iter().collect();
    let operating_point = operating::choose(&tested, &knee, &judged);
    let slo = judged.into_iter().map(|(objective, levels)| verdict(objective, levels)).collect();
    let highest = tested.last().copied();
    let of_highest: Vec<&Bottleneck> =
        levels.iter().filter(|level| Some(level.level) == highest).map(|level| &level.bottleneck).collect();
    let bottleneck = bottleneck::overall(&of_highest);
    Summary {
        schema: SUMMARY_SCHEMA,
        state,
        knee,
        slo,
        operating_point,
        bottleneck,
        client,
        reconciliation,
        flags: of_run.flags.into_iter().chain(unreadable).collect(),
        checks,
        levels,
    }
}

/// True when a flag takes the server's part of the cycle budget away; a verdict must not show what a table must not.
fn withholds_budget(flag: &Flag) -> bool {
    flag.class == FlagClass::Invalid && flag.numbers.iter().any(|number| number == "cycle_service")
}

/// Verdicts on the limit, in the order of `measured`; `distrust` is the flag against each one's figures.
fn bottlenecks(measured: &[Measured<'_>], trusted: bool, distrust: &[Option<&Flag>]) -> Vec<Bottleneck> {
    let with_flags = || measured.iter().zip(distrust);
    let budgets = || {
        with_flags().filter(|(_, flag)| flag.is_none()).filter_map(|(level, _)| level.budget.as_ref().ok())
    };
    let most = budgets().map(bottleneck::Budget::most_running).fold(0.0, f64::max);
    with_flags()
        .map(|(level, flag)| {
            let n = level.level.level;
            if !trusted {
                return bottleneck::cannot_judge(
                    Some(n),
                    "client and server counts disagree, so the server's numbers are not about this load alone",
                );
            }
            if let Some(flag) = flag {
                return bottleneck::cannot_judge(
                    Some(n),
                    &format!("what the server says of itself failed a check ({})", flag.id),
                );
            }
            let lower =
                |budget: &&bottleneck::Budget| budget.level < n && budget.level.is_open_loop() == n.is_open_loop();
            let arriving = level.arriving.as_ref();
            bottleneck::judge(&bottleneck::Evidence {
                level: n,
                budget: level.budget.as_ref().map_err(String::as_str),
                below: budgets().filter(lower).max_by_key(|budget| budget.level),
                most,
                grew: arriving.is_some_and(|arriving| arriving.grew),
                capped: arriving.is_some_and(|arriving| arriving.capped > 0),
                client: &level.client,
            })
        })
        .collect()
}

/// The plan's objectives; a sentence that cannot be read is a finding, as it was refused before any run.
fn objectives(run: &RunData) -> (Vec<Objective>, Option<Flag>) {
    match run.plan.slo.as_deref().map(Slo::parse) {
        None => (Vec::new(), None),
        Some(Ok(objectives)) => (objectives, None),
        Some(Err(error)) => (
            Vec::new(),
            Some(integrity::warn("slo_unreadable", Vec::new(), format!("No SLO was judged: {error}"))),
        ),
    }
}

/// The measured requests by level, repeats together.
fn pools<'a>(measured: &[Measured<'a>], of_levels: &[Checks], of_run: &[Flag]) -> Vec<Pool<'a>> {
    let mut pools: BTreeMap<Level, Pool<'a>> = BTreeMap::new();
    for (measured, checks) in measured.iter().zip(of_levels) {
        let level = measured.level.level;
        let pool =
            pools.entry(level).or_insert_with(|| Pool { level, requests: Vec::new(), withheld: Vec::new() });
        pool.requests.extend(&measured.level.cohort);
        for flag in checks.flags.iter().chain(of_run).filter(|flag| flag.class == FlagClass::Invalid) {
            // Objectives limit the longest wait between events, which stands where gaps between tokens are hidden.
            let numbers =
                flag.numbers.iter().filter(|_| !matches!(&*flag.id, "tokens_per_chunk" | "coalesced_events"));
            pool.withheld.extend(numbers.map(|number| (number.clone(), flag.id.clone())));
        }
        for flag in checks.flags.iter().filter(|flag| flag.id == integrity::COHORT_CUT) {
            pool.withheld.extend(flag.numbers.iter().map(|number| (number.clone(), flag.id.clone())));
        }
    }
    pools.into_values().collect()
}

fn verdict(objective: &Objective, levels: BTreeMap<Level, crate::SloLevel>) -> SloVerdict {
    SloVerdict {
        objective: objective.to_string(),
        at: objective.at(),
        levels: levels
            .into_values()
            .filter(|judged| objective.at().is_none_or(|at| at == judged.level))
            .collect(),
    }
}

fn summary_of(
    measured: Measured<'_>,
    flags: Vec<Flag>,
    of_run: &[Flag],
    bottleneck: Bottleneck,
) -> LevelSummary {
    let Measured { level, mut numbers, client, targets, .. } = measured;
    for flag in flags.iter().chain(of_run).filter(|flag| flag.class == FlagClass::Invalid) {
        for number in &mut numbers {
            if flag.numbers.is_empty() || flag.numbers.contains(&number.name) {
                withhold(number, &flag.id);
            }
        }
    }
    LevelSummary {
        level: level.level,
        repeat: level.repeat,
        window: level.window,
        n: level.cohort.len() as u64,
        ok: level.successes().count() as u64,
        failures: targets::failures(&level.cohort),
        numbers,
        bottleneck,
        client,
        targets,
        flags,
    }
}

fn state(run: &RunData, measured: &[Measured<'_>]) -> RunState {
    let partial = |reason: String| RunState::Partial { reason };
    let Some(end) = run.phases.iter().rfind(|mark| mark.edge == PhaseEdge::RunEnd) else {
        return partial("the folder does not hold its end; it was killed, or is still running".to_owned());
    };
    let message = end.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
    match end.reason {
        Some(FinishReason::Interrupted) => return partial(format!("it was stopped by the user{message}")),
        Some(FinishReason::Failed) => return partial(format!("it stopped itself{message}")),
        Some(FinishReason::Complete) | None => {}
    }
    let planned =
        if run.conditions.levels.is_empty() { run.plan.levels() } else { run.conditions.levels.clone() };
    let missing: Vec<String> = planned
        .iter()
        .filter(|level| {
            let closed =
                measured.iter().filter(|m| m.level.level == **level && m.level.window.is_some()).count();
            closed < run.plan.repeats as usize
        })
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        RunState::Complete
    } else {
        partial(format!("levels without a whole measured window: {}", missing.join(", ")))
    }
}
