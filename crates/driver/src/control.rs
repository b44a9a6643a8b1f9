use crate::{
    Cohort, FailureRow, LevelPlan, Load, Progress,
    open::{Agenda, Line},
    tally::Tally,
};
use plimsoll_record::{Nanos, Outcome, Phase, PhaseEdge, PhaseMark};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// Decides what each next request of a level is for. Shared by its workers; asked once per request, never per token.
#[derive(Debug)]
pub struct Control {
    plan: LevelPlan,
    state: Mutex<State>,
    over: watch::Sender<bool>,
    line: Option<Line>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub begun: Option<Nanos>,
    /// Slots of a closed loop that have begun, and their warm-up requests.
    entered: u32,
    warmups: u32,
    /// The schedule of an open loop.
    pub agenda: Option<Agenda>,
    pub window: Window,
    pub tally: Tally,
}

/// The measured window.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub open: Option<Nanos>,
    pub close: Option<Nanos>,
    pub measured: u32,
    pub measured_ended: u32,
    pub draining: bool,
}

/// What changed with a decision, to be written down.
pub type Marks = Vec<PhaseMark>;

/// Collects the marks of one decision.
pub(crate) struct Scribe<'a> {
    plan: &'a LevelPlan,
    pub marks: Marks,
}

impl Scribe<'_> {
    pub fn mark(&mut self, at: Nanos, edge: PhaseEdge) {
        self.marks.push(PhaseMark::of_level(at, edge, self.plan.level(), self.plan.repeat));
    }

    pub fn mark_with(&mut self, at: Nanos, edge: PhaseEdge, message: String) {
        self.mark(at, edge);
        if let Some(mark) = self.marks.last_mut() {
            mark.message = Some(message);
        }
    }
}

impl Control {
    /// For one level.
    pub fn new(plan: LevelPlan) -> Self {
        let (agenda, line) = match &plan.load {
            Load::Closed { .. } => (None, None),
            Load::Open(open) => (Some(Agenda::new(open, &plan)), open.cap.map(Line::new)),
        };
        let state = State {
            begun: None,
            entered: 0,
            warmups: 0,
            agenda,
            window: Window::default(),
            tally: Tally::new(),
        };
        Self { plan, state: Mutex::new(state), over: watch::Sender::new(false), line }
    }

    /// The level.
    pub const fn plan(&self) -> &LevelPlan {
        &self.plan
    }

