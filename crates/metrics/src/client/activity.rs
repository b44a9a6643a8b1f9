use crate::summary::Window;
use plimsoll_record::{ClientSample, Nanos};
use std::collections::BTreeMap;

/// Least share of a window that samples must cover to describe it.
const COVERED: f64 = 0.5;

/// What this client was busy with inside a window. Unknown is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Activity {
    /// Lateness of the worker's runtimes at the ticks of a heartbeat, seconds, rising.
    pub runtime_lag: Vec<f64>,
    /// The largest share of one processor that a worker thread used, and the number of its samples.
    pub busiest: Option<(f64, u64)>,
    /// Processors' worth of time that the whole process used.
    pub process: Option<f64>,
    /// Requests that had not been made when they were due, and the number of the workers' samples.
    pub starved: Option<(u64, u64)>,
    /// Periods in which the control group was throttled.
    pub throttled: Option<u64>,
    /// Time that it was throttled, seconds.
    pub throttled_s: Option<f64>,
    /// TCP segments sent again.
    pub retransmits: Option<u64>,
    /// Processors' worth of time that other virtual machines took.
    pub steal: Option<f64>,
    /// Samples of the process.
    pub samples: u64,
}

impl Activity {
    /// From the samples whose middle lies in the window. Those that cover too little of it say nothing.
    pub fn of(samples: &[ClientSample], window: Window) -> Self {
        let middle = |sample: &ClientSample| Nanos(sample.at_ns.0.saturating_sub(sample.interval_ns.0 / 2));
        let inside: Vec<&ClientSample> =
            samples.iter().filter(|sample| window.contains(middle(sample))).collect();
        let mut workers: BTreeMap<u32, Vec<&ClientSample>> = BTreeMap::new();
        let mut process = Vec::new();
        let mut it = Self::default();
        for sample in inside {
            match sample.worker {
                Some(worker) => {
                    it.runtime_lag.extend(sample.lag_us.iter().map(|us| f64::from(*us) / 1e6));
                    workers.entry(worker).or_default().push(sample);
                }
                None => process.push(sample),
            }
        }
        it.runtime_lag.sort_by(f64::total_cmp);
        let cpu = |sample: &ClientSample| sample.cpu_ns.map(|cpu| cpu.0);
        it.busiest = workers
            .values()
            .filter_map(|samples| Some((rate(samples, window, cpu)?, samples.len() as u64)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        it.process = rate(&process, window, cpu);
        it.steal = rate(&process, window, |sample| sample.steal_ns.map(|steal| steal.0));
        it.starved = workers
            .values()
            .map(|samples| {
                Some((sum(samples, window, |sample| sample.starved.map(u64::from))?, samples.len() as u64))
            })
            .reduce(|one, other| one.zip(other).map(|((a, n), (b, m))| (a.saturating_add(b), n + m)))
            .flatten();
        it.throttled = sum(&process, window, |sample| sample.throttled);
        let throttled = sum(&process, window, |sample| sample.throttled_ns.map(|time| time.0));
        it.throttled_s = throttled.map(|ns| ns as f64 / 1e9);
        it.retransmits = sum(&process, window, |sample| sample.retransmits);
        it.samples = process.len() as u64;
        it
    }
}

/// Sum over the samples; None when one does not tell, or they cover too little of the window.
fn sum(samples: &[&ClientSample], window: Window, of: impl Fn(&ClientSample) -> Option<u64>) -> Option<u64> {
    let covered: f64 = samples.iter().map(|sample| sample.interval_ns.as_secs_f64()).sum();
    let mut values = samples.iter().map(|sample| of(sample));
    let sum = values.try_fold(0_u64, |sum, value| Some(sum.saturating_add(value?)))?;
    (covered >= COVERED * window.seconds()).then_some(sum)
}

/// The sum over the time that the samples cover.
fn rate(samples: &[&ClientSample], window: Window, of: impl Fn(&ClientSample) -> Option<u64>) -> Option<f64> {
    let covered: f64 = samples.iter().map(|sample| sample.interval_ns.0 as f64).sum();
    Some(sum(samples, window, of)? as f64 / covered).filter(|rate| rate.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{client_sample, ms};

    #[test]
    fn the_busiest_thread_counts() {
        let mut samples = Vec::new();
        for second in 1..=10_u64 {
            for (worker, busy) in [(0, 200), (1, 500)] {
                let mut sample = client_sample(1000 * second, Some(worker));
                sample.cpu_ns = Some(ms(busy));
                sample.lag_us = vec![100 * (worker + 1)];
                sample.starved = Some(worker);
                samples.push(sample);
            }
            let mut process = client_sample(1000 * second, None);
            (process.cpu_ns, process.throttled, process.steal_ns) = (Some(ms(800)), Some(1), Some(ms(20)));
            samples.push(process);
        }
        // The samples that end at 3 s and at 8 s have their middles inside.
        let found = Activity::of(&samples, Window { open_ns: ms(2400), close_ns: ms(7700) });
        assert_eq!(found.busiest, Some((0.5, 6)));
        assert_eq!((found.process, found.steal), (Some(0.8), Some(0.02)));
        assert_eq!((found.throttled, found.throttled_s, found.retransmits), (Some(6), None, None));
        assert_eq!(found.starved, Some((6, 12)));
        assert_eq!(found.runtime_lag, [[1e-4; 6], [2e-4; 6]].concat());
    }

    #[test]
    fn samples_of_a_tenth_of_the_window_say_nothing() {
        let mut sample = client_sample(1000, Some(0));
        (sample.cpu_ns, sample.starved) = (Some(ms(900)), Some(3));
        let of = |seconds: u64| {
            Activity::of(&[sample.clone()], Window { open_ns: ms(0), close_ns: ms(1000 * seconds) })
        };
        assert_eq!((of(2).busiest, of(10).busiest), (Some((0.9, 1)), None));
        assert_eq!((of(2).starved, of(10).starved), (Some((3, 1)), None));
        let silent = client_sample(1000, Some(1));
        let both = Activity::of(&[sample.clone(), silent], Window { open_ns: ms(0), close_ns: ms(2000) });
        assert_eq!(both.starved, None, "one worker does not tell");
        assert_eq!(Activity::of(&[], Window { open_ns: ms(0), close_ns: ms(1) }), Activity::default());
    }
}
