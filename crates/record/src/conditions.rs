use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `conditions.json`: under which conditions the run was made. Unknown is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// [`crate::RECORD_SCHEMA`].
    pub schema: u32,
    /// The server.
    pub server: ServerConditions,
    /// The prompts.
    pub prompts: PromptConditions,
    /// Seed of everything drawn, also when the plan gave none.
    pub seed: u64,
    /// Levels in the order in which they run, those added for an SLO included.
    pub levels: Vec<u32>,
    /// Levels that were added because an SLO names them.
    pub added_levels: Vec<u32>,
    /// What was odd before the load began; each is a sentence.
    pub notes: Vec<String>,
    /// Everything that differs from host to host and run to run.
    pub environment: Environment,
}

/// What the server said of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerConditions {
    /// The model asked for.
    pub model: String,
    /// Models that it serves.
    pub models: Vec<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its `server` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Largest prompt plus answer, tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_model_len: Option<u32>,
    /// True when it reports usage in a stream.
    pub stream_usage: bool,
    /// Concept to the raw metric name that it was read from.
    pub concepts: BTreeMap<String, String>,
    /// Concepts that its metrics page does not show.
    pub missing_concepts: Vec<String>,
    /// Labels of its cache configuration metric.
    pub cache_config: BTreeMap<String, String>,
    /// True when it was idle before the load; absent when it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_before: Option<bool>,
}

/// Where the prompts come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptConditions {
    /// `generated` or the file's name.
    pub source: String,
    /// Intended cache regime: `cold`, `shared-prefix` or `natural`.
    pub regime: String,
    /// Prompts usable in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<u64>,
    /// Items of the file that were not, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, u64>,
}

/// The part of the conditions that is not a function of plan and server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Wall-clock time of the run's start, RFC 3339.
    pub started_at: String,
    /// The same in nanoseconds since 1970: the anchor of every `*_ns`.
    pub started_unix_ns: u64,
    /// Address that was used, without credentials.
    pub url: String,
    /// The client and its version.
    pub client: String,
    /// The command line; values of secret options are left out.
    pub argv: Vec<String>,
    /// Host name.
    pub host: String,
    /// Operating system and kernel.
    pub os: String,
    /// Processors that this process may use.
    pub cpus: u32,
}
