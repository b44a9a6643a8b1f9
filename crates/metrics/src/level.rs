//! The numbers of one level and repeat.

use crate::RunData;
use crate::bottleneck::Budget;
use crate::client::{self, Activity, ClientProof, Proving};
use crate::latency::{Latencies, token_source};
use crate::number::{Kind, plain};
use crate::open_loop::{Arriving, Busy};
use crate::server::{Bucketed, Fell, ServerLoad, Targets, bucket_quantile};
use crate::summary::{Interval, Number, Reading};
use crate::targets::{TargetSummary, by_target};
use crate::throughput::{self, Output};
use crate::window::LevelRecords;

/// A level with all that was computed of it.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub level: LevelRecords<'a>,
    pub latencies: Latencies,
    /// Inside the window; None without one.
    pub inside: Option<Inside>,
    /// Length of the window in median request durations; None without either.
    pub durations: Option<f64>,
    pub budget: Result<Budget, String>,
    /// Of an open loop with a window.
    pub arriving: Option<Arriving>,
    pub client: ClientProof,
    pub targets: Vec<TargetSummary>,
    pub numbers: Vec<Number>,
}

/// What was counted inside a level's window.
#[derive(Debug)]
pub(crate) struct Inside {
    pub output: Output,
    pub in_flight: f64,
    /// Requests that waited for a new connection, on average.
    pub connecting: f64,
    pub little_gap: Option<f64>,
    pub server: ServerLoad,
}

const NO_WINDOW: &str = "the measured window never closed";
const NO_RATE_INTERVAL: &str = "one window gives one rate; its interval needs repeats";
const EXACT: &str = "exact, nothing is inferred";

pub(crate) fn measure<'a>(level: LevelRecords<'a>, run: &RunData, targets: &Targets<'_>) -> Measured<'a> {
    let latencies = Latencies::of(&level);
    let open = level.level.is_open_loop();
    let arriving = Arriving::of(&level, &run.plan.arrivals).filter(|_| open);
    let inside = level.window.map(|window| {
        let in_flight = throughput::in_flight(window, &level.requests);
        Inside {
            output: throughput::output(window, &level.requests),
            in_flight,
            connecting: throughput::connecting(window, &level.requests),
            little_gap: throughput::little_gap(window, &level.requests, in_flight),
            server: ServerLoad::read(targets, window, &Busy::of(&level)),
        }
    });
    let durations = level.window.zip(latencies.median_e2e()).map(|(window, e2e)| window.seconds() / e2e);
    let budget = match &inside {
        Some(_) if durations.is_some_and(|durations| durations < 1.0) => {
            Err("the window was shorter than one request".to_owned())
        }
        Some(inside) => {
            let grew = arriving.is_some_and(|arriving| arriving.grew);
            Budget::of(level.level, inside.in_flight, inside.connecting, &inside.server, grew)
        }
        None => Err(NO_WINDOW.to_owned()),
    };
    let activity = level.window.map(|window| Activity::of(&run.client, window));
    let events_s =
        level.window.map(|window| throughput::events(window, &level.requests) as f64 / window.seconds());
    let mut numbers = rates(&level, inside.as_ref());
    if open {
        numbers.extend(arrivals(&level, arriving.as_ref()));
    }
    numbers.extend(latencies.numbers(token_source(&level), open));
    numbers.extend(server(inside.as_ref()));
    if !open {
        numbers.extend(cycle(&budget));
    }
    numbers.extend(client::numbers(&latencies, activity.as_ref(), events_s, &level.cohort));
    let client = client::prove(&Proving {
        latencies: &latencies,
        activity: &activity.unwrap_or_default(),
        environment: &run.conditions.environment,
        events_s: events_s.unwrap_or(0.0),
        requests_s: numbers.iter().find(|n| n.name == "req_s").and_then(|n| n.value).unwrap_or(0.0),
    });
    let targets = by_target(&level.cohort);
    Measured { level, latencies, inside, durations, budget, arriving, client, targets, numbers }
}

