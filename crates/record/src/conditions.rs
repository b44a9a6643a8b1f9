use crate::{Level, Nanos};
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
    pub levels: Vec<Level>,
    /// Levels that were added because an SLO names them.
    pub added_levels: Vec<Level>,
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
    /// True when it reports usage on every event of a stream, so that tokens are known event by event.
    #[serde(default)]
    pub usage_per_event: bool,
    /// True when it tells the ids of the tokens of each event.
    #[serde(default)]
    pub token_ids: bool,
    /// The request's name for the limit on output tokens that it takes, for example `max_completion_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_field: Option<String>,
    /// Fields of a request that it refuses and that were left out for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_fields: Vec<String>,
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

/// One target address of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetConditions {
    /// Address, without credentials.
    pub url: String,
    /// Socket addresses that its host name stands for, in the order in which they are tried; or the socket's path.
    pub addresses: Vec<String>,
    /// Time of the name's look-up, which is done once, before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_ns: Option<Nanos>,
    /// Time to connect, of one connection before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<Nanos>,
    /// Time of its TLS handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ns: Option<Nanos>,
    /// HTTP version in use: `1.1` or `2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// TLS version in use; absent: no TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// The proxy in between, without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

/// What this client may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientLimits {
    /// Open files that the plan needs at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_needed: Option<u64>,
    /// Open files that this process may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_allowed: Option<u64>,
    /// Local ports that the plan needs at most, towards one server address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports_needed: Option<u64>,
    /// Local ports that the system gives out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports_allowed: Option<u64>,
    /// Processors' worth of time that the control group may use; absent: no quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
}

/// What this machine's client could do at most, as `plimsoll selftest` measured it against the mock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ceiling {
    /// When, RFC 3339.
    pub measured_at: String,
    /// The client and its version.
    pub client: String,
    /// Worker threads.
    pub workers: u32,
    /// Streams that were held at once without a lost event.
    pub streams: u32,
    /// Events per second that were read.
    pub events_s: f64,
    /// Requests per second that were sent and answered.
    pub requests_s: f64,
}

/// The part of the conditions that is not a function of plan and server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Wall-clock time of the run's start, RFC 3339.
    pub started_at: String,
    /// The same in nanoseconds since 1970: the anchor of every `*_ns`.
    pub started_unix_ns: u64,
    /// Address that was used, without credentials; of several, the first.
    pub url: String,
    /// Every target address, in the order of their numbers in the records.
    #[serde(default)]
    pub targets: Vec<TargetConditions>,
    /// What this client may use.
    #[serde(default)]
    pub limits: ClientLimits,
    /// What this client could do at most; absent: never measured here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
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
