use super::{histogram, names::Concept};
use crate::prometheus::{Page, PromSample};
use plimsoll_record::Histogram;
use std::collections::{BTreeMap, BTreeSet};

/// The samples of a page by name, other models left out.
pub struct Series<'p> {
    by_name: BTreeMap<String, Vec<&'p PromSample<'p>>>,
    other_models: BTreeSet<String>,
}

/// Ranks that SGLang's gauges repeat: each shows the same whole.
const REPEATED_RANKS: [&str; 3] = ["tp_rank", "pp_rank", "moe_ep_rank"];

impl<'p> Series<'p> {
    pub fn new(page: &'p Page<'p>, model: Option<&str>) -> Self {
        let of_model = |sample: &PromSample<'_>| sample.label("model_name") == model;
        // A name that the page does not know (an adapter, an alias) selects nothing.
        let model = model.filter(|_| page.samples.iter().any(of_model));
        let mut by_name: BTreeMap<String, Vec<&PromSample<'_>>> = BTreeMap::new();
        let mut other_models = BTreeSet::new();
        for sample in &page.samples {
            if let (Some(model), Some(other)) = (model, sample.label("model_name"))
                && other != model
            {
                if !other_models.contains(other) {
                    other_models.insert(other.to_owned());
                }
                continue;
            }
            let (name, sglang) = match sample.name.strip_prefix("sglang_") {
                Some(rest) => (format!("sglang:{rest}"), true),
                None => (sample.name.to_string(), sample.name.starts_with("sglang:")),
            };
            let repeated = |rank: &&str| sample.label(rank).is_some_and(|rank| rank != "0");
            if !(sglang && REPEATED_RANKS.iter().any(repeated)) {
                by_name.entry(name).or_default().push(sample);
            }
        }
        Self { by_name, other_models }
    }

    pub fn other_models(&self) -> BTreeSet<String> {
        self.other_models.clone()
    }

    /// The first of the concept's names, with or without `_total`, that gives a value; with the name on the page.
    pub fn find<T>(
        &self,
        concept: &Concept,
        value: impl Fn(&[&PromSample<'_>]) -> Option<T>,
    ) -> Option<(T, String)> {
        concept.names.iter().find_map(|name| {
            [format!("{name}_total"), (*name).to_owned()].into_iter().find_map(|name| {
                let samples = self.by_name.get(&name)?;
                let on_page = samples.first()?.name.to_string();
                Some((value(samples)?, on_page))
            })
        })
    }

    pub fn histogram(&self, name: &str) -> Option<Histogram> {
        let samples =
            |suffix: &str| self.by_name.get(&format!("{name}{suffix}")).map_or(&[][..], Vec::as_slice);
        histogram::merge(samples("_bucket"), samples("_count"), samples("_sum"))
    }

    pub fn labels_of(&self, names: &[&str]) -> BTreeMap<String, String> {
        let sample = names.iter().find_map(|name| self.by_name.get(*name)?.first());
        let labels = sample.into_iter().flat_map(|sample| &sample.labels);
        labels.map(|(label, value)| (label.to_string(), value.to_string())).collect()
    }
}

fn finite<'a>(samples: &'a [&PromSample<'_>]) -> impl Iterator<Item = f64> + 'a {
    samples.iter().map(|sample| sample.value).filter(|value| value.is_finite())
}

/// Absent when no series has a number.
pub fn sum(samples: &[&PromSample<'_>]) -> Option<f64> {
    finite(samples).reduce(|a, b| a + b)
}

/// The mean over label sets. Of series that differ only in `pid`, the largest counts: each process of the server
/// shows the gauge, and only one of them keeps it up to date.
pub fn mean_of_labels(samples: &[&PromSample<'_>]) -> Option<f64> {
    let mut by_labels = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.value.is_finite()) {
        let labels: Vec<_> = sample.labels.iter().filter(|(label, _)| label != "pid").collect();
        let largest = by_labels.entry(labels).or_insert(sample.value);
        *largest = largest.max(sample.value);
    }
    let sum = by_labels.values().copied().reduce(|a, b| a + b)?;
    Some(sum / by_labels.len() as f64)
}

/// Sums by the values of `label`.
pub fn sum_by(samples: &[&PromSample<'_>], label: &str, absent: &str) -> Option<BTreeMap<String, f64>> {
    let mut sums = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.value.is_finite()) {
        *sums.entry(sample.label(label).unwrap_or(absent).to_owned()).or_insert(0.0) += sample.value;
    }
    (!sums.is_empty()).then_some(sums)
}