fn rates(level: &LevelRecords<'_>, inside: Option<&Inside>) -> Vec<Number> {
    let source = token_source(level);
    let rate = |name, unit, source, value: Result<f64, String>, n| {
        plain(Kind { name, unit, formula: name, source }, value, n, NO_RATE_INTERVAL)
    };
    let (Some(inside), Some(window)) = (inside, level.window) else {
        let none = || Err(NO_WINDOW.to_owned());
        return vec![
            rate("output_tok_s", "tok/s", source, none(), 0),
            rate("input_tok_s", "tok/s", "server usage", none(), 0),
            rate("req_s", "req/s", "client stamps", none(), 0),
            rate("in_flight", "requests", "client stamps", none(), 0),
            rate("in_flight_peak", "requests", "client stamps", none(), 0),
        ];
    };
    let seconds = window.seconds();
    let output = match inside.output {
        Output { uncounted: 0, tokens, .. } => Ok(tokens / seconds),
        Output { uncounted, requests, .. } => Err(format!(
            "{uncounted} of {} complete requests in the window have no token count",
            uncounted + requests
        )),
    };
    let (input, inputs) = match throughput::input(window, &level.requests) {
        Some((tokens, n)) => (Ok(tokens as f64 / seconds), n),
        None => (Err("the server did not count the prompt of every request in the window".to_owned()), 0),
    };
    let completions = throughput::completions(window, &level.requests);
    let present = level
        .requests
        .iter()
        .filter(|request| request.sent_ns.is_some_and(|sent| window.overlap(sent, request.end_ns) > 0))
        .count() as u64;
    let peak = throughput::peak_in_flight(window, &level.requests);
    let count = |name, value| {
        plain(
            Kind { name, unit: "requests", formula: name, source: "client stamps" },
            Ok(value),
            present,
            EXACT,
        )
    };
    vec![
        rate("output_tok_s", "tok/s", source, output, inside.output.requests),
        rate("input_tok_s", "tok/s", "server usage", input, inputs),
        rate("req_s", "req/s", "client stamps", Ok(completions as f64 / seconds), completions),
        count("in_flight", inside.in_flight),
        count("in_flight_peak", peak as f64),
    ]
}

/// What an open loop offers, and how far the server follows.
fn arrivals(level: &LevelRecords<'_>, arriving: Option<&Arriving>) -> Vec<Number> {
    let seconds = level.window.map(|window| window.seconds());
    let n = arriving.map_or(0, |arriving| arriving.offered);
    let known = |value: Option<f64>| value.ok_or_else(|| NO_WINDOW.to_owned());
    let number = |name, unit, value: Option<f64>, n| {
        plain(Kind { name, unit, formula: name, source: "client stamps" }, known(value), n, EXACT)
    };
    let measured = level.cohort.len() as u64;
    vec![
        number("offered_req_s", "req/s", arriving.zip(seconds).map(|(a, s)| a.offered as f64 / s), n),
        number("backlog_growth", "requests", arriving.map(|a| a.growth), n),
        number("capped_share", "share", arriving.map(|a| a.capped as f64 / measured.max(1) as f64), measured),
    ]
}

