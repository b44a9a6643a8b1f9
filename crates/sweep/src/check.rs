//! The functional check: does the server answer, correctly and completely?

mod answers;
mod load;
mod pages;
mod refusals;

use crate::{
    Link, SweepError, check_target,
    preflight::{Server, Way, without_credentials},
};
use plimsoll_metrics::quantile::{Estimate, estimate};
use plimsoll_record::{Endpoint, Plan};
use plimsoll_transport::{FetchLimits, Secret};
use std::collections::BTreeMap;

/// What to check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Where the server is and how it is reached: address, model, key, headers, connection and time limits. What else a
    /// plan says is not looked at.
    pub plan: Plan,
    /// The API key.
    pub key: Option<Secret>,
    /// Requests of the small load at the end; 0: none.
    pub requests: u32,
    /// How many of these at once.
    pub concurrency: u32,
    /// `max_tokens` of each.
    pub output_tokens: u32,
    /// Sampling temperature of the small load.
    pub temperature: f64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// One row per thing checked.
    pub rows: Vec<CheckRow>,
    /// The small load, if it was made.
    pub load: Option<CheckLoad>,
}

/// One thing checked.
#[derive(Clone, Debug)]
pub struct CheckRow {
    /// What.
    pub name: String,
    /// The finding.
    pub state: CheckState,
    /// In a sentence.
    pub detail: String,
}

/// Findings of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// As it should be.
    Pass,
    /// A sweep works, with something missing.
    Warn,
    /// A sweep cannot be trusted or made.
    Fail,
}

/// Figures of the small load: a closed loop of non-streaming requests, each timed from the instant its slot was free.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckLoad {
    /// Route that carried it.
    pub route: String,
    /// Requests sent.
    pub requests: u32,
    /// How many were to be in flight at once.
    pub concurrency: u32,
    /// Complete ones.
    pub ok: u32,
    /// Failures by kind.
    pub failures: BTreeMap<String, u32>,
    /// From the first request's start to the last one's end, seconds.
    pub wall_s: f64,
    /// Complete requests over the wall time, 1/s.
    pub req_s: f64,
    /// Mean number of requests in flight: their times summed over the wall time.
    pub in_flight: f64,
    /// Output tokens of complete requests, from usage; absent when an answer had none.
    pub tokens_per_response: Option<CheckTokens>,
    /// Output tokens of complete requests over the wall time, 1/s.
    pub output_tok_s: Option<f64>,
    /// Whole time of complete requests; absent when there is none.
    pub e2e: Option<CheckSpread>,
}

/// Tokens per response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckTokens {
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: u32,
    /// Largest.
    pub max: u32,
}

/// A distribution of times, seconds. Quantiles are told only as far as n carries them.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckSpread {
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// 50 %.
    pub median: Estimate,
    /// 95 %.
    pub p95: Estimate,
    /// 99 %.
    pub p99: Estimate,
}

impl CheckSpread {
    /// Of rising values; absent without any.
    pub fn of(sorted: &[f64]) -> Option<Self> {
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        let [median, p95, p99] = [500_000, 950_000, 990_000].map(|ppm| estimate(sorted, ppm));
        Some(Self { mean, min, max, median, p95, p99 })
    }
}

impl CheckReport {
    /// True when a row has failed.
    pub fn has_failed(&self) -> bool {
        self.rows.iter().any(|row| row.state == CheckState::Fail)
    }
}

impl CheckRow {
    fn new(name: impl Into<String>, state: CheckState, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state, detail: detail.into() }
    }

    fn pass(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, CheckState::Pass, detail)
    }

    fn warn(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, CheckState::Warn, detail)
    }

    fn fail(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, CheckState::Fail, detail)
    }
}

/// Checks a server; takes seconds. A server that cannot be reached is a row, as every other finding; an address that
/// is none is an error. Of several addresses the first is checked in full; the others must answer requests in the form that the
/// first one takes, as a sweep sends all of them the same. Call on a current-thread runtime.
pub async fn check(options: &CheckOptions) -> Result<CheckReport, SweepError> {
    check_target(&options.plan)?;
    let Some(url) = options.plan.url.first() else {
        return Err(SweepError::usage(
            "--url: no address given; write for example --url http://127.0.0.1:8000",
        ));
    };
    let way = Way::of_plan(&options.plan, options.key.as_ref())?;
    let server = Server::reach(&Link::Url, url, &way).await?;
    let limits = FetchLimits {
        time: options.plan.timeout.duration(),
        redirects: options.plan.redirects,
        ..FetchLimits::default()
    };
    let pages = pages::Pages { server: &server, way: &way, options, limits };
    let mut report = CheckReport { rows: Vec::new(), load: None };
    let connection = pages.connection().await;
    let reached = connection.state != CheckState::Fail;
    report.rows.push(connection);
    if !reached {
        return Ok(report);
    }
    report.rows.push(pages.health().await);
    let (row, model) = pages.models().await;
    report.rows.push(row);
    report.rows.push(pages.version().await);
    let Some(model) = model else { return Ok(report) };
    let answers = answers::Answers { server: &server, options, model: &model };
    let served = answers.all(&mut report.rows).await;
    report.rows.push(pages.metrics(&model).await);
    refusals::Refusals { server: &server, limits, model: &model }.all(&served, &mut report.rows).await;
    let of = |endpoint| served.iter().find(|template| template.endpoint == endpoint);
    let route = of(Endpoint::Completions).or_else(|| of(Endpoint::Chat));
    for url in options.plan.url.iter().skip(1) {
        let Some(template) = served.first() else { break };
        let name = without_credentials(url);
        report.rows.push(match connected(url, &way).await {
            Ok(server) => {
                answers::Answers { server: &server, options, model: &model }.other(&name, template).await
            }
            Err(error) => CheckRow::fail(name, error.to_string()),
        });
    }
    if let (Some(template), true) = (route, options.requests > 0) {
        let load = load::run(&server, options, template).await?;
        report.rows.push(load::row(&load));
        report.load = Some(load);
    }
    Ok(report)
}

async fn connected(url: &str, way: &Way) -> Result<Server, SweepError> {
    let mut server = Server::reach(&Link::Url, url, way).await?;
    server.connect(way.limit).await?;
    Ok(server)
}
