use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of `samples.jsonl`: one scrape of one target, already turned from a server's metric names into concepts.
/// A concept that the page did not show is absent; it is never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// [`crate::RECORD_SCHEMA`].
    pub schema: u32,
    /// When the first byte of the page came; for a failed scrape, when it failed.
    pub at_ns: Nanos,
    /// From sending the request to the end of the page.
    pub duration_ns: Nanos,
    /// The page's address, without credentials.
    pub target: String,
    /// Why the scrape was made.
    pub trigger: SampleTrigger,
    /// Whether it worked.
    pub outcome: SampleOutcome,
    /// Lines of the page that could not be read.
    #[serde(default)]
    pub bad_lines: u32,
    /// Point-in-time values, summed over label sets (KV use: the mean).
    #[serde(default)]
    pub gauges: BTreeMap<Gauge, f64>,
    /// Cumulative counts since the server's start, summed over label sets.
    #[serde(default)]
    pub counters: BTreeMap<Counter, f64>,
    /// Finished requests since the server's start, by the server's reason.
    #[serde(default)]
    pub finished: BTreeMap<String, f64>,
    /// Cumulative histograms since the server's start, summed over label sets. Times in seconds.
    #[serde(default)]
    pub histograms: BTreeMap<HistogramName, Histogram>,
}

/// Why a scrape was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SampleTrigger {
    /// The interval passed.
    Tick,
    /// A phase began or ended, or the run waits for counters to settle.
    Edge,
}

/// Whether a scrape worked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum SampleOutcome {
    /// The page was read.
    Ok,
    /// It was not.
    Failed {
        /// Why.
        message: String,
    },
}

/// Point-in-time concepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// Requests in the running batch.
    Running,
    /// Requests waiting for admission.
    Waiting,
    /// Share of the KV cache in use, 0 to 1.
    KvUsage,
}

/// Cumulative concepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Prompt tokens, cached ones included.
    PromptTokens,
    /// Generated tokens.
    GenerationTokens,
    /// Preempted requests.
    Preemptions,
    /// Prompt tokens looked up in the prefix cache.
    PrefixQueries,
    /// Of these, found.
    PrefixHits,
}

/// Distributions that the server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HistogramName {
    /// Time to first token, from the request's arrival at the server.
    Ttft,
    /// Between output events.
    Itl,
    /// Whole request.
    E2e,
    /// Waiting for admission.
    Queue,
    /// From admission to the first token.
    Prefill,
    /// From the first token to the last.
    Decode,
    /// From admission to the last token.
    Inference,
}

/// A cumulative histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Histogram {
    /// Sum of all observations, seconds.
    pub sum: f64,
    /// Number of observations: the bucket `+Inf`.
    pub count: f64,
    /// `[upper bound in seconds, cumulative count]` for each finite bound, rising.
    pub buckets: Vec<(f64, f64)>,
}
