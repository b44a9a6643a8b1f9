//! May these numbers be believed? Each check is counted; each finding says what to do.

mod level;
mod open_loop;
mod run;
mod stream;
mod wire;

pub(crate) use level::{COHORT_CUT, check as check_level};
pub(crate) use open_loop::NOT_STEADY;
pub(crate) use run::{RunChecks, check as check_run};

use crate::latency::{FAMILIES, QUANTILES};
use crate::summary::{Flag, FlagClass};

/// Checks made and what they found.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub made: u32,
    pub flags: Vec<Flag>,
}

impl Checks {
    /// Counts a check and keeps its finding.
    pub fn check(&mut self, finding: Option<Flag>) {
        self.made = self.made.saturating_add(1);
        self.flags.extend(finding);
    }
}

pub(crate) fn warn(id: &str, numbers: Vec<String>, text: String) -> Flag {
    Flag { id: id.to_owned(), class: FlagClass::Warn, numbers, text }
}

pub(crate) fn invalid(id: &str, numbers: Vec<String>, text: String) -> Flag {
    Flag { id: id.to_owned(), class: FlagClass::Invalid, numbers, text }
}

/// The numbers of these families of latencies.
pub(crate) fn families(names: &[&str]) -> Vec<String> {
    let suffixes = QUANTILES.map(|(suffix, _)| suffix);
    names
        .iter()
        .flat_map(|family| {
            suffixes.iter().copied().chain(["mean", "max"]).map(move |suffix| format!("{family}_{suffix}"))
        })
        .collect()
}

pub(crate) fn named(names: &[&str]) -> Vec<String> {
    names.iter().copied().map(str::to_owned).collect()
}

/// What a level achieves: throughput and latencies.
pub(crate) fn performance() -> Vec<String> {
    let mut numbers = named(&["output_tok_s", "input_tok_s", "req_s"]);
    numbers.extend(families(&FAMILIES));
    numbers.extend(response());
    numbers
}

/// The response time and the service times.
pub(crate) fn response() -> Vec<String> {
    let mut numbers = families(&["response"]);
    numbers.extend(named(&["service_ttft_p50", "service_ttft_p95", "service_e2e_p50", "service_e2e_p95"]));
    numbers
}

/// What rests on the server's word.
pub(crate) fn of_server() -> Vec<String> {
    named(&[
        "server_running",
        "server_waiting",
        "server_queue_mean",
        "server_ttft_p50",
        "server_ttft_p95",
        "server_running_gauge",
        "server_waiting_gauge",
        "server_waiting_share",
        "kv_usage_mean",
        "kv_usage_max",
        "prefix_hit_rate",
        "cycle_network",
        "cycle_queue",
        "cycle_service",
    ])
}
