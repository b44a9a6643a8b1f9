//! The load to run at.

use crate::slo::Objective;
use crate::summary::{Knee, KneeState, OperatingPoint, SloLevel, Verdict};
use crate::words;
use plimsoll_record::Level;
use std::collections::BTreeMap;

/// An objective with its verdict at every tested level.
pub(crate) type Judged<'a> = (&'a Objective, BTreeMap<Level, SloLevel>);

/// The largest tested level that passes every objective and does not exceed the knee's lower edge.
///
/// An objective applies at the levels of its kind up to the one it names; those that name the highest level, or none, apply everywhere.
pub(crate) fn choose(levels: &[Level], knee: &Knee, objectives: &[Judged<'_>]) -> OperatingPoint {
    let (edge, open) = match knee.state {
        KneeState::Bracket { low, .. } => (low, false),
        KneeState::NoneInRange { highest } => (highest, true),
        KneeState::SaturatedAtLowest { lowest } if lowest.is_open_loop() => {
            return none("No tested rate can be run at: the server falls behind the lowest of them.");
        }
        KneeState::SaturatedAtLowest { lowest } => (lowest, false),
        KneeState::CannotJudge => {
            return none("The operating point cannot be judged, as the knee cannot.");
        }
    };
    let edge_text = match (open, edge.is_open_loop()) {
        (true, false) => format!("{edge}, the highest level tested, at which no knee is seen"),
        (true, true) => format!("{edge}, the highest rate tested, with which the server keeps up"),
        (false, false) => format!("{edge}, the knee's lower edge"),
        (false, true) => format!("{edge}, the highest rate before saturation"),
    };
    let levels: Vec<Level> =
        levels.iter().copied().filter(|level| level.is_open_loop() == edge.is_open_loop()).collect();
    let verdict = |level: Level| verdict(level, objectives);
    let passing: Vec<Level> =
        levels.iter().copied().filter(|level| verdict(*level) == Verdict::Pass).collect();
    let failing = levels.iter().copied().find(|level| verdict(*level) == Verdict::Fail);
    if let (Some(failed), Some(passed)) = (failing, passing.last())
        && failed < *passed
    {
        return none(&format!(
            "No single answer: {} passes the objectives although {failed} fails them. Measure both again.",
            words::load(*passed)
        ));
    }
    let Some(level) = passing.iter().copied().filter(|level| *level <= edge).max() else {
        let undecided: Vec<String> = levels
            .iter()
            .filter(|level| verdict(**level) == Verdict::Inconclusive)
            .map(Level::to_string)
            .collect();
        let hint = if undecided.is_empty() {
            String::new()
        } else {
            format!(" Inconclusive, so not taken as passed: {}.", undecided.join(", "))
        };
        return none(&format!("No tested level up to {edge_text}, passes every objective.{hint}"));
    };
    let headroom = edge.value() / level.value().max(1e-6);
    let why = if objectives.is_empty() {
        format!("no objective is set, so it is bounded by {edge_text}")
    } else if level == edge {
        format!("every objective passes at it, and it is {edge_text}")
    } else {
        format!("the largest level that passes every objective, below {edge_text}")
    };
    OperatingPoint {
        level: Some(level),
        headroom: Some(headroom),
        text: if level == edge && !open {
            format!("Run at {}: {why}.", words::load(level))
        } else {
            let least = if open { "at least " } else { "" };
            format!("Run at {}: {why}. Headroom to there: {least}{headroom:.2} times.", words::load(level))
        },
    }
}

fn verdict(level: Level, objectives: &[Judged<'_>]) -> Verdict {
    let alike = |at: &Level| at.is_open_loop() == level.is_open_loop();
    let furthest = objectives.iter().filter_map(|(objective, _)| objective.at).filter(alike).max();
    objectives
        .iter()
        .filter(|(objective, _)| {
            objective.at.is_none_or(|at| alike(&at) && (level <= at || Some(at) == furthest))
        })
        .map(|(_, levels)| levels.get(&level).map_or(Verdict::Inconclusive, |judged| judged.verdict))
        .fold(Verdict::Pass, |all, one| match (all, one) {
            (Verdict::Fail, _) | (_, Verdict::Fail) => Verdict::Fail,
            (Verdict::Inconclusive, _) | (_, Verdict::Inconclusive) => Verdict::Inconclusive,
            _ => Verdict::Pass,
        })
}

fn none(text: &str) -> OperatingPoint {
    OperatingPoint { level: None, headroom: None, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slo::Slo;

    fn knee(state: KneeState) -> Knee {
        Knee { state, elasticities: Vec::new(), text: String::new() }
    }

    fn judged(objective: &Objective, verdicts: &[(u32, Verdict)]) -> BTreeMap<Level, SloLevel> {
        let _ = objective;
        verdicts
            .iter()
            .map(|(level, verdict)| {
                let judged = SloLevel {
                    level: (*level).into(),
                    verdict: *verdict,
                    ok: 0,
                    n: 0,
                    target: 0.95,
                    lower: None,
                    upper: None,
                    text: String::new(),
                };
                ((*level).into(), judged)
            })
            .collect()
    }

    fn level(state: KneeState, slo: &str, verdicts: &[(u32, Verdict)]) -> Option<Level> {
        let objectives = Slo::parse(slo).unwrap();
        let judged: Vec<Judged<'_>> = objectives.iter().map(|o| (o, judged(o, verdicts))).collect();
        choose(&verdicts.iter().map(|(level, _)| (*level).into()).collect::<Vec<_>>(), &knee(state), &judged)
            .level
    }

    #[test]
    fn bounded_by_knee_and_objectives() {
        use Verdict::{Fail, Inconclusive, Pass};
        let bracket = KneeState::Bracket { low: 4.into(), high: 16.into() };
        let slo = "at 8: ttft p95 < 1s";
        assert_eq!(
            level(bracket, slo, &[(1, Pass), (2, Pass), (4, Pass), (8, Pass), (16, Pass)]),
            Some(4.into())
        );
        assert_eq!(level(bracket, slo, &[(1, Pass), (2, Pass), (4, Fail), (8, Fail)]), Some(2.into()));
        assert_eq!(level(bracket, slo, &[(1, Pass), (2, Inconclusive), (4, Fail)]), Some(1.into()));
        assert_eq!(level(bracket, slo, &[(1, Fail), (2, Pass), (4, Pass)]), None);
        assert_eq!(level(bracket, slo, &[(1, Fail), (2, Fail)]), None);
        assert_eq!(
            level(KneeState::NoneInRange { highest: 8.into() }, slo, &[(4, Pass), (8, Pass)]),
            Some(8.into())
        );
        assert_eq!(level(KneeState::CannotJudge, slo, &[(4, Pass)]), None);
    }

    #[test]
    fn without_an_objective_the_knee_decides() {
        let point = choose(
            &[1, 2, 4, 8].map(Level::Concurrency),
            &knee(KneeState::Bracket { low: 4.into(), high: 8.into() }),
            &[],
        );
        assert_eq!((point.level, point.headroom), (Some(4.into()), Some(1.0)));
        assert!(point.text.contains("no objective"));
    }

    #[test]
    fn an_objective_of_a_rate_does_not_bind_concurrencies() {
        let open = KneeState::NoneInRange { highest: 8.into() };
        let slo = Slo::parse("at 8/s: ttft p95 < 1s").unwrap();
        let failed = judged(&slo[0], &[(4, Verdict::Fail), (8, Verdict::Fail)]);
        let point = choose(&[4, 8].map(Level::Concurrency), &knee(open), &[(&slo[0], failed)]);
        assert_eq!(point.level, Some(8.into()));
    }

    #[test]
    fn an_objective_ends_at_its_level() {
        let slo = Slo::parse("at 4: ttft p95 < 1s; at 8: ttft p95 < 3s").unwrap();
        let (strict, loose) = (
            judged(&slo[0], &[(4, Verdict::Pass), (8, Verdict::Fail)]),
            judged(&slo[1], &[(4, Verdict::Pass), (8, Verdict::Pass)]),
        );
        let point = choose(
            &[4, 8].map(Level::Concurrency),
            &knee(KneeState::NoneInRange { highest: 8.into() }),
            &[(&slo[0], strict), (&slo[1], loose)],
        );
        assert_eq!(point.level, Some(8.into()));
    }
}
