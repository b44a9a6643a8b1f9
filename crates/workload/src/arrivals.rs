//! Arrival times of an open loop: absolute, so that a late send does not move the later ones.
//!
//! The gaps are not rescaled to a total: the achieved rate of a finite run differs from the intended one, as it does
//! with independent users, and both belong into a report.

use crate::Stream;
use crate::draw::{Draw, Key, Purpose};
use plimsoll_record::Nanos;

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// Equal gaps of 1/rate.
    Constant,
    /// Exponential gaps of mean 1/rate: independent users.
    Poisson,
}

/// An endless rising sequence of arrival times, from the first gap on.
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Process,
    /// Mean gap, nanoseconds.
    gap: f64,
    draw: Draw,
    count: u64,
    /// Sum of the gaps so far, nanoseconds. In `f64`, so that rounding to whole nanoseconds does not add up.
    sum: f64,
}

impl Arrivals {
    /// Arrivals at `rate` requests per second. `None` when the rate is not above 0 and finite.
    pub fn new(process: Process, rate: f64, seed: u64, level: u32, repeat: u32) -> Option<Self> {
        let gap = 1e9 / rate;
        let usable = rate > 0.0 && rate.is_finite() && gap.is_finite();
        let key = Key { seed, level, repeat, stream: Stream::Load, k: 0 };
        usable.then(|| Self { process, gap, draw: key.draw(Purpose::Arrivals), count: 0, sum: 0.0 })
    }
}

impl Iterator for Arrivals {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.count += 1;
        self.sum = match self.process {
            // A product and not a sum: exact at any length.
            Process::Constant => self.gap * self.count as f64,
            Process::Poisson => self.sum + self.gap * self.draw.exponential(),
        };
        Some(Nanos(libm::round(self.sum) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(process: Process, rate: f64, n: usize) -> Vec<u64> {
        let mut last = 0;
        let arrivals = Arrivals::new(process, rate, 3, 1, 0).unwrap();
        arrivals
            .take(n)
            .map(|Nanos(at)| {
                let gap = at - last;
                last = at;
                gap
            })
            .collect()
    }

    #[test]
    fn constant_has_a_coefficient_of_variation_of_zero() {
        assert!(gaps(Process::Constant, 1000.0, 5000).iter().all(|gap| *gap == 1_000_000));
        let third = Arrivals::new(Process::Constant, 3.0, 3, 1, 0).unwrap().nth(2_999_999);
        assert_eq!(third, Some(Nanos(1_000_000_000_000_000)));
    }

    /// One-sample Kolmogorov-Smirnov statistic against 1 - exp(-x).
    #[test]
    fn poisson_gaps_are_exponential() {
        let n = 5000;
        let mut scaled: Vec<f64> =
            gaps(Process::Poisson, 50.0, n).iter().map(|gap| *gap as f64 / 2e7).collect();
        scaled.sort_by(f64::total_cmp);
        let distance = scaled.iter().enumerate().fold(0.0_f64, |worst, (index, gap)| {
            let law = 1.0 - (-gap).exp();
            let (below, above) = (index as f64 / n as f64, (index + 1) as f64 / n as f64);
            worst.max((law - below).abs()).max((above - law).abs())
        });
        // Critical value at 1 %: 1.628 / sqrt(n).
        assert!(distance < 1.628 / (n as f64).sqrt(), "{distance}");
    }

    #[test]
    fn gaps_are_not_rescaled_to_a_total() {
        let last = Arrivals::new(Process::Poisson, 50.0, 3, 1, 0).unwrap().nth(99);
        assert_ne!(last, Some(Nanos(2_000_000_000)));
    }

    #[test]
    fn rates_that_are_none_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
            assert!(Arrivals::new(Process::Poisson, rate, 0, 1, 0).is_none(), "{rate}");
        }
    }
}
