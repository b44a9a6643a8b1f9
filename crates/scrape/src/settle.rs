use plimsoll_record::{Sample, SampleOutcome};
use std::time::Duration;
use tokio::time::Instant;

/// How the wait for still counters ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// True when they stood still; false when the limit passed or the page could not be read.
    pub still: bool,
    /// The last sample taken.
    pub last: Sample,
}

/// Between two scrapes of a wait.
pub const PAUSE: Duration = Duration::from_millis(100);
/// Longest wait, up to the beginning of its last scrape.
pub const LIMIT: Duration = Duration::from_secs(2);
/// Scrapes in a row that show nothing new.
const STILL: u32 = 2;
/// Scrapes in a row that fail, after which waiting is of no use.
const FAILURES: u32 = 2;

/// Follows the scrapes of a wait.
#[derive(Debug)]
pub struct Watch {
    began: Instant,
    last: Option<Sample>,
    unchanged: u32,
    failed: u32,
}

impl Watch {
    pub const fn new(began: Instant) -> Self {
        Self { began, last: None, unchanged: 0, failed: 0 }
    }

    /// Takes the next sample; tells when the wait is over.
    pub fn see(&mut self, sample: &Sample, now: Instant) -> Option<Settled> {
        if sample.outcome == SampleOutcome::Ok {
            self.failed = 0;
            let same = self.last.as_ref().is_some_and(|last| stands_still(last, sample));
            self.unchanged = if same { self.unchanged + 1 } else { 0 };
            self.last = Some(sample.clone());
        } else {
            self.failed += 1;
            self.unchanged = 0;
        }
        let still = self.unchanged >= STILL;
        let over = still || self.failed >= FAILURES || now + PAUSE > self.began + LIMIT;
        over.then(|| Settled { still, last: sample.clone() })
    }
}

/// True when no counter, no count of finished requests and no histogram moved between the two.
fn stands_still(a: &Sample, b: &Sample) -> bool {
    let counts = |sample: &Sample| -> Vec<f64> {
        sample.histograms.values().map(|histogram| histogram.count).collect()
    };
    a.counters == b.counters && a.finished == b.finished && counts(a) == counts(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::{Counter, Histogram, HistogramName, Nanos, RECORD_SCHEMA, SampleTrigger};
    use std::collections::BTreeMap;

    fn sample(tokens: Option<f64>) -> Sample {
        let outcome = match tokens {
            Some(_) => SampleOutcome::Ok,
            None => SampleOutcome::Failed { message: "no".to_owned() },
        };
        Sample {
            schema: RECORD_SCHEMA,
            at_ns: Nanos::ZERO,
            duration_ns: Nanos::ZERO,
            target: String::new(),
            trigger: SampleTrigger::Edge,
            outcome,
            bad_lines: 0,
            gauges: BTreeMap::new(),
            counters: tokens.map(|tokens| (Counter::GenerationTokens, tokens)).into_iter().collect(),
            finished: BTreeMap::new(),
            histograms: BTreeMap::new(),
        }
    }

    /// Samples seen until the wait ends, one each `step`, and whether they stood still.
    fn wait(tokens: &[Option<f64>], step: Duration) -> (usize, Option<bool>) {
        let began = Instant::now();
        let mut watch = Watch::new(began);
        for (n, tokens) in (1..).zip(tokens) {
            if let Some(settled) = watch.see(&sample(*tokens), began + step * n) {
                return (n as usize, Some(settled.still));
            }
        }
        (tokens.len(), None)
    }

    #[test]
    fn counters_must_stand_still_in_two_scrapes() {
        assert_eq!(wait(&[Some(1.0), Some(1.0)], PAUSE), (2, None));
        assert_eq!(wait(&[Some(1.0); 9], PAUSE), (3, Some(true)));
        assert_eq!(wait(&[Some(1.0), Some(1.0), Some(2.0), Some(2.0), Some(2.0)], PAUSE), (5, Some(true)));
        assert_eq!(wait(&[Some(1.0), Some(1.0), None, Some(1.0), Some(1.0)], PAUSE), (5, Some(true)));
    }

    #[test]
    fn requests_and_histograms_must_stand_still_too() {
        let base = sample(Some(1.0));
        let mut finished = base.clone();
        finished.finished.insert("stop".to_owned(), 1.0);
        let mut observed = base.clone();
        observed.histograms.insert(HistogramName::E2e, Histogram { count: 1.0, ..Histogram::default() });
        assert!(stands_still(&base, &base));
        assert!(!stands_still(&base, &finished) && !stands_still(&base, &observed));
    }

    #[test]
    fn it_ends_at_the_limit_and_without_a_page() {
        let moving: Vec<_> = (0..99).map(|n| Some(f64::from(n))).collect();
        assert_eq!(wait(&moving, PAUSE), (20, Some(false)));
        assert_eq!(wait(&[None; 9], PAUSE), (2, Some(false)));
    }
}
