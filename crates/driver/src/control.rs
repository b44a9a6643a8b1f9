use crate::{Cohort, LevelPlan};
use hdrhistogram::Histogram;
use plimsoll_record::{FailureKind, Nanos, Outcome, Phase, PhaseEdge};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Decides what each next request of a level is for. Shared by its workers; asked once per request, never per token.
#[derive(Debug)]
pub struct Control {
    plan: LevelPlan,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Slots that have begun.
    entered: u32,
    warmups: u32,
    open: Option<Nanos>,
    close: Option<Nanos>,
    measured: u32,
    measured_ended: u32,
    draining: bool,
    progress: Progress,
    row: FailureRow,
    /// Durations of successful requests, rising.
    durations: Vec<Nanos>,
    /// Times to the first token, microseconds: bounded in memory however long the level runs.
    ttfts: Histogram<u64>,
}

/// How far a level is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Requests begun.
    pub started: u64,
    /// Requests ended, failures included.
    pub ended: u64,
    /// Of these, failures.
    pub failed: u64,
    /// Output tokens of ended requests, as far as known.
    pub output_tokens: u64,
    /// Median time to the first token of ended requests, to about 1 %: for a live view, not for a report.
    pub ttft_p50: Option<Nanos>,
    /// `t0`.
    pub window_open: Option<Nanos>,
    /// `t1`.
    pub window_close: Option<Nanos>,
    /// Measured requests begun.
    pub measured: u32,
}

/// Failures since the last success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureRow {
    /// How many.
    pub count: u32,
    /// Kind of the last one.
    pub last_kind: Option<FailureKind>,
    /// What the last one said.
    pub last: Option<String>,
}

/// What changed with a decision; each is a phase mark.
pub type Edges = Vec<(Nanos, PhaseEdge)>;

impl Control {
    /// For one level.
    pub fn new(plan: LevelPlan) -> Self {
        Self { plan, state: Mutex::new(State::new()) }
    }

    /// The level.
    pub const fn plan(&self) -> &LevelPlan {
        &self.plan
    }

    /// A slot begins; called once by each, before its first request. The window stays shut until all have.
    pub fn enter(&self) {
        self.lock().entered += 1;
    }

    /// A slot is free at `now`: what its next request is for, or `None` when the level is over.
    pub fn begin(&self, now: Nanos) -> (Option<Phase>, Edges) {
        let mut state = self.lock();
        let mut edges = Vec::new();
        let phase = self.decide(&mut state, now, &mut edges);
        if phase.is_some() {
            state.progress.started += 1;
        }
        (phase, edges)
    }

    fn decide(&self, state: &mut State, now: Nanos, edges: &mut Edges) -> Option<Phase> {
        if state.draining {
            return None;
        }
        if state.open.is_none() {
            // Few warm-up requests may be used up by the first slots while the others still wait for their turn.
            let filling = self.plan.warmup > 0 && state.entered < self.plan.level;
            if filling || state.warmups < self.plan.warmup {
                state.warmups += 1;
                return Some(Phase::Warmup);
            }
            state.open = Some(now);
            edges.push((now, PhaseEdge::WindowOpen));
        }
        self.close_if_due(state, now, edges);
        if state.close.is_none() {
            state.measured += 1;
            return Some(Phase::Measure);
        }
        state.drain_if_done(now, edges);
        (!state.draining).then_some(Phase::Filler)
    }

    /// A request has ended at `now`.
    pub fn end(&self, phase: Phase, now: Nanos, ended: &Ended<'_>) -> Edges {
        let mut state = self.lock();
        let mut edges = Vec::new();
        state.note(ended);
        if phase == Phase::Measure {
            state.measured_ended += 1;
        }
        if state.open.is_some() {
            // With requests longer than the window, t1 passes while none is due.
            if matches!(self.plan.cohort, Cohort::Duration(_)) {
                self.close_if_due(&mut state, now, &mut edges);
            }
            state.drain_if_done(now, &mut edges);
        }
        edges
    }

