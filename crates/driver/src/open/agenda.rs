use crate::{Cohort, LevelPlan, OpenLoop};
use plimsoll_record::Nanos;
use plimsoll_workload::ArrivalTimes;

/// The schedule of a level. Arrivals have an index, from 0: first those of the warm-up, then all others.
#[derive(Debug)]
pub struct Agenda {
    times: ArrivalTimes,
    /// Times since the level's start, rising.
    drawn: Vec<Nanos>,
    warmup: u64,
    /// End of the window by the rule, once that has been decided.
    ruled: Option<Nanos>,
    /// 95th percentile of the durations when the window opened.
    pub p95_at_open: Option<Nanos>,
}

/// Most arrivals that are drawn before the level begins.
const MOST_AHEAD: f64 = 4e6;
/// As many are drawn at once when those have been used up.
const MORE: usize = 256;

impl Agenda {
    /// Draws what the warm-up and the window should need, and a tenth more for the filler.
    pub fn new(open: &OpenLoop, plan: &LevelPlan) -> Self {
        let window = match plan.cohort {
            Cohort::Requests(n) => f64::from(n),
            Cohort::Duration(length) => length.as_secs_f64() * open.rate.per_second(),
            Cohort::Rule { floor, requests, .. } => {
                f64::from(requests).max(floor.as_secs_f64() * open.rate.per_second())
            }
        };
        let ahead = (1.1 * (f64::from(plan.warmup) + window)).min(MOST_AHEAD) as usize + MORE;
        let mut times = open.times.clone();
        let drawn = times.by_ref().take(ahead).collect();
        Self { times, drawn, warmup: u64::from(plan.warmup), ruled: None, p95_at_open: None }
    }

    /// When arrival `index` is due, since the level's start.
    pub fn at(&mut self, index: u64) -> Nanos {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        loop {
            if let Some(at) = self.drawn.get(index) {
                return *at;
            }
            self.drawn.extend(self.times.by_ref().take(MORE));
        }
    }

    /// True for an arrival of the warm-up.
    pub const fn is_warmup(&self, index: u64) -> bool {
        index < self.warmup
    }

    /// Number of an arrival in its stream: that of the warm-up, or that of all others.
    pub const fn number(&self, index: u64) -> u64 {
        if index < self.warmup { index } else { index - self.warmup }
    }

    /// `t0`, since the level's start: right after the last arrival of the warm-up. The window then holds as many arrivals
    /// as gaps, so that their number by its length is the rate, without bias.
    pub fn open(&mut self) -> Nanos {
        let last = self.warmup.checked_sub(1).map_or(Nanos::ZERO, |last| self.at(last));
        last + TICK
    }

    /// `t1`, since the level's start, as far as it is known.
    pub fn close(&mut self, cohort: Cohort) -> Option<Nanos> {
        match cohort {
            Cohort::Requests(n) => {
                let last = (self.warmup + u64::from(n)).saturating_sub(1);
                Some(self.at(last) + TICK)
            }
            Cohort::Duration(length) => Some(self.open() + crate::control::nanos(length)),
            Cohort::Rule { .. } => self.ruled,
        }
    }

    /// The window closes right after an arrival at `last`.
    pub fn rule(&mut self, last: Nanos) {
        self.ruled = Some(last + TICK);
    }

    /// Arrivals of the window that closes at `close`.
    pub fn measured_before(&mut self, close: Nanos) -> u64 {
        let mut index = self.drawn.len() as u64;
        while self.at(index.saturating_sub(1)) < close {
            index += MORE as u64;
        }
        let before = self.drawn.partition_point(|at| *at < close) as u64;
        before.saturating_sub(self.warmup)
    }
}

/// The least time after an instant.
const TICK: Nanos = Nanos(1);