fn server(inside: Option<&Inside>) -> Vec<Number> {
    let kind = |name, unit, source| Kind { name, unit, formula: name, source };
    let load = inside.map(|inside| &inside.server);
    let cumulative = |of: fn(&ServerLoad) -> &Result<f64, Fell>| match load {
        Some(load) => of(load).clone().map_err(|fell| fell.0.to_owned()),
        None => Err(NO_WINDOW.to_owned()),
    };
    let gauge = |value: Option<Option<f64>>| match value {
        None => Err(NO_WINDOW.to_owned()),
        Some(None) => Err("no scrape inside the window shows it".to_owned()),
        Some(Some(value)) => Ok(value),
    };
    let finished = load.map_or(0, |load| load.finished.max(0.0) as u64);
    let used = load.map_or(0, |load| load.gauges.used);
    let gauges = load.map(|load| &load.gauges);
    let integral = "an integral, not a sample";
    let sampled = "neighbouring scrapes are correlated";
    let (histogram, of_gauge, counter) = ("server histogram", "server gauge", "server counter");
    let scrapes = gauges.map_or_else(|| Err(NO_WINDOW.to_owned()), |gauges| Ok(gauges.scrapes as f64));
    vec![
        plain(
            kind("server_running", "requests", histogram),
            cumulative(|load| &load.running),
            finished,
            integral,
        ),
        plain(
            kind("server_waiting", "requests", histogram),
            cumulative(|load| &load.waiting),
            finished,
            integral,
        ),
        plain(
            kind("server_queue_mean", "s", histogram),
            cumulative(|load| &load.queue_mean),
            finished,
            integral,
        ),
        bucketed("server_ttft_p50", load, 0.5),
        bucketed("server_ttft_p95", load, 0.95),
        plain(
            kind("server_running_gauge", "requests", of_gauge),
            gauge(gauges.map(|g| g.running)),
            used,
            sampled,
        ),
        plain(
            kind("server_waiting_gauge", "requests", of_gauge),
            gauge(gauges.map(|g| g.waiting)),
            used,
            sampled,
        ),
        plain(
            kind("server_waiting_share", "share", of_gauge),
            gauge(gauges.map(|g| g.waiting_share)),
            used,
            sampled,
        ),
        plain(kind("server_scrapes", "scrapes", of_gauge), scrapes, used, EXACT),
        plain(kind("kv_usage_mean", "share", of_gauge), gauge(gauges.map(|g| g.kv_mean)), used, sampled),
        plain(kind("kv_usage_max", "share", of_gauge), gauge(gauges.map(|g| g.kv_max)), used, sampled),
        plain(
            kind("prefix_hit_rate", "share", counter),
            cumulative(|load| &load.prefix_hit_rate),
            finished,
            integral,
        ),
    ]
}

/// A quantile of the server's histogram, with its bucket as the interval.
fn bucketed(name: &str, load: Option<&ServerLoad>, q: f64) -> Number {
    let kind = Kind { name, unit: "s", formula: "server_ttft_quantile", source: "server histogram" };
    let histogram = load.and_then(|load| load.ttft.as_ref());
    let n = histogram.map_or(0, |histogram| histogram.count.max(0.0) as u64);
    let found = histogram.and_then(|histogram| bucket_quantile(histogram, q));
    let value = found.map(|found| found.value).ok_or_else(|| {
        if load.is_some() { "no single histogram around the window has observations" } else { NO_WINDOW }
            .to_owned()
    });
    let mut number = plain(kind, value, n, "the bucket is not known");
    if let Some(Bucketed { low, high, .. }) =
        found.filter(|found| number.value.is_some() && found.low.is_finite())
    {
        number.interval = Some(Interval {
            low,
            high: high.filter(|high| high.is_finite()),
            confidence: 1.0,
            method: "the histogram's bucket".to_owned(),
        });
        number.interval_reason = None;
        if high.is_none() {
            number.reading = Reading::AtLeast;
        }
    }
    number
}

fn cycle(budget: &Result<Budget, String>) -> Vec<Number> {
    let value = |of: fn(&Budget) -> f64| budget.as_ref().map(of).map_err(Clone::clone);
    let source = budget.as_ref().map_or("client stamps", |budget| budget.basis.source());
    [
        ("cycle_client", value(|budget| budget.client.unwrap_or(0.0)), "client stamps"),
        ("cycle_network", value(|budget| budget.network), source),
        ("cycle_queue", value(|budget| budget.queue), source),
        ("cycle_service", value(|budget| budget.service), source),
    ]
    .into_iter()
    .map(|(name, value, source)| {
        let n = budget.as_ref().map_or(0, |budget| budget.n);
        plain(Kind { name, unit: "requests", formula: name, source }, value, n, "an integral, not a sample")
    })
    .collect()
}