    fn close_if_due(&self, state: &mut State, now: Nanos, edges: &mut Edges) {
        let (Some(open), None) = (state.open, state.close) else { return };
        let close = match self.plan.cohort {
            Cohort::Requests(n) => (state.measured >= n).then_some(now),
            Cohort::Duration(length) => {
                let close = open + nanos(length);
                (now >= close).then_some(close)
            }
            Cohort::Rule { floor, requests, durations } => {
                let spanned = Nanos(state.p95().0.saturating_mul(u64::from(durations)));
                let length = nanos(floor).max(spanned);
                (state.measured >= requests && now >= open + length).then_some(now)
            }
        };
        if let Some(close) = close {
            state.close = Some(close);
            edges.push((close, PhaseEdge::WindowClose));
        }
    }

    /// Failures since the last success.
    pub fn failures_in_a_row(&self) -> FailureRow {
        self.lock().row.clone()
    }

    /// Median duration of the successful requests: the ramp of the next level.
    pub fn typical_duration(&self) -> Option<Duration> {
        let state = self.lock();
        let middle = state.durations.get(state.durations.len() / 2)?;
        Some(Duration::from_nanos(middle.0))
    }

    /// How far the level is.
    pub fn progress(&self) -> Progress {
        let state = self.lock();
        Progress {
            ttft_p50: state.ttft_p50(),
            window_open: state.open,
            window_close: state.close,
            measured: state.measured,
            ..state.progress
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves counts that are still counts.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request's end means to the level.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// How it ended.
    pub outcome: &'a Outcome,
    /// From its intended start to its end.
    pub duration: Nanos,
    /// From its intended start to its first token.
    pub ttft: Option<Nanos>,
    /// Output tokens, if known.
    pub output_tokens: Option<u32>,
}

impl State {
    fn new() -> Self {
        #[expect(clippy::expect_used, reason = "the bounds are constants within the documented limits")]
        let ttfts = Histogram::new_with_bounds(1, 24 * 3_600_000_000, 2).expect("constant bounds");
        Self {
            entered: 0,
            warmups: 0,
            open: None,
            close: None,
            measured: 0,
            measured_ended: 0,
            draining: false,
            progress: Progress::default(),
            row: FailureRow::default(),
            durations: Vec::new(),
            ttfts,
        }
    }

    fn drain_if_done(&mut self, now: Nanos, edges: &mut Edges) {
        if !self.draining && self.close.is_some() && self.measured_ended == self.measured {
            self.draining = true;
            edges.push((now, PhaseEdge::Drain));
        }
    }

    fn note(&mut self, ended: &Ended<'_>) {
        self.progress.ended += 1;
        self.progress.output_tokens += u64::from(ended.output_tokens.unwrap_or(0));
        if let Some(ttft) = ended.ttft {
            self.ttfts.saturating_record(ttft.0 / 1000);
        }
        match ended.outcome {
            Outcome::Ok => {
                self.row = FailureRow::default();
                let place = self.durations.partition_point(|other| *other <= ended.duration);
                self.durations.insert(place, ended.duration);
            }
            Outcome::Failed { kind, message } => {
                self.progress.failed += 1;
                self.row.count += 1;
                self.row.last_kind = Some(*kind);
                self.row.last = Some(format!("{kind}: {message}"));
            }
        }
    }

    fn ttft_p50(&self) -> Option<Nanos> {
        (!self.ttfts.is_empty()).then(|| Nanos(self.ttfts.value_at_quantile(0.5).saturating_mul(1000)))
    }

    fn p95(&self) -> Nanos {
        let rank = (self.durations.len() * 95).div_ceil(100);
        self.durations.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(warmup: u32, cohort: Cohort) -> Control {
        let control = not_entered(warmup, cohort);
        control.enter();
        control.enter();
        control
    }

    fn not_entered(warmup: u32, cohort: Cohort) -> Control {
        Control::new(LevelPlan {
            level: 2,
            repeat: 0,
            warmup,
            cohort,
            ramp: Duration::ZERO,
            timeout: Duration::from_secs(1),
        })
    }

    fn end(control: &Control, phase: Phase, ms: u64) -> Edges {
        let ended = Ended {
            outcome: &Outcome::Ok,
            duration: Nanos::from_millis(100),
            ttft: None,
            output_tokens: Some(1),
        };
        control.end(phase, Nanos::from_millis(ms), &ended)
    }

    fn begin(control: &Control, ms: u64) -> Option<Phase> {
        control.begin(Nanos::from_millis(ms)).0
    }

    #[test]
    fn a_cohort_of_requests_is_followed_by_filler_until_its_last_has_ended() {
        let control = control(2, Cohort::Requests(2));
        assert_eq!(begin(&control, 0), Some(Phase::Warmup));
        assert_eq!(begin(&control, 50), Some(Phase::Warmup));
        end(&control, Phase::Warmup, 100);
        let (phase, edges) = control.begin(Nanos::from_millis(100));
        assert_eq!(
            (phase, edges),
            (Some(Phase::Measure), vec![(Nanos::from_millis(100), PhaseEdge::WindowOpen)])
        );
        end(&control, Phase::Warmup, 150);
        assert_eq!(begin(&control, 150), Some(Phase::Measure));
        end(&control, Phase::Measure, 200);
        let (phase, edges) = control.begin(Nanos::from_millis(200));
        assert_eq!(
            (phase, edges),
            (Some(Phase::Filler), vec![(Nanos::from_millis(200), PhaseEdge::WindowClose)])
        );
        assert_eq!(end(&control, Phase::Measure, 250), [(Nanos::from_millis(250), PhaseEdge::Drain)]);
        assert_eq!(begin(&control, 250), None);
        assert_eq!(begin(&control, 300), None);
    }

    #[test]
    fn the_window_opens_when_all_slots_have_begun() {
        let control = not_entered(1, Cohort::Requests(2));
        control.enter();
        for ms in [0, 100, 200] {
            assert_eq!(begin(&control, ms), Some(Phase::Warmup));
            end(&control, Phase::Warmup, ms + 100);
        }
        control.enter();
        assert_eq!(begin(&control, 250), Some(Phase::Measure));
        // Without a warm-up the user has asked for the first wave.
        assert_eq!(begin(&not_entered(0, Cohort::Requests(2)), 0), Some(Phase::Measure));
    }

    #[test]
    fn a_window_closes_on_time_even_when_no_request_is_due() {
        let control = control(0, Cohort::Duration(Duration::from_millis(100)));
        assert_eq!(begin(&control, 0), Some(Phase::Measure));
        let edges = end(&control, Phase::Measure, 500);
        assert_eq!(
            edges,
            [(Nanos::from_millis(100), PhaseEdge::WindowClose), (Nanos::from_millis(500), PhaseEdge::Drain)]
        );
    }

    #[test]
    fn the_rule_waits_for_each_of_its_bounds() {
        let rule = Cohort::Rule { floor: Duration::from_millis(300), requests: 3, durations: 10 };
        let control = control(0, rule);
        let mut now = 0;
        let mut measured = 0;
        while begin(&control, now) == Some(Phase::Measure) {
            measured += 1;
            now += 100;
            end(&control, Phase::Measure, now);
        }
        // Ten times 100 ms is the longest of the three.
        assert_eq!((measured, now), (10, 1000));
    }

    #[test]
    fn the_live_view_has_a_median_to_a_hundredth() {
        let control = control(0, Cohort::Requests(99));
        assert_eq!(control.progress().ttft_p50, None);
        for ms in 1..=100 {
            let ended = Ended {
                outcome: &Outcome::Ok,
                duration: Nanos::from_millis(ms),
                ttft: Some(Nanos::from_millis(ms)),
                output_tokens: None,
            };
            control.begin(Nanos::ZERO);
            control.end(Phase::Measure, Nanos::ZERO, &ended);
        }
        let median = control.progress().ttft_p50.unwrap();
        assert!((median.as_secs_f64() * 1e3 / 50.0 - 1.0).abs() < 0.01, "{median:?} for 50 ms");
    }

    #[test]
    fn a_success_ends_a_row_of_failures() {
        let control = control(0, Cohort::Requests(9));
        let outcome = Outcome::Failed { kind: FailureKind::Connect, message: "no".into() };
        let ended = Ended { outcome: &outcome, duration: Nanos(1), ttft: None, output_tokens: None };
        for _ in 0..3 {
            control.begin(Nanos::ZERO);
            control.end(Phase::Measure, Nanos(1), &ended);
        }
        let row = control.failures_in_a_row();
        assert_eq!((row.count, row.last.as_deref()), (3, Some("connect: no")));
        end(&control, Phase::Measure, 1);
        assert_eq!(control.failures_in_a_row(), FailureRow::default());
        assert_eq!(control.progress().failed, 3);
    }
}
