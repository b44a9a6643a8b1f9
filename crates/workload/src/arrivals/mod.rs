//! Arrival times of an open loop: absolute, so that a late send does not move the later ones.
//!
//! The gaps are not rescaled to a total: the achieved rate of a finite run differs from the intended one, as it does
//! with independent users, and both belong into a report.

mod gaps;
mod on_off;
mod ramp;

use crate::{
    Stream, WorkloadError,
    draw::{Draw, Key, Purpose},
};
use gaps::Gaps;
use on_off::OnOff;
use plimsoll_record::{Arrivals, Level, Nanos, Rate};
use ramp::Ramp;
use std::time::Duration;

/// An endless rising sequence of arrival times, nanoseconds since the level's start. The first arrival comes after the
/// first gap.
///
/// The warm-up is the begin of the same process, so that the window opens on a process that has run for a while; only
/// a ramp knows where it ends.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    process: Process,
    draw: Box<Draw>,
    count: u64,
    /// The last arrival, nanoseconds. In `f64`, and each time rounded once, so that the roundings do not add up.
    at: f64,
}

#[derive(Clone, Debug)]
enum Process {
    /// Of this gap, nanoseconds.
    Constant(f64),
    Gaps(Gaps),
    OnOff(OnOff),
    Ramp(Ramp),
}

impl ArrivalTimes {
    /// The arrivals of level `rate`: a pure function of the arguments. `warmup` is the number of arrivals before the
    /// window, `window` its length if that is fixed. An error when a ramp has no such length, and when the states of
    /// an on-off process are too short to tell.
    pub fn new(
        arrivals: Arrivals,
        rate: Rate,
        warmup: u32,
        window: Option<Duration>,
        seed: u64,
        repeat: u32,
    ) -> Result<Self, WorkloadError> {
        let key = Key { seed, level: Level::Rate(rate), repeat, stream: Stream::Load, k: 0 };
        let mut draw = key.draw(Purpose::Arrivals);
        let gap = 1e9 / rate.per_second();
        let process = match arrivals {
            Arrivals::Constant => Process::Constant(gap),
            Arrivals::Poisson => Process::Gaps(Gaps::exponential(gap)),
            Arrivals::Gamma(shape) => Process::Gaps(Gaps::gamma(gap, shape)),
            Arrivals::Weibull(shape) => Process::Gaps(Gaps::weibull(gap, shape)),
            Arrivals::OnOff { high, low, on, off } => {
                Process::OnOff(OnOff::new(gap, (high, low), (on, off), &mut draw)?)
            }
            Arrivals::Ramp { from, shape } => {
                let window = window.ok_or_else(WorkloadError::ramp_without_window)?;
                Process::Ramp(Ramp::new(from, rate, shape, warmup, window))
            }
        };
        Ok(Self { process, draw: Box::new(draw), count: 0, at: 0.0 })
    }
}

impl Iterator for ArrivalTimes {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.count += 1;
        self.at = match &mut self.process {
            // A product and not a sum: exact at any length.
            Process::Constant(gap) => *gap * self.count as f64,
            Process::Gaps(gaps) => self.at + gaps.next(&mut self.draw),
            Process::OnOff(states) => self.at + states.next(&mut self.draw),
            Process::Ramp(ramp) => ramp.next(&mut self.draw),
        };
        Some(Nanos(libm::round(self.at) as u64))
    }
}
