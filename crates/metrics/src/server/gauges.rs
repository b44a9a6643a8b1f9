use super::track::Targets;
use crate::open_loop::Busy;
use crate::summary::Window;
use plimsoll_record::{Counter, Gauge, Sample};

/// Gauges read inside a window. A scrape that says 0 running and 0 waiting while tokens were generated around it shows
/// what an idle step left behind, unless this client had nothing in flight either; it is counted as stale and left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gauges {
    /// Scrapes inside the window, stale ones included, of the target with the fewest.
    pub scrapes: u64,
    /// Stale ones, over all targets.
    pub stale: u64,
    /// Scrapes used, of the target with the fewest.
    pub used: u64,
    /// Mean, summed over targets.
    pub running: Option<f64>,
    /// Largest, summed over targets.
    pub running_max: Option<f64>,
    /// Mean, summed over targets.
    pub waiting: Option<f64>,
    /// Share of the scrapes with something waiting.
    pub waiting_share: Option<f64>,
    /// Mean over targets and scrapes.
    pub kv_mean: Option<f64>,
    /// Largest.
    pub kv_max: Option<f64>,
}

impl Gauges {
    pub fn read(targets: &Targets<'_>, window: Window, busy: &Busy) -> Self {
        let mut counts: Vec<(u64, u64)> = Vec::new();
        let mut fresh: Vec<Vec<&Sample>> = Vec::new();
        for track in &targets.tracks {
            let mut used = Vec::new();
            let mut inside = 0;
            for (index, sample) in track.iter().enumerate() {
                if window.contains(sample.at_ns) {
                    inside += 1;
                    if !(busy.at(sample.at_ns) && is_stale(track, index)) {
                        used.push(*sample);
                    }
                }
            }
            counts.push((inside, used.len() as u64));
            fresh.push(used);
        }
        let series = |gauge: Gauge| -> Vec<Vec<f64>> {
            let value =
                |sample: &&Sample| sample.gauges.get(&gauge).copied().filter(|v| v.is_finite() && *v >= 0.0);
            fresh.iter().map(|samples| samples.iter().filter_map(value).collect()).collect()
        };
        let (running, waiting, kv) =
            (series(Gauge::Running), series(Gauge::Waiting), series(Gauge::KvUsage).concat());
        let all_waiting = waiting.concat();
        Self {
            scrapes: counts.iter().map(|(inside, _)| *inside).min().unwrap_or(0),
            stale: counts.iter().map(|(inside, used)| inside - used).sum(),
            used: counts.iter().map(|(_, used)| *used).min().unwrap_or(0),
            running: sum_over(&running, mean),
            running_max: sum_over(&running, max),
            waiting: sum_over(&waiting, mean),
            waiting_share: mean(&all_waiting.iter().map(|w| f64::from(*w > 0.0)).collect::<Vec<_>>()),
            kv_mean: mean(&kv),
            kv_max: max(&kv),
        }
    }
}

fn is_stale(track: &[&Sample], index: usize) -> bool {
    let tokens = |index: Option<usize>| {
        track.get(index?).and_then(|sample| sample.counters.get(&Counter::GenerationTokens)).copied()
    };
    let is_zero = |gauge: Gauge| {
        track.get(index).and_then(|sample| sample.gauges.get(&gauge)).is_some_and(|value| *value <= 0.0)
    };
    is_zero(Gauge::Running)
        && is_zero(Gauge::Waiting)
        && matches!((tokens(index.checked_sub(1)), tokens(index.checked_add(1))), (Some(a), Some(b)) if b > a)
}

fn sum_over(series: &[Vec<f64>], of: impl Fn(&[f64]) -> Option<f64>) -> Option<f64> {
    (!series.is_empty()).then(|| series.iter().map(|values| of(values)).sum::<Option<f64>>()).flatten()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn max(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ms, sample};

    fn scrape(at: u64, running: f64, waiting: f64, tokens: f64) -> Sample {
        let mut sample = sample(at);
        sample.gauges = [(Gauge::Running, running), (Gauge::Waiting, waiting), (Gauge::KvUsage, 0.5)].into();
        sample.counters.insert(Counter::GenerationTokens, tokens);
        sample
    }

    #[test]
    fn stale_scrapes_are_counted_and_left_out() {
        let samples = [
            scrape(0, 0.0, 0.0, 0.0),
            scrape(10, 4.0, 2.0, 10.0),
            scrape(20, 0.0, 0.0, 20.0),
            scrape(30, 3.0, 0.0, 30.0),
            scrape(40, 0.0, 0.0, 30.0),
        ];
        let gauges =
            Gauges::read(&Targets::of(&samples), Window { open_ns: ms(10), close_ns: ms(40) }, &Busy::ALWAYS);
        assert_eq!((gauges.scrapes, gauges.stale, gauges.used), (3, 1, 2));
        assert_eq!((gauges.running, gauges.waiting, gauges.waiting_share), (Some(3.5), Some(1.0), Some(0.5)));
        assert_eq!((gauges.running_max, gauges.kv_mean), (Some(4.0), Some(0.5)));
    }

    #[test]
    fn idle_is_not_stale_and_absent_is_not_zero() {
        let idle = [scrape(0, 0.0, 0.0, 5.0), scrape(10, 0.0, 0.0, 5.0), scrape(20, 0.0, 0.0, 5.0)];
        let gauges =
            Gauges::read(&Targets::of(&idle), Window { open_ns: ms(0), close_ns: ms(30) }, &Busy::ALWAYS);
        assert_eq!((gauges.stale, gauges.running), (0, Some(0.0)));
        let mut bare = idle;
        for sample in &mut bare {
            sample.gauges.clear();
        }
        let gauges =
            Gauges::read(&Targets::of(&bare), Window { open_ns: ms(0), close_ns: ms(30) }, &Busy::ALWAYS);
        assert_eq!(
            (gauges.scrapes, gauges.running, gauges.kv_max, gauges.waiting_share),
            (3, None, None, None)
        );
    }
}
