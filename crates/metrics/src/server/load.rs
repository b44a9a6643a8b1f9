use super::gauges::Gauges;
use super::histogram::gained;
use super::track::{Fell, Targets};
use crate::open_loop::Busy;
use crate::summary::Window;
use plimsoll_record::{Counter, Histogram, HistogramName, Sample};

/// What the server said of itself inside a window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerLoad {
    /// Its gauges.
    pub gauges: Gauges,
    /// Requests in the batch on average: growth of the sum of inference times over the window's length (Little 1961).
    pub running: Result<f64, Fell>,
    /// Requests waiting on average, from the sum of queue times.
    pub waiting: Result<f64, Fell>,
    /// Requests that finished: the observations behind `running` and `waiting`.
    pub finished: f64,
    /// Mean time in the queue, seconds.
    pub queue_mean: Result<f64, Fell>,
    /// Share of the prompt tokens found in the prefix cache.
    pub prefix_hit_rate: Result<f64, Fell>,
    /// Preempted requests.
    pub preemptions: Option<f64>,
    /// Its own distribution of times to first token.
    pub ttft: Option<Histogram>,
}

impl ServerLoad {
    pub fn read(targets: &Targets<'_>, window: Window, busy: &Busy) -> Self {
        let (from, to) = (window.open_ns, window.close_ns);
        let counter =
            |counter| targets.growth(from, to, move |sample| sample.counters.get(&counter).copied());
        let sum = |name| targets.growth(from, to, move |sample| Some(sample.histograms.get(&name)?.sum));
        let count = |name| targets.growth(from, to, move |sample| Some(sample.histograms.get(&name)?.count));
        // Servers without the whole's histogram may have the parts'.
        let inference = sum(HistogramName::Inference).or_else(|fell| {
            Ok(sum(HistogramName::Prefill).map_err(|_| fell.clone())?
                + sum(HistogramName::Decode).map_err(|_| fell)?)
        });
        let queue = sum(HistogramName::Queue);
        let queued = count(HistogramName::Queue);
        let seconds = window.seconds();
        Self {
            gauges: Gauges::read(targets, window, busy),
            running: inference.map(|sum| sum / seconds),
            waiting: queue.clone().map(|sum| sum / seconds),
            finished: queued.clone().unwrap_or(0.0),
            queue_mean: ratio(queue, queued, "no request finished inside the window"),
            prefix_hit_rate: ratio(
                counter(Counter::PrefixHits),
                counter(Counter::PrefixQueries),
                "no prompt was looked up inside the window",
            ),
            preemptions: counter(Counter::Preemptions).ok(),
            ttft: histogram(targets, window, HistogramName::Ttft),
        }
    }
}

fn ratio(part: Result<f64, Fell>, whole: Result<f64, Fell>, empty: &'static str) -> Result<f64, Fell> {
    let (part, whole) = (part?, whole?);
    if whole > 0.0 { Ok(part / whole) } else { Err(Fell(empty)) }
}

/// A histogram's gain between the scrapes nearest outside the window, of a single target: bounds of several may differ.
fn histogram(targets: &Targets<'_>, window: Window, name: HistogramName) -> Option<Histogram> {
    let [track] = targets.tracks.as_slice() else { return None };
    let read = |sample: &&Sample| sample.histograms.get(&name).cloned();
    let before = track.iter().rev().find(|sample| sample.at_ns <= window.open_ns).and_then(read)?;
    let after = track.iter().find(|sample| sample.at_ns >= window.close_ns).and_then(read)?;
    gained(&before, &after).filter(|histogram| histogram.count > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ms, sample};

    #[test]
    fn averages_without_sampling() {
        let at = |at_ms: u64, inference: f64, queue: f64, count: f64| {
            let mut sample = sample(at_ms);
            for (name, sum) in [(HistogramName::Inference, inference), (HistogramName::Queue, queue)] {
                sample.histograms.insert(name, Histogram { sum, count, buckets: Vec::new() });
            }
            sample
        };
        // Four slots busy for ten seconds, ten requests waiting, scraped two seconds off the window's edges.
        let samples = [at(0, 0.0, 0.0, 0.0), at(14_000, 56.0, 140.0, 28.0)];
        let window = Window { open_ns: ms(2000), close_ns: ms(12_000) };
        let load = ServerLoad::read(&Targets::of(&samples), window, &Busy::ALWAYS);
        assert!((load.running.unwrap() - 4.0).abs() < 1e-9);
        assert!((load.waiting.unwrap() - 10.0).abs() < 1e-9);
        assert!((load.queue_mean.unwrap() - 5.0).abs() < 1e-9);
        assert!((load.finished - 20.0).abs() < 1e-9);
        assert!(load.prefix_hit_rate.is_err());
        let restarted = [at(0, 5.0, 5.0, 9.0), at(14_000, 1.0, 1.0, 2.0)];
        assert!(ServerLoad::read(&Targets::of(&restarted), window, &Busy::ALWAYS).running.is_err());
    }
}
