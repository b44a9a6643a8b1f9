use super::{Checks, invalid, named, of_server, performance, warn, wire};
use crate::RunData;
use crate::level::Measured;
use crate::server::Targets;
use crate::summary::{Flag, Reconciliation, ReconciliationState, RunState};
use crate::words;
use plimsoll_record::{Counter, Level, Phase, RequestRecord, Sample, SampleOutcome};
use std::collections::BTreeSet;

/// What the checks of a whole run look at.
pub(crate) struct RunChecks<'a> {
    pub run: &'a RunData,
    pub state: &'a RunState,
    pub measured: &'a [Measured<'a>],
    pub targets: &'a Targets<'a>,
    pub reconciliation: &'a Reconciliation,
}

/// The checks of the whole run.
pub(crate) fn check(of: &RunChecks<'_>) -> Checks {
    let mut checks = Checks::default();
    folder(&mut checks, of);
    server(&mut checks, of);
    reconciliation(&mut checks, of.reconciliation);
    output_length(&mut checks, of.measured);
    wire::check(&mut checks, of.run);
    checks.check((of.run.plan.warmup == Some(0)).then(|| {
        warn(
            "warmup_off",
            Vec::new(),
            "There was no warm-up: the first requests may have met a cold server.".to_owned(),
        )
    }));
    checks
}

fn folder(checks: &mut Checks, of: &RunChecks<'_>) {
    checks.check(match of.state {
        RunState::Complete => None,
        RunState::Partial { reason } => {
            Some(warn("partial_run", Vec::new(), format!("The run is partial: {reason}.")))
        }
    });
    checks.check(twice(of.run));
    // A killed run may leave a torn line; in one that ran to its end, evidence was lost afterwards.
    let whole = matches!(of.state, RunState::Complete);
    checks.check((of.run.bad_lines > 0).then(|| {
        let class = if whole { invalid } else { warn };
        class(
            "bad_lines",
            named(&["output_tok_s", "input_tok_s", "req_s", "in_flight"]),
            format!(
                "{} lines of the run folder could not be read; what they held is missing from every number, and rates are too low by it.",
                of.run.bad_lines
            ),
        )
    }));
}

/// Records that stand in the folder twice would count twice.
fn twice(run: &RunData) -> Option<Flag> {
    let mut seen = BTreeSet::new();
    let key =
        |record: &RequestRecord| (record.level, record.repeat, record.phase == Phase::Warmup, record.id);
    let count = run.requests.iter().filter(|record| !seen.insert(key(record))).count();
    (count > 0).then(|| {
        invalid(
            "duplicate_records",
            performance(),
            format!(
                "{count} request records stand in the folder more than once; numbers over them are wrong."
            ),
        )
    })
}

fn server(checks: &mut Checks, of: &RunChecks<'_>) {
    if let Some(idle) = of.run.conditions.server.idle_before {
        checks.check((!idle).then(|| {
            warn(
                "other_load",
                Vec::new(),
                "The server was not idle before the run began: someone else uses it, and every number is theirs, too.".to_owned(),
            )
        }));
    }
    if of.run.samples.is_empty() {
        return;
    }
    let failed = of.run.samples.iter().filter(|sample| sample.outcome != SampleOutcome::Ok).count();
    checks.check((failed > 0).then(|| {
        warn(
            "scrapes_failed",
            of_server(),
            format!("{failed} of {} reads of the server's metrics failed.", of.run.samples.len()),
        )
    }));
    checks.check(of.targets.tracks.iter().any(|track| fell(track)).then(|| {
        invalid(
            "server_restarted",
            of_server(),
            "The server's counters went down during the run: it was restarted, and differences across that mean nothing.".to_owned(),
        )
    }));
}

fn fell(track: &[&Sample]) -> bool {
    [Counter::GenerationTokens, Counter::PromptTokens].iter().any(|counter| {
        let mut values =
            track.iter().filter_map(|sample| sample.counters.get(counter)).filter(|v| v.is_finite());
        let mut last = f64::NEG_INFINITY;
        values.any(|value| {
            let fell = *value < last;
            last = *value;
            fell
        })
    })
}

fn reconciliation(checks: &mut Checks, found: &Reconciliation) {
    if found.state == ReconciliationState::CannotJudge {
        return;
    }
    let mismatch = found.state == ReconciliationState::Mismatch;
    checks.check(mismatch.then(|| {
        invalid(
            "reconciliation_mismatch",
            of_server(),
            format!("{} What the server says of itself is not about this load alone.", found.text),
        )
    }));
    checks.check(mismatch.then(|| {
        warn(
            "reconciliation_mismatch_client",
            performance(),
            "Client and server counts disagree; if other traffic was the reason, these numbers were measured beside it.".to_owned(),
        )
    }));
}

fn output_length(checks: &mut Checks, measured: &[Measured<'_>]) {
    let means: Vec<(Level, f64)> = measured
        .iter()
        .filter_map(|measured| {
            let tokens = &measured.latencies.output_tokens;
            let sum: u64 = tokens.iter().copied().map(u64::from).sum();
            (!tokens.is_empty()).then(|| (measured.level.level, sum as f64 / tokens.len() as f64))
        })
        .collect();
    if means.len() < 2 {
        return;
    }
    let shortest = means.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a });
    let longest = means.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
    if let (Some((at_short, short)), Some((at_long, long))) = (shortest, longest) {
        checks.check((long > 1.05 * short).then(|| {
            warn(
                "output_length_differs",
                named(&["output_tok_s", "req_s"]),
                format!(
                    "Answers had {short:.1} tokens on average at {} and {long:.1} at {}, so levels did different work. Ask the server to ignore end-of-sequence, or measure longer.",
                    words::load(at_short),
                    words::load(at_long)
                ),
            )
        }));
    }
}