    /// The line at the cap on requests in flight of an open loop.
    pub(crate) const fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }

    /// All connections are open: the level begins. Each worker calls it; the first call counts.
    pub fn start(&self, now: Nanos) -> Marks {
        let mut state = self.lock();
        let mut scribe = self.scribe();
        if state.begun.is_none() {
            state.begun = Some(now);
            scribe.mark(now, PhaseEdge::LevelStart);
            self.settle(&mut state, now, &mut scribe);
        }
        scribe.marks
    }

    /// A slot of a closed loop begins; called once by each, before its first request. The window stays shut until all
    /// have.
    pub fn enter(&self) {
        self.lock().entered += 1;
    }

    /// A slot of a closed loop is free at `now`: what its next request is for, or `None` when the level is over.
    pub fn begin(&self, now: Nanos) -> (Option<Phase>, Marks) {
        let mut state = self.lock();
        let mut scribe = self.scribe();
        let phase = self.decide(&mut state, now, &mut scribe);
        if phase.is_some() {
            state.tally.progress.started += 1;
        }
        (phase, scribe.marks)
    }

    fn decide(&self, state: &mut State, now: Nanos, scribe: &mut Scribe<'_>) -> Option<Phase> {
        if state.window.draining {
            return None;
        }
        if state.window.open.is_none() {
            // Few warm-up requests may be used up by the first slots while the others still wait for their turn.
            let filling = self.plan.warmup > 0 && state.entered < self.plan.connections();
            if filling || state.warmups < self.plan.warmup {
                state.warmups += 1;
                return Some(Phase::Warmup);
            }
            state.window.open = Some(now);
            scribe.mark(now, PhaseEdge::WindowOpen);
        }
        self.close_if_due(state, now, scribe);
        if state.window.close.is_none() {
            state.window.measured += 1;
            return Some(Phase::Measure);
        }
        self.drain_if_done(state, now, scribe);
        (!state.window.draining).then_some(Phase::Filler)
    }

    /// A request has ended at `now`.
    pub fn end(&self, phase: Phase, now: Nanos, ended: &Ended<'_>) -> Marks {
        let mut state = self.lock();
        let mut scribe = self.scribe();
        state.tally.note(ended);
        if phase == Phase::Measure {
            state.window.measured_ended += 1;
        }
        if state.agenda.is_some() {
            self.settle(&mut state, now, &mut scribe);
        } else if state.window.open.is_some() {
            // With requests longer than the window, t1 passes while none is due.
            if matches!(self.plan.cohort, Cohort::Duration(_)) {
                self.close_if_due(&mut state, now, &mut scribe);
            }
            self.drain_if_done(&mut state, now, &mut scribe);
        }
        scribe.marks
    }

    fn close_if_due(&self, state: &mut State, now: Nanos, scribe: &mut Scribe<'_>) {
        let State { window, tally, .. } = state;
        let (Some(open), None) = (window.open, window.close) else { return };
        let close = match self.plan.cohort {
            Cohort::Requests(n) => (window.measured >= n).then_some(now),
            Cohort::Duration(length) => {
                let close = open + nanos(length);
                (now >= close).then_some(close)
            }
            Cohort::Rule { floor, requests, durations } => {
                let spanned = tally.p95().unwrap_or_default().0.saturating_mul(u64::from(durations));
                let length = nanos(floor).max(Nanos(spanned));
                (window.measured >= requests && now >= open + length).then_some(now)
            }
        };
        if let Some(close) = close {
            window.close = Some(close);
            scribe.mark(close, PhaseEdge::WindowClose);
        }
    }

    fn drain_if_done(&self, state: &mut State, now: Nanos, scribe: &mut Scribe<'_>) {
        let window = &mut state.window;
        if !window.draining && window.close.is_some() && window.measured_ended == window.measured {
            scribe.mark(now, PhaseEdge::Drain);
            self.drain(window);
        }
    }

    /// Nothing more is sent.
    pub(crate) fn drain(&self, window: &mut Window) {
        window.draining = true;
        self.over.send_replace(true);
        if let Some(line) = &self.line {
            line.close();
        }
    }

    /// A request joins or leaves the line at the cap.
    pub(crate) fn in_line(&self, joins: bool) {
        let waiting = &mut self.lock().tally.progress.waiting;
        *waiting = if joins { *waiting + 1 } else { waiting.saturating_sub(1) };
    }

    /// Returns when nothing more is to be sent.
    pub(crate) async fn over(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Failures since the last success.
    pub fn failures_in_a_row(&self) -> FailureRow {
        self.lock().tally.row.clone()
    }

    /// Median duration of the successful requests: the ramp of the next level.
    pub fn typical_duration(&self) -> Option<Duration> {
        self.lock().tally.median().map(|median| Duration::from_nanos(median.0))
    }

    /// How far the level is.
    pub fn progress(&self) -> Progress {
        let state = self.lock();
        let Window { open, close, measured, .. } = state.window;
        Progress {
            ttft_p50: state.tally.ttft_p50(),
            window_open: open,
            window_close: close,
            measured,
            ..state.tally.progress
        }
    }

    pub(crate) const fn scribe(&self) -> Scribe<'_> {
        Scribe { plan: &self.plan, marks: Vec::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
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

pub(crate) fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::FailureKind;

    type Edges = Vec<(Nanos, PhaseEdge)>;

    fn edges(marks: Marks) -> Edges {
        marks.into_iter().map(|mark| (mark.at_ns, mark.edge)).collect()
    }

    fn control(warmup: u32, cohort: Cohort) -> Control {
        let control = not_entered(warmup, cohort);
        control.enter();
        control.enter();
        control
    }

    fn not_entered(warmup: u32, cohort: Cohort) -> Control {
        Control::new(LevelPlan {
            load: Load::Closed { slots: 2, ramp: Duration::ZERO },
            repeat: 0,
            warmup,
            cohort,
            retries: 0,
        })
    }

    fn end(control: &Control, phase: Phase, ms: u64) -> Edges {
        let ended = Ended {
            outcome: &Outcome::Ok,
            duration: Nanos::from_millis(100),
            ttft: None,
            output_tokens: Some(1),
        };
        edges(control.end(phase, Nanos::from_millis(ms), &ended))
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
        let (phase, marks) = control.begin(Nanos::from_millis(100));
        assert_eq!(
            (phase, edges(marks)),
            (Some(Phase::Measure), vec![(Nanos::from_millis(100), PhaseEdge::WindowOpen)])
        );
        end(&control, Phase::Warmup, 150);
        assert_eq!(begin(&control, 150), Some(Phase::Measure));
        end(&control, Phase::Measure, 200);
        let (phase, marks) = control.begin(Nanos::from_millis(200));
        assert_eq!(
            (phase, edges(marks)),
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
