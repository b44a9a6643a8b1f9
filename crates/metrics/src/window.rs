//! Which records belong to a level, and its window.

use crate::RunData;
use crate::summary::Window;
use plimsoll_record::{FailureKind, Level, Nanos, Phase, PhaseEdge, PhaseMark, RequestRecord};
use std::collections::BTreeMap;

/// One level and repeat: its window and its records.
#[derive(Debug)]
pub(crate) struct LevelRecords<'a> {
    pub level: Level,
    pub repeat: u32,
    /// None when the window never closed.
    pub window: Option<Window>,
    /// Records of every phase: they all load the server.
    pub requests: Vec<&'a RequestRecord>,
    /// The measured ones, failures included, by intended start.
    pub cohort: Vec<&'a RequestRecord>,
    /// True when the measured requests were not all followed to their end, so that long ones are missing.
    pub cut: bool,
    /// Why the level ended before its time, if it did.
    pub ended_early: Option<&'a str>,
    /// True when the level has no end: the requests that were in flight then left no record.
    pub killed: bool,
}

impl LevelRecords<'_> {
    /// Of a level that has left no trace yet.
    pub const fn new(level: Level, repeat: u32) -> Self {
        Self {
            level,
            repeat,
            window: None,
            requests: Vec::new(),
            cohort: Vec::new(),
            cut: false,
            ended_early: None,
            killed: false,
        }
    }

    /// The measured requests that succeeded.
    pub fn successes(&self) -> impl Iterator<Item = &RequestRecord> {
        self.cohort.iter().copied().filter(|request| request.outcome.is_ok())
    }
}

/// The levels that left a trace, by level, then repeat.
pub(crate) fn levels(run: &RunData) -> Vec<LevelRecords<'_>> {
    let mut levels: BTreeMap<(Level, u32), LevelRecords<'_>> = BTreeMap::new();
    let mut marks: BTreeMap<(Level, u32), Vec<&PhaseMark>> = BTreeMap::new();
    for mark in &run.phases {
        if let (Some(level), Some(repeat)) = (mark.level, mark.repeat) {
            marks.entry((level, repeat)).or_default().push(mark);
            levels.entry((level, repeat)).or_insert_with(|| LevelRecords::new(level, repeat));
        }
    }
    for request in &run.requests {
        let (level, repeat) = (request.level, request.repeat);
        let level = levels.entry((level, repeat)).or_insert_with(|| LevelRecords::new(level, repeat));
        level.requests.push(request);
        if request.phase == Phase::Measure {
            level.cohort.push(request);
        }
    }
    levels
        .into_iter()
        .map(|(key, mut level)| {
            level.window = marks.get(&key).and_then(|marks| window(marks));
            let ended = |mark: &&PhaseMark| matches!(mark.edge, PhaseEdge::Drain | PhaseEdge::LevelEnd);
            level.ended_early = marks.get(&key).and_then(|marks| {
                let drain = marks.iter().find(|mark| mark.edge == PhaseEdge::Drain)?;
                drain.message.as_deref()
            });
            level.killed = !marks.get(&key).is_some_and(|marks| marks.iter().any(ended));
            level.cut = level.killed
                || level.cohort.iter().any(|r| r.outcome.failure() == Some(FailureKind::Cancelled));
            // An order of their own makes the result independent of the order in which requests ended.
            level.requests.sort_by_key(|request| (request.due_ns, request.slot, request.id));
            level.cohort.sort_by_key(|request| (request.due_ns, request.slot, request.id));
            level
        })
        .collect()
}

fn window(marks: &[&PhaseMark]) -> Option<Window> {
    let at = |edge, after: Nanos| {
        marks.iter().filter(|mark| mark.edge == edge && mark.at_ns >= after).map(|mark| mark.at_ns).min()
    };
    let open_ns = at(PhaseEdge::WindowOpen, Nanos::ZERO)?;
    let close_ns = at(PhaseEdge::WindowClose, open_ns)?;
    (close_ns > open_ns).then_some(Window { open_ns, close_ns })
}

impl Window {
    /// `t1 - t0`, seconds.
    pub fn seconds(&self) -> f64 {
        (self.close_ns - self.open_ns).as_secs_f64()
    }

    /// True for `t0 < at <= t1`: for ends of requests. A closed loop opens and closes its window at the end of a request; the one
    /// at t0 belongs to what came before, the one at t1 to the window.
    pub fn contains_end(&self, at: Nanos) -> bool {
        self.open_ns < at && at <= self.close_ns
    }

    /// True for `t0 <= at < t1`.
    pub fn contains(&self, at: Nanos) -> bool {
        self.open_ns <= at && at < self.close_ns
    }

    /// Nanoseconds of `[from, to]` inside the window.
    pub fn overlap(&self, from: Nanos, to: Nanos) -> u64 {
        to.min(self.close_ns).0.saturating_sub(from.max(self.open_ns).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Request, ms};

    #[test]
    fn by_level_and_repeat() {
        let run = RunData {
            phases: vec![
                PhaseMark::of_level(ms(10), PhaseEdge::WindowOpen, 2.into(), 0),
                PhaseMark::of_level(ms(5), PhaseEdge::WindowClose, 2.into(), 0),
                PhaseMark::of_level(ms(30), PhaseEdge::WindowClose, 2.into(), 0),
                PhaseMark::of_level(ms(40), PhaseEdge::WindowOpen, 4.into(), 0),
            ],
            requests: vec![
                Request::new(12).of(2, Phase::Measure).build(),
                Request::new(1).of(2, Phase::Warmup).build(),
                Request::new(11).of(2, Phase::Measure).build(),
            ],
            ..RunData::default()
        };
        let levels = levels(&run);
        assert_eq!(levels.iter().map(|level| level.level).collect::<Vec<_>>(), [2.into(), 4.into()]);
        assert_eq!(levels[0].window, Some(Window { open_ns: ms(10), close_ns: ms(30) }));
        assert_eq!(levels[1].window, None);
        assert_eq!(levels[0].requests.len(), 3);
        assert_eq!(levels[0].cohort.iter().map(|r| r.due_ns).collect::<Vec<_>>(), [ms(11), ms(12)]);
    }

    #[test]
    fn half_open() {
        let window = Window { open_ns: ms(10), close_ns: ms(30) };
        assert!(window.contains(ms(10)) && !window.contains(ms(30)));
        assert!(!window.contains_end(ms(10)) && window.contains_end(ms(30)) && !window.contains_end(ms(31)));
        assert_eq!(window.overlap(ms(0), ms(40)), ms(20).0);
        assert_eq!(window.overlap(ms(25), ms(12)), 0);
        assert_eq!(window.overlap(ms(31), ms(40)), 0);
    }
}
