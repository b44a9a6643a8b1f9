use crate::{WorkloadError, draw::Draw};
use plimsoll_record::Span;

/// Poisson arrivals whose rate switches between two values at exponentially distributed times: a Markov-modulated
/// Poisson process of two states (Fischer and Meier-Hellstern 1993), begun in its stationary state.
///
/// With the rates r, s and the states' mean lengths T, U, the counts' index of dispersion tends to
/// 1 + 2 (r − s)² T² U² / ((T + U)³ λ), where λ = (r T + s U) / (T + U) is the mean rate.
#[derive(Clone, Debug)]
pub struct OnOff {
    /// On, off.
    states: [State; 2],
    now: usize,
    /// Left of the present state, nanoseconds.
    left: f64,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Arrivals per nanosecond.
    rate: f64,
    /// Mean length, nanoseconds.
    length: f64,
}

/// Most changes of state that an arrival may have to wait for, on average. Beyond, the arrivals cannot be told from
/// Poisson's, and drawing them takes long.
const MOST_CYCLES: f64 = 1e4;

impl OnOff {
    /// Of the mean gap, nanoseconds; the two rates count relative to each other.
    pub fn new(
        gap: f64,
        (high, low): (f64, f64),
        (on, off): (Span, Span),
        draw: &mut Draw,
    ) -> Result<Self, WorkloadError> {
        let (on, off) = (on.nanos() as f64, off.nanos() as f64);
        if gap > MOST_CYCLES * (on + off) {
            return Err(WorkloadError::states_too_short());
        }
        let mean = (high * on + low * off) / (on + off);
        let scale = 1.0 / (gap * mean);
        let states = [State { rate: high * scale, length: on }, State { rate: low * scale, length: off }];
        let now = usize::from(draw.unit() >= on / (on + off));
        let mut process = Self { states, now, left: 0.0 };
        // What is left of an exponential state is distributed as a whole one.
        process.left = process.state().length * draw.exponential();
        Ok(process)
    }

    fn state(&self) -> State {
        let [on, off] = self.states;
        if self.now == 0 { on } else { off }
    }

    /// The next gap: the time in which the integral of the rate grows by an exponential draw.
    pub fn next(&mut self, draw: &mut Draw) -> f64 {
        let mut due = draw.exponential();
        let mut gap = 0.0;
        loop {
            let State { rate, .. } = self.state();
            if rate * self.left >= due && rate > 0.0 {
                let wait = due / rate;
                self.left -= wait;
                return gap + wait;
            }
            due -= rate * self.left;
            gap += self.left;
            self.now = 1 - self.now;
            self.left = self.state().length * draw.exponential();
        }
    }
}
