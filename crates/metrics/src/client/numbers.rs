use super::Activity;
use crate::latency::Latencies;
use crate::number::{Kind, plain, quantile};
use crate::summary::Number;
use plimsoll_record::RequestRecord;

const COUNTED: &str = "a count, not a sample";
const NO_SAMPLES: &str = "this client's own samples do not tell, or cover too little of the window";

/// The numbers about this client at a level.
pub(crate) fn numbers(
    latencies: &Latencies,
    activity: Option<&Activity>,
    events_s: Option<f64>,
    cohort: &[&RequestRecord],
) -> Vec<Number> {
    let stamps = |name, formula| Kind { name, unit: "s", formula, source: "client stamps" };
    let mut numbers = vec![
        quantile(stamps("send_delay_p50", "send_delay_quantile"), &latencies.send_delay, 500_000),
        quantile(stamps("send_delay_p99", "send_delay_quantile"), &latencies.send_delay, 990_000),
        quantile(stamps("client_lag_p99", "client_lag_quantile"), &latencies.client_lag, 990_000),
        or(
            quantile(stamps("kernel_lag_p99", "kernel_lag_quantile"), &latencies.kernel_lag, 990_000),
            latencies.kernel_lag.is_empty(),
            "the kernel's receive stamps are not known",
        ),
    ];
    let lag = activity.map_or(&[][..], |activity| &activity.runtime_lag);
    let kind = Kind { source: "client samples", ..stamps("runtime_lag_p99", "runtime_lag_quantile") };
    numbers.push(or(quantile(kind, lag, 990_000), lag.is_empty(), NO_SAMPLES));
    let n = activity.map_or(0, |activity| activity.samples);
    let of = |value: fn(&Activity) -> Option<f64>| activity.and_then(value);
    for (name, unit, value, n) in [
        (
            "busiest_thread",
            "share",
            of(|a| a.busiest.map(|(share, _)| share)),
            activity.and_then(|a| a.busiest).map_or(0, |(_, n)| n),
        ),
        ("process_cpu", "processors", of(|a| a.process), n),
        ("throttled", "s", of(|a| a.throttled_s), n),
        ("steal", "processors", of(|a| a.steal), n),
        ("retransmits", "segments", of(|a| a.retransmits.map(|count| count as f64)), n),
    ] {
        let kind = Kind { name, unit, formula: name, source: "client samples" };
        numbers.push(plain(kind, value.ok_or_else(|| NO_SAMPLES.to_owned()), n, COUNTED));
    }
    let kind = Kind { name: "events_s", unit: "events/s", formula: "events_s", source: "client stamps" };
    let events = events_s.ok_or_else(|| "the measured window never closed".to_owned());
    numbers.push(plain(
        kind,
        events,
        cohort.len() as u64,
        "one window gives one rate; its interval needs repeats",
    ));
    numbers.extend(connections(cohort));
    numbers
}

fn or(mut number: Number, empty: bool, reason: &str) -> Number {
    if empty {
        number.reason = Some(reason.to_owned());
        number.interval_reason = Some(reason.to_owned());
    }
    number
}

/// The share of new connections; the times to make them only where there are any.
fn connections(cohort: &[&RequestRecord]) -> Vec<Number> {
    let times = |of: fn(&RequestRecord) -> Option<plimsoll_record::Nanos>| {
        let mut times: Vec<f64> = cohort
            .iter()
            .filter_map(|request| of(request))
            .map(plimsoll_record::Nanos::as_secs_f64)
            .collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let (connect, tls) = (times(|request| request.conn.connect_ns), times(|request| request.conn.tls_ns));
    let share = connect.len() as f64 / cohort.len().max(1) as f64;
    let kind = Kind {
        name: "new_connection_share",
        unit: "share",
        formula: "new_connection_share",
        source: "client stamps",
    };
    let value = if cohort.is_empty() { Err("no request was measured".to_owned()) } else { Ok(share) };
    let mut numbers = vec![plain(kind, value, cohort.len() as u64, COUNTED)];
    for (stem, sorted) in [("connect", &connect), ("tls", &tls)] {
        let formula = format!("{stem}_quantile");
        for (suffix, ppm) in [("p50", 500_000), ("p95", 950_000)] {
            if !sorted.is_empty() {
                let name = format!("{stem}_{suffix}");
                let kind = Kind { name: &name, unit: "s", formula: &formula, source: "client stamps" };
                numbers.push(quantile(kind, sorted, ppm));
            }
        }
        let max = format!("{stem}_max");
        let kind = Kind { name: &max, unit: "s", formula: &max, source: "client stamps" };
        numbers.extend(sorted.last().map(|largest| plain(kind, Ok(*largest), sorted.len() as u64, COUNTED)));
    }
    numbers
}
