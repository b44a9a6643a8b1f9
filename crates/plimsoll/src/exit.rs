use plimsoll_metrics::{Flag, FlagClass, RunState, SloVerdict, Summary, Verdict};
use plimsoll_sweep::ErrorKind;
use std::process::ExitCode;

/// How a command ended. The codes are part of the interface: scripts and gates rest on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done. An SLO that the run can neither pass nor fail is no failure: the report says "inconclusive", and what n
    /// would settle it.
    Done,
    /// 1: anything without a code of its own, such as a full disk.
    Other,
    /// 2: a wrong flag, plan, or file that they name.
    Usage,
    /// 3: the server cannot be used: unreachable, not an LLM server, without the model, refusing the key.
    Target,
    /// 4: the run is invalid: incomplete, interrupted, given up, without one complete answer, or with an
    /// integrity flag INVALID on the whole run.
    Invalid,
    /// 5: an SLO has failed: the one level that it names, or, when it names none, every level.
    Slo,
    /// 130: a second Ctrl-C, which waits for nothing. The run folder still holds every request that had ended.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Other => 1,
            Self::Usage => 2,
            Self::Target => 3,
            Self::Invalid => 4,
            Self::Slo => 5,
            Self::Interrupted => 130,
        }
    }

    /// What a run amounts to: the same for `sweep` at its end and `report` later.
    pub fn of_summary(summary: &Summary) -> Self {
        let void = |flag: &Flag| flag.class == FlagClass::Invalid;
        let partial = matches!(summary.state, RunState::Partial { .. });
        if partial || summary.flags.iter().any(void) {
            Self::Invalid
        } else if summary.slo.iter().any(failed) {
            Self::Slo
        } else if !summary.levels.is_empty() && summary.levels.iter().all(|level| level.ok == 0) {
            Self::Invalid
        } else {
            Self::Done
        }
    }
}

/// True when every judged level fails: one level if the objective names it, all levels otherwise.
fn failed(objective: &SloVerdict) -> bool {
    !objective.levels.is_empty() && objective.levels.iter().all(|level| level.verdict == Verdict::Fail)
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Target => Self::Target,
            ErrorKind::Invalid => Self::Invalid,
            ErrorKind::Other => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_metrics::{Bottleneck, BottleneckKind, LevelSummary, RunData, SloLevel, summarize};
    use std::collections::BTreeMap;

    fn objective(verdicts: &[Verdict]) -> SloVerdict {
        let level = |verdict: &Verdict| SloLevel {
            level: 1.into(),
            verdict: *verdict,
            ok: 0,
            n: 0,
            target: 0.95,
            lower: None,
            upper: None,
            text: String::new(),
        };
        SloVerdict { objective: String::new(), at: None, levels: verdicts.iter().map(level).collect() }
    }

    fn exit(change: impl FnOnce(&mut Summary)) -> Exit {
        let mut summary = summarize(&RunData::default());
        summary.state = RunState::Complete;
        summary.flags.clear();
        change(&mut summary);
        Exit::of_summary(&summary)
    }

    fn flag(class: FlagClass) -> Flag {
        Flag { id: "mismatch".into(), class, numbers: Vec::new(), text: String::new() }
    }

    #[test]
    fn a_partial_or_void_run_is_invalid_whatever_its_slo() {
        let fail = || vec![objective(&[Verdict::Fail])];
        let partial = RunState::Partial { reason: "killed".into() };
        assert_eq!(exit(|summary| (summary.state, summary.slo) = (partial, fail())), Exit::Invalid);
        assert_eq!(exit(|summary| summary.flags.push(flag(FlagClass::Invalid))), Exit::Invalid);
        assert_eq!(exit(|summary| summary.flags.push(flag(FlagClass::Warn))), Exit::Done);
    }

    #[test]
    fn a_run_without_one_complete_answer_measures_nothing() {
        let level = |ok| LevelSummary {
            level: 1.into(),
            repeat: 0,
            window: None,
            n: 8,
            ok,
            failures: BTreeMap::new(),
            numbers: Vec::new(),
            bottleneck: Bottleneck {
                kind: BottleneckKind::CannotJudge,
                level: None,
                text: String::new(),
                figures: BTreeMap::new(),
            },
            client: summarize(&RunData::default()).client,
            targets: Vec::new(),
            flags: Vec::new(),
        };
        assert_eq!(exit(|summary| summary.levels = vec![level(0), level(0)]), Exit::Invalid);
        assert_eq!(exit(|summary| summary.levels = vec![level(0), level(1)]), Exit::Done);
        let failed = |summary: &mut Summary| {
            (summary.levels, summary.slo) = (vec![level(0)], vec![objective(&[Verdict::Fail])]);
        };
        assert_eq!(exit(failed), Exit::Slo);
    }

    #[test]
    fn an_slo_fails_when_every_judged_level_fails() {
        use Verdict::{Fail, Inconclusive, Pass};
        for (verdicts, expected) in [
            (&[Fail][..], Exit::Slo),
            (&[Pass], Exit::Done),
            (&[Inconclusive], Exit::Done),
            (&[Pass, Fail], Exit::Done),
            (&[Inconclusive, Fail], Exit::Done),
            (&[Fail, Fail], Exit::Slo),
            (&[], Exit::Done),
        ] {
            assert_eq!(exit(|summary| summary.slo = vec![objective(verdicts)]), expected, "{verdicts:?}");
        }
        let two = || vec![objective(&[Pass]), objective(&[Fail])];
        assert_eq!(exit(|summary| summary.slo = two()), Exit::Slo);
    }
}
