use crate::{
    Cohort, Control, Load,
    control::{Marks, Scribe, State, nanos},
};
use plimsoll_record::{Nanos, Phase, PhaseEdge};

/// By the rule, a window spans at most this many times what it would have spanned at its opening.
const LONGEST: u64 = 4;

/// The decisions of an open loop.
impl Control {
    /// The first arrival from `index` on that belongs to a worker, and when it is due. Arrivals of the warm-up and all
    /// others are dealt to the workers each by their own numbers.
    pub(crate) fn next_of(&self, worker: u32, of: u32, mut index: u64) -> Option<(u64, Nanos)> {
        let mut state = self.lock();
        let begun = state.begun?;
        let agenda = state.agenda.as_mut()?;
        let of = u64::from(of.max(1));
        while agenda.number(index) % of != u64::from(worker) {
            index += 1;
        }
        Some((index, begun + agenda.at(index)))
    }

    /// When something changes although no request is due: the end of a window of fixed length.
    pub(crate) fn next_edge(&self) -> Option<Nanos> {
        let mut state = self.lock();
        let begun = state.begun?;
        if state.window.close.is_some() || !matches!(self.plan().cohort, Cohort::Duration(_)) {
            return None;
        }
        Some(begun + state.agenda.as_mut()?.close(self.plan().cohort)?)
    }

    /// Time has passed.
    pub(crate) fn tick(&self, now: Nanos) -> Marks {
        let mut state = self.lock();
        let mut scribe = self.scribe();
        self.settle(&mut state, now, &mut scribe);
        scribe.marks
    }

    /// Arrival `index` is due: what it is for, or `None` when the level is over.
    pub(crate) fn arrive(&self, index: u64, now: Nanos) -> (Option<Phase>, Marks) {
        let mut state = self.lock();
        let mut scribe = self.scribe();
        let phase = self.purpose(&mut state, index, now, &mut scribe);
        if phase.is_some() {
            state.tally.progress.started += 1;
        }
        self.settle(&mut state, now, &mut scribe);
        (phase, scribe.marks)
    }

    fn purpose(&self, state: &mut State, index: u64, now: Nanos, scribe: &mut Scribe<'_>) -> Option<Phase> {
        if state.window.draining {
            return None;
        }
        let Load::Open(open) = &self.plan().load else { return None };
        let State { begun: Some(begun), agenda: Some(agenda), window, tally, .. } = state else {
            return None;
        };
        let at = agenda.at(index);
        let unfinished = tally.progress.started.saturating_sub(tally.progress.ended);
        if unfinished >= u64::from(open.most_unfinished) {
            let last = *begun + at;
            self.give_in(state, last, now, scribe);
            return None;
        }
        if agenda.is_warmup(index) {
            return Some(Phase::Warmup);
        }
        if agenda.close(self.plan().cohort).is_some_and(|close| at >= close) {
            return Some(Phase::Filler);
        }
        window.measured += 1;
        if let Cohort::Rule { floor, requests, durations } = self.plan().cohort
            && agenda.number(index) + 1 >= u64::from(requests)
        {
            let spans = |p95: Nanos| Nanos(p95.0.saturating_mul(u64::from(durations)));
            // Without a warm-up request that had ended then: as soon as one has.
            agenda.p95_at_open = agenda.p95_at_open.or(tally.p95());
            let longest = agenda.p95_at_open.map(|p95| Nanos(spans(p95).0.saturating_mul(LONGEST)));
            let spanned = spans(tally.p95().unwrap_or_default()).min(longest.unwrap_or(Nanos(u64::MAX)));
            if at + Nanos(1) - agenda.open() >= nanos(floor).max(spanned) {
                agenda.rule(at);
            }
        }
        Some(Phase::Measure)
    }

    /// Too many requests are due and not ended: the level ends here, and says so. Those in flight are followed to their
    /// end.
    fn give_in(&self, state: &mut State, last: Nanos, now: Nanos, scribe: &mut Scribe<'_>) {
        let unfinished = state.tally.progress.started.saturating_sub(state.tally.progress.ended);
        let begun = state.begun.unwrap_or_default();
        let message = format!(
            "the server does not keep up: {unfinished} requests in flight or in line after {:.1} s, the most that may \
             be; arrivals stopped, {} measured requests had been due",
            (now - begun).as_secs_f64(),
            state.window.measured
        );
        self.cut_short(state, last, now, message, scribe);
    }

    /// Ends the level before its time. What was due is followed to its end; nothing more arrives.
    fn cut_short(
        &self,
        state: &mut State,
        close: Nanos,
        now: Nanos,
        message: String,
        scribe: &mut Scribe<'_>,
    ) {
        let window = &mut state.window;
        if let (Some(open), None) = (window.open, window.close) {
            let close = close.max(open + Nanos(1));
            window.close = Some(close);
            scribe.mark(close, PhaseEdge::WindowClose);
        }
        scribe.mark_with(now, PhaseEdge::Drain, message);
        self.drain(window);
    }

    /// Ends the level of an open loop before its time, for a reason that its marks then tell.
    pub fn end_early(&self, now: Nanos, message: String) -> Marks {
        let mut state = self.lock();
        let mut scribe = self.scribe();
        if !state.window.draining {
            self.cut_short(&mut state, now, now, message, &mut scribe);
        }
        scribe.marks
    }

    /// Opens, closes and ends the window where it is time.
    pub(crate) fn settle(&self, state: &mut State, now: Nanos, scribe: &mut Scribe<'_>) {
        let State { begun: Some(begun), agenda: Some(agenda), window, tally, .. } = state else { return };
        if window.draining {
            return;
        }
        // The window opens and closes a nanosecond after an arrival; nobody waits for that.
        let soon = now + Nanos(1);
        let open = *begun + agenda.open();
        if window.open.is_none() && soon >= open {
            window.open = Some(open);
            agenda.p95_at_open = tally.p95();
            scribe.mark(open, PhaseEdge::WindowOpen);
        }
        let close = agenda.close(self.plan().cohort);
        if let (Some(close), true, None) = (close, window.open.is_some(), window.close)
            && soon >= *begun + close
        {
            window.close = Some(*begun + close);
            scribe.mark(*begun + close, PhaseEdge::WindowClose);
        }
        if let (Some(_), Some(close)) = (window.close, close)
            && u64::from(window.measured_ended) >= agenda.measured_before(close)
        {
            scribe.mark(now, PhaseEdge::Drain);
            self.drain(window);
        }
    }
}
