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
mod tests;
