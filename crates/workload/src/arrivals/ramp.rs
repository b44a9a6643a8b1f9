use crate::draw::Draw;
use plimsoll_record::{RampShape, Rate};
use std::time::Duration;

/// Poisson arrivals whose rate goes from one value to another over the window: it has the first before, the second
/// after. Times come from the inverse of the cumulative rate (Çinlar 1975): exact for any change of the rate.
///
/// The window begins with the last arrival of the warm-up. That is a stopping time, so that what follows is a ramp from
/// its very begin.
#[derive(Clone, Debug)]
pub struct Ramp {
    /// Arrivals per nanosecond at the begin and the end.
    rates: [f64; 2],
    shape: RampShape,
    /// Length, nanoseconds.
    length: f64,
    warmup: u32,
    /// Begin, nanoseconds.
    begin: f64,
    /// The cumulative rate since then: the sum of exponential draws.
    sum: f64,
}

impl Ramp {
    pub fn new(from: Rate, to: Rate, shape: RampShape, warmup: u32, window: Duration) -> Self {
        let rates = [from, to].map(|rate| rate.per_second() / 1e9);
        let length = (window.as_nanos() as f64).max(1.0);
        Self { rates, shape, length, warmup, begin: 0.0, sum: 0.0 }
    }

    /// The next arrival, nanoseconds since the level's start.
    pub fn next(&mut self, draw: &mut Draw) -> f64 {
        let [from, _] = self.rates;
        if self.warmup > 0 {
            self.warmup -= 1;
            self.begin += draw.exponential() / from;
            return self.begin;
        }
        self.sum += draw.exponential();
        self.begin + self.time_of(self.sum)
    }

    /// When the cumulative rate reaches `sum`, nanoseconds since the ramp's begin.
    fn time_of(&self, sum: f64) -> f64 {
        let [from, to] = self.rates;
        let whole = self.whole();
        if sum >= whole {
            return self.length + (sum - whole) / to;
        }
        let growth = libm::log(to / from);
        match self.shape {
            // From t + a t² = sum, in the form that loses no digits when a is small.
            RampShape::Linear => {
                2.0 * sum / (from + libm::sqrt(from * from + 2.0 * (to - from) / self.length * sum))
            }
            RampShape::Exponential if growth.abs() < 1e-9 => sum / from,
            RampShape::Exponential => self.length * libm::log1p(sum * growth / (from * self.length)) / growth,
        }
    }

    /// Arrivals expected over the ramp.
    fn whole(&self) -> f64 {
        let [from, to] = self.rates;
        let growth = libm::log(to / from);
        self.length
            * match self.shape {
                RampShape::Exponential if growth.abs() >= 1e-9 => (to - from) / growth,
                RampShape::Linear | RampShape::Exponential => f64::midpoint(from, to),
            }
    }
}
