//! What a run amounts to: the contents of `summary.json`.

use crate::client::ClientProof;
use crate::targets::TargetSummary;
use plimsoll_record::{Level, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of `summary.json`.
pub const SUMMARY_SCHEMA: u32 = 1;

/// Every number and verdict of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SUMMARY_SCHEMA`].
    pub schema: u32,
    /// Whether the run's load ended as planned.
    pub state: RunState,
    /// One entry per level and repeat, by level, then repeat.
    pub levels: Vec<LevelSummary>,
    /// Where throughput stops to follow the load.
    pub knee: Knee,
    /// One verdict per objective; empty when none was set.
    pub slo: Vec<SloVerdict>,
    /// The load to run at.
    pub operating_point: OperatingPoint,
    /// What the limit was, judged at the highest level.
    pub bottleneck: Bottleneck,
    /// Whether this client may have been the limit.
    pub client: ClientProof,
    /// Client counts against the server's counters over the whole run.
    pub reconciliation: Reconciliation,
    /// Findings about the whole run.
    pub flags: Vec<Flag>,
    /// Number of integrity checks that were made, over all levels.
    pub checks: u32,
}

/// Whether the run's load ended as planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    /// Every planned level ran to its end.
    Complete,
    /// Something is missing; the numbers describe what there is.
    Partial {
        /// Why.
        reason: String,
    },
}

/// One level and repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelSummary {
    /// The load asked for: a concurrency, or a rate.
    pub level: Level,
    /// Repeat, from 0; people read it from 1.
    pub repeat: u32,
    /// `[t0, t1)`; absent when the window never closed.
    pub window: Option<Window>,
    /// Measured requests, failures included.
    pub n: u64,
    /// Of these, complete ones.
    pub ok: u64,
    /// Of these, failures by kind; statuses other than 2xx by number, `http_429`, time limits by name,
    /// `timeout_connect`, `timeout_first_token`, `timeout_idle`, `timeout_total`.
    pub failures: BTreeMap<String, u64>,
    /// The numbers, by name; see [`Number::name`] for the list.
    pub numbers: Vec<Number>,
    /// What limited this level.
    pub bottleneck: Bottleneck,
    /// Whether this client may have been the limit.
    pub client: ClientProof,
    /// By target, where requests were shared out over several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSummary>,
    /// Findings about this level.
    pub flags: Vec<Flag>,
}

/// A half-open window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// `t0`.
    pub open_ns: Nanos,
    /// `t1`.
    pub close_ns: Nanos,
}

/// A figure with everything needed to read it right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// `output_tok_s`, `input_tok_s`, `req_s`, `output_tokens_mean`, `in_flight`, `ttft_p50`, `ttft_p90`, `ttft_p95`,
    /// `ttft_p99`, `ttft_mean`, `ttft_max`, the same for `tpot`, `itl`, `icl` and `e2e`, `finish_lag_p50`,
    /// `send_delay_p99`, `client_lag_p99`, `server_running`, `server_waiting` (integrated from histograms),
    /// `server_running_gauge`, `server_waiting_gauge`, `server_waiting_share`, `kv_usage_mean`, `kv_usage_max`,
    /// `prefix_hit_rate`, `in_flight_peak`, `service_ttft_p50`, `service_ttft_p95`, `service_e2e_p50`, `service_e2e_p95`,
    /// `tokens_per_chunk`, `coalesced_share`, `server_scrapes`,
    /// `server_queue_mean`, `server_ttft_p50`, `server_ttft_p95` (with its histogram bucket as interval), `cycle_client`, `cycle_network`, `cycle_queue`, `cycle_service` (closed loop only).
    /// Open loop only: `offered_req_s`, `backlog_growth`, `capped_share`, and `response` with the same suffixes as `ttft`.
    /// Of this client: `send_delay_p50`, `kernel_lag_p99`, `runtime_lag_p99`, `busiest_thread`, `process_cpu`,
    /// `throttled`, `steal`, `retransmits`, `events_s`, `new_connection_share`; where connections were opened, also
    /// `connect_p50`, `connect_p95`, `connect_max`, and the same for `tls`.
    pub name: String,
    /// `s`, `tok/s`, `req/s`, `events/s`, `tok`, `requests`, `share`, `scrapes`, `processors`, `segments`.
    pub unit: String,
    /// Id of the formula; [`crate::formula`] gives its text and source.
    pub formula: String,
    /// The value; absent when it is withheld or not known, and then `reason` says why.
    pub value: Option<f64>,
    /// How the value is to be read.
    pub reading: Reading,
    /// Observations that it rests on.
    pub n: u64,
    /// Its interval, or none and then `interval_reason`.
    pub interval: Option<Interval>,
    /// Why there is no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_reason: Option<String>,
    /// What was counted: `client stamps`, `server usage`, `server histogram`, `server gauge`, `server counter`, `tokenizer`,
    /// `client samples`.
    pub source: String,
    /// Why the value is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A value that failed a check of class INVALID: computed, kept, never shown in a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<f64>,
}

