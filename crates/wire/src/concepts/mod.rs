//! From a server's metric names to the concepts of [`plimsoll_record::Sample`].
//!
//! Servers and their versions name the same thing differently; each concept has a list of names, and the first that
//! stands on the page is used. A concept that no name gives is absent, never zero. Values are summed over label sets
//! (one per engine, rank or finish reason); KV use is a share and is averaged.

mod histogram;
mod names;
mod series;

use crate::prometheus::Page;
use plimsoll_record::{Counter, Gauge, Histogram, HistogramName};
use series::Series;
use std::collections::{BTreeMap, BTreeSet};

/// What a page says, in the terms of [`plimsoll_record::Sample`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Concepts {
    /// Point-in-time values.
    pub gauges: BTreeMap<Gauge, f64>,
    /// Cumulative counts.
    pub counters: BTreeMap<Counter, f64>,
    /// Finished requests by the server's reason; [`NO_REASON`] where the server tells none.
    pub finished: BTreeMap<String, f64>,
    /// Cumulative histograms, times in seconds.
    pub histograms: BTreeMap<HistogramName, Histogram>,
    /// The metric that each concept found was read from.
    pub sources: BTreeMap<&'static str, String>,
    /// Concepts that the page does not show.
    pub missing: Vec<&'static str>,
    /// Labels of the server's cache configuration (block size, number of blocks, ...), of its first engine.
    pub cache_config: BTreeMap<String, String>,
    /// Other models on the page, whose series were left out.
    pub other_models: BTreeSet<String>,
}

/// Reason of finished requests where the server tells none.
pub const NO_REASON: &str = "unspecified";

impl Concepts {
    /// Reads `page`. Where a label names models and `model` is one of them, the others' series are left out.
    ///
    /// ```
    /// use plimsoll_record::Gauge;
    /// use plimsoll_wire::{concepts::Concepts, prometheus::Page};
    ///
    /// let page = Page::parse(b"vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n")?;
    /// let concepts = Concepts::read(&page, None);
    /// assert_eq!(concepts.gauges[&Gauge::Running], 7.0);
    /// assert!(concepts.missing.contains(&"waiting"));
    /// # Ok::<(), plimsoll_wire::prometheus::PageError>(())
    /// ```
    pub fn read(page: &Page<'_>, model: Option<&str>) -> Self {
        let series = Series::new(page, model);
        let mut concepts = Self { other_models: series.other_models(), ..Self::default() };
        for (gauge, concept) in names::GAUGES {
            let value = series.find(concept, |samples| match gauge {
                Gauge::KvUsage => series::mean_of_labels(samples),
                Gauge::Running | Gauge::Waiting => series::sum(samples),
            });
            concepts.put(concept, value).map(|value| concepts.gauges.insert(*gauge, value));
        }
        for (counter, concept) in names::COUNTERS {
            let value = series.find(concept, series::sum);
            concepts.put(concept, value).map(|value| concepts.counters.insert(*counter, value));
        }
        let finished =
            series.find(&names::FINISHED, |samples| series::sum_by(samples, "finished_reason", NO_REASON));
        concepts.finished = concepts.put(&names::FINISHED, finished).unwrap_or_default();
        for (name, concept) in names::HISTOGRAMS {
            let value =
                concept.names.iter().find_map(|name| Some((series.histogram(name)?, (*name).to_owned())));
            concepts.put(concept, value).map(|value| concepts.histograms.insert(*name, value));
        }
        concepts.cache_config = series.labels_of(names::CACHE_CONFIG);
        concepts
    }

    fn put<T>(&mut self, concept: &names::Concept, found: Option<(T, String)>) -> Option<T> {
        let Some((value, source)) = found else {
            self.missing.push(concept.id);
            return None;
        };
        self.sources.insert(concept.id, source);
        Some(value)
    }

    /// True when the page shows no concept at all: not the page of a known server, or one without metrics.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
}