/// How a value is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// An estimate.
    Estimate,
    /// The true quantile is at least this; no upper bound is known at this n.
    AtLeast,
    /// Not known.
    Absent,
}

/// A confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, in the number's unit.
    pub low: f64,
    /// Upper end; absent when n is too small to know one.
    pub high: Option<f64>,
    /// Coverage, for example 0.95.
    pub confidence: f64,
    /// How it was made.
    pub method: String,
}

/// Where throughput stops to follow the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The finding.
    pub state: KneeState,
    /// Elasticity of output tokens per second between neighbouring levels.
    pub elasticities: Vec<Elasticity>,
    /// The finding in a sentence.
    pub text: String,
}

/// Findings about the knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum KneeState {
    /// Between these two levels.
    Bracket {
        /// Lower edge.
        low: Level,
        /// Upper edge.
        high: Level,
    },
    /// Throughput still follows the load at the highest level.
    NoneInRange {
        /// The highest level.
        highest: Level,
    },
    /// Throughput is flat from the lowest level on.
    SaturatedAtLowest {
        /// The lowest level.
        lowest: Level,
    },
    /// Too few levels with a throughput.
    CannotJudge,
}

/// `(ln X2 - ln X1) / (ln N2 - ln N1)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Elasticity {
    /// Lower level.
    pub from: Level,
    /// Higher level.
    pub to: Level,
    /// The value.
    pub value: f64,
}

/// A verdict on one objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SloVerdict {
    /// The objective as a sentence.
    pub objective: String,
    /// The level it names; absent: judged at every level.
    pub at: Option<Level>,
    /// The verdict at each judged level.
    pub levels: Vec<SloLevel>,
}

/// A verdict on one objective at one level, repeats pooled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SloLevel {
    /// The level.
    pub level: Level,
    /// Pass, fail or inconclusive.
    pub verdict: Verdict,
    /// Measured requests that met it.
    pub ok: u64,
    /// Measured requests, failures included.
    pub n: u64,
    /// Share that must meet it.
    pub target: f64,
    /// One-sided 95 % Clopper-Pearson bounds of the true share.
    pub lower: Option<f64>,
    /// See `lower`.
    pub upper: Option<f64>,
    /// The verdict in a sentence, with what would settle it.
    pub text: String,
}

/// Three states, never a coin flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The lower bound reaches the target.
    Pass,
    /// The upper bound stays under the target.
    Fail,
    /// Neither.
    Inconclusive,
}

/// The load to run at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatingPoint {
    /// Absent: no level qualifies, or it cannot be judged.
    pub level: Option<Level>,
    /// Lower edge of the knee over the level.
    pub headroom: Option<f64>,
    /// The reason in a sentence.
    pub text: String,
}

/// What the limit was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// The finding.
    pub kind: BottleneckKind,
    /// The level it was judged at.
    pub level: Option<Level>,
    /// The finding in a sentence with the figures it rests on.
    pub text: String,
    /// The figures by name.
    pub figures: BTreeMap<String, f64>,
}

/// Findings about the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BottleneckKind {
    /// The server's slots are full and requests wait.
    ServerSlots,
    /// Requests wait although slots are free: KV blocks, a token budget.
    ServerAdmission,
    /// Server near its cap while the client leaves gaps.
    Mixed,
    /// The client does not fill the slots.
    Client,
    /// Time is spent between client and engine.
    Network,
    /// The server has free slots: more load would be served.
    UnderLoaded,
    /// Too little evidence.
    CannotJudge,
}

/// Client counts against the server's counters, idle to idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reconciliation {
    /// The finding.
    pub state: ReconciliationState,
    /// The counts compared.
    pub rows: Vec<ReconciliationRow>,
    /// The finding in a sentence.
    pub text: String,
}

/// Findings of the reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReconciliationState {
    /// All counts agree.
    Match,
    /// Some do not.
    Mismatch,
    /// The server's counters are not known.
    CannotJudge,
}

/// One count on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReconciliationRow {
    /// `completions`, `output_tokens`, `input_tokens`.
    pub name: String,
    /// The client's count.
    pub client: Option<u64>,
    /// The server's.
    pub server: Option<f64>,
}

/// An integrity finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    /// A stable name, `snake_case`.
    pub id: String,
    /// How grave.
    pub class: FlagClass,
    /// Names of the numbers it concerns; empty: all.
    pub numbers: Vec<String>,
    /// What was found and what to do, in a sentence or two.
    pub text: String,
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FlagClass {
    /// The number stands, with this to be known.
    Warn,
    /// The number is withheld.
    Invalid,
}

impl LevelSummary {
    /// The number of this name, if it was computed at all.
    pub fn number(&self, name: &str) -> Option<&Number> {
        self.numbers.iter().find(|number| number.name == name)
    }
}
