//! The latency numbers of a cohort.

use crate::number::{Kind, plain, quantile};
use crate::quantile::type7;
use crate::summary::Number;
use crate::timing::{Timing, gaps, smeared};
use crate::window::LevelRecords;
use plimsoll_record::{RequestRecord, TokenSource};

/// Quantiles that are printed, in millionths, with their suffixes.
pub(crate) const QUANTILES: [(&str, u32); 4] =
    [("p50", 500_000), ("p90", 900_000), ("p95", 950_000), ("p99", 990_000)];

/// The families that have these quantiles, a mean and a maximum.
pub(crate) const FAMILIES: [&str; 5] = ["ttft", "tpot", "itl", "icl", "e2e"];

/// Fewest output tokens of a request whose time per token enters the percentiles: fewer gaps are noise.
const TPOT_TOKENS: u32 = 10;

/// Above this share of gaps inside one read, gaps between events say nothing of the server.
pub(crate) const COALESCED: f64 = 0.05;

/// Largest distance from one token per event at which an event gap is a token gap.
const ONE_TOKEN: f64 = 0.02;

const NO_MEAN_INTERVAL: &str = "requests of one run are correlated; the interval of a mean needs repeats";

/// Everything about a cohort's latencies; times in seconds, rising.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    pub ttft: Vec<f64>,
    pub service_ttft: Vec<f64>,
    pub e2e: Vec<f64>,
    pub service_e2e: Vec<f64>,
    pub response: Vec<f64>,
    /// Of requests with at least two tokens.
    pub tpot_all: Vec<f64>,
    /// Of requests with enough tokens for a percentile.
    pub tpot: Vec<f64>,
    pub finish_lag: Vec<f64>,
    pub icl: Vec<f64>,
    /// Token gaps; empty when hidden.
    pub itl: Vec<f64>,
    /// Why token gaps are hidden.
    pub itl_hidden: Option<String>,
    /// True when `itl` is spread from events with several tokens.
    pub smeared: bool,
    /// Lateness of this client: see [`lateness`]. Of failed requests, too.
    pub send_delay: Vec<f64>,
    /// Of failed requests, too.
    pub client_lag: Vec<f64>,
    /// Of failed requests, too, where the kernel tells.
    pub kernel_lag: Vec<f64>,
    /// Reads that brought events, per request that had any.
    pub reads_per_request: Option<f64>,
    pub tokens_per_chunk: Option<f64>,
    pub coalesced_share: Option<f64>,
    /// Requests whose stamps are out of order.
    pub disordered: u64,
    pub output_tokens: Vec<u32>,
    pub successes: u64,
}

impl Latencies {
    /// Median E2E of complete measured requests, seconds.
    pub fn median_e2e(&self) -> Option<f64> {
        type7(&self.e2e, 500_000).filter(|e2e| *e2e > 0.0)
    }

    pub fn of(level: &LevelRecords<'_>) -> Self {
        let mut it = Self::default();
        let (mut reads, mut read) = (0_u64, 0_u64);
        for request in &level.cohort {
            let timing = Timing::of(request);
            it.disordered += u64::from(timing.disordered);
            it.send_delay.extend(lateness(request, &timing).map(seconds));
            it.client_lag.push(request.client_lag_ns.as_secs_f64());
            it.kernel_lag.extend(request.kernel_lag_ns.map(plimsoll_record::Nanos::as_secs_f64));
            reads += request.events.iter().filter(|event| !event.coalesced).count() as u64;
            read += u64::from(!request.events.is_empty());
        }
        it.reads_per_request = share(reads, read);
        let mut token_gaps = Some(Vec::new());
        let (mut coalesced, mut gap_count) = (0_u64, 0_u64);
        let (mut tokens_after_first, mut chunks_after_first) = (0_u64, 0_u64);
        for request in level.successes() {
            it.successes += 1;
            let timing = Timing::of(request);
            it.ttft.extend(timing.ttft.map(seconds));
            it.service_ttft.extend(timing.service_ttft.map(seconds));
            it.e2e.extend(timing.e2e.map(seconds));
            it.service_e2e.extend(timing.service_e2e.map(seconds));
            it.response.extend(timing.response.map(seconds));
            it.finish_lag.extend(timing.finish_lag.map(seconds));
            it.tpot_all.extend(timing.tpot.map(seconds));
            let n = request.output_tokens;
            it.output_tokens.extend(n);
            if n.is_some_and(|n| n >= TPOT_TOKENS) {
                it.tpot.extend(timing.tpot.map(seconds));
            }
            let between = gaps(request);
            gap_count += between.len() as u64;
            coalesced += between.iter().filter(|gap| gap.coalesced).count() as u64;
            if let Some(n) = n.filter(|n| *n >= 2) {
                tokens_after_first += u64::from(n) - 1;
                chunks_after_first += between.len() as u64;
            }
            it.icl.extend(between.iter().map(|gap| seconds(gap.ns)));
            token_gaps = token_gaps.zip(smeared(&between)).map(|(mut all, of_one)| {
                all.extend(of_one.into_iter().map(seconds));
                all
            });
        }
        it.tokens_per_chunk = share(tokens_after_first, chunks_after_first);
        it.coalesced_share = share(coalesced, gap_count);
        it.choose_itl(token_gaps);
        it.sort();
        it
    }

    fn choose_itl(&mut self, token_gaps: Option<Vec<f64>>) {
        let one_each = self.tokens_per_chunk.is_some_and(|ratio| (ratio - 1.0).abs() <= ONE_TOKEN);
        let coalesced = self.coalesced_share.filter(|share| *share > COALESCED);
        let chosen = match (coalesced, token_gaps) {
            (Some(share), _) => Err(format!(
                "{:.1} % of the events came in one read with the event before them, so their gaps are none in time",
                100.0 * share
            )),
            (None, Some(gaps)) => {
                self.smeared = !one_each && !gaps.is_empty();
                Ok(gaps)
            }
            (None, None) if one_each => Ok(self.icl.clone()),
            (None, None) => Err(self.tokens_per_chunk.map_or_else(
                || "the number of tokens per event is not known".to_owned(),
                |ratio| format!("a text event carries {ratio:.3} tokens on average, so gaps between events are not gaps between tokens"),
            )),
        };
        match chosen {
            Ok(gaps) => self.itl = gaps,
            Err(reason) => self.itl_hidden = Some(reason),
        }
    }

    fn sort(&mut self) {
        for sample in [
            &mut self.ttft,
            &mut self.service_ttft,
            &mut self.e2e,
            &mut self.service_e2e,
            &mut self.response,
            &mut self.tpot_all,
            &mut self.tpot,
            &mut self.finish_lag,
            &mut self.icl,
            &mut self.itl,
            &mut self.send_delay,
            &mut self.client_lag,
            &mut self.kernel_lag,
        ] {
            sample.sort_by(f64::total_cmp);
        }
    }

    /// The numbers, in the order in which they are listed.
    pub fn numbers(&self, token_source: &str, open_loop: bool) -> Vec<Number> {
        let mut numbers = Vec::new();
        let n = self.output_tokens.len() as u64;
        let sum: u64 = self.output_tokens.iter().copied().map(u64::from).sum();
        numbers.push(plain(
            Kind {
                name: "output_tokens_mean",
                unit: "tok",
                formula: "output_tokens_mean",
                source: token_source,
            },
            share(sum, n).ok_or_else(|| "no complete request has a token count".to_owned()),
            n,
            NO_MEAN_INTERVAL,
        ));
        family(&mut numbers, "ttft", &self.ttft, &self.ttft, "no request got a first token");
        let few =
            format!("none of {} complete requests has {TPOT_TOKENS} counted output tokens", self.successes);
        family(&mut numbers, "tpot", &self.tpot, &self.tpot_all, &few);
        let hidden = self.itl_hidden.as_deref().unwrap_or("no request has two events with tokens");
        family(&mut numbers, "itl", &self.itl, &self.itl, hidden);
        family(&mut numbers, "icl", &self.icl, &self.icl, "no request has two events with tokens");
        family(&mut numbers, "e2e", &self.e2e, &self.e2e, "no request got a token");
        if open_loop {
            family(&mut numbers, "response", &self.response, &self.response, "no request was complete");
        }
        for (name, formula, sorted, ppm) in [
            ("service_ttft_p50", "service_ttft_quantile", &self.service_ttft, 500_000),
            ("service_ttft_p95", "service_ttft_quantile", &self.service_ttft, 950_000),
            ("service_e2e_p50", "service_e2e_quantile", &self.service_e2e, 500_000),
            ("service_e2e_p95", "service_e2e_quantile", &self.service_e2e, 950_000),
            ("finish_lag_p50", "finish_lag_quantile", &self.finish_lag, 500_000),
        ] {
            numbers.push(quantile(Kind { name, unit: "s", formula, source: "client stamps" }, sorted, ppm));
        }
        let none = || "no request has two events with tokens".to_owned();
        for (name, unit, value) in [
            ("tokens_per_chunk", "tok", self.tokens_per_chunk),
            ("coalesced_share", "share", self.coalesced_share),
        ] {
            let kind = Kind { name, unit, formula: name, source: "client stamps" };
            numbers.push(plain(kind, value.ok_or_else(none), self.icl.len() as u64, "a count, not a sample"));
        }
        numbers
    }
}

/// Quantiles, mean and maximum of a family. The mean may rest on more requests than the quantiles.
fn family(numbers: &mut Vec<Number>, family: &str, sorted: &[f64], for_mean: &[f64], empty: &str) {
    let source = "client stamps";
    let (formula, mean_formula, max_formula) =
        (format!("{family}_quantile"), format!("{family}_mean"), format!("{family}_max"));
    for (suffix, ppm) in QUANTILES {
        let name = format!("{family}_{suffix}");
        let kind = Kind { name: &name, unit: "s", formula: &formula, source };
        let mut number = quantile(kind, sorted, ppm);
        if sorted.is_empty() {
            number.reason = Some(empty.to_owned());
        }
        numbers.push(number);
    }
    let mean = (!for_mean.is_empty()).then(|| for_mean.iter().sum::<f64>() / for_mean.len() as f64);
    for (formula, value, n, no_interval) in [
        (&mean_formula, mean, for_mean.len(), NO_MEAN_INTERVAL),
        (
            &max_formula,
            sorted.last().copied(),
            sorted.len(),
            "the largest of what was seen; nothing is inferred from it",
        ),
    ] {
        let kind = Kind { name: formula, unit: "s", formula, source };
        numbers.push(plain(kind, value.ok_or_else(|| empty.to_owned()), n as u64, no_interval));
    }
}

/// The one source of the cohort's token counts, as a number names it.
pub(crate) fn token_source(level: &LevelRecords<'_>) -> &'static str {
    let has = |source| level.successes().any(|request| request.token_source == source);
    match (has(TokenSource::Usage), has(TokenSource::TokenIds), has(TokenSource::Tokenizer)) {
        (true, _, true) => "server usage and tokenizer",
        (false, true, true) => "token ids and tokenizer",
        (false, false, true) => "tokenizer",
        (true, true, false) => "server usage and token ids",
        (false, true, false) => "token ids",
        (_, false, false) => "server usage",
    }
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

/// How late this client sent a request, nanoseconds. What it had to wait for is no lateness: neither the making of a
/// connection, which has stamps of its own, nor the cap on requests in flight, nor attempts that failed before.
fn lateness(request: &RequestRecord, timing: &Timing) -> Option<f64> {
    let connection = [request.conn.connect_ns, request.conn.tls_ns].into_iter().flatten();
    let connecting: f64 = connection.map(|part| part.0 as f64).sum();
    let delay = timing.send_delay.filter(|_| !request.capped && request.retries == 0)?;
    Some((delay - connecting).max(0.0))
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Request, ms};
    use plimsoll_record::{FailureKind, Outcome};

    fn latencies(records: &[RequestRecord]) -> Latencies {
        Latencies::of(&LevelRecords { cohort: records.iter().collect(), ..LevelRecords::new(1.into(), 0) })
    }

    fn number(latencies: &Latencies, name: &str) -> Number {
        latencies.numbers("server usage", false).into_iter().find(|number| number.name == name).unwrap()
    }

    #[test]
    fn several_tokens_per_chunk_hide_itl_and_leave_tpot() {
        let record = Request::new(0).tokens_at(&[100, 130, 160, 220]).output_tokens(6).build();
        let found = latencies(&[record]);
        assert!((found.tokens_per_chunk.unwrap() - 5.0 / 3.0).abs() < 1e-12);
        let itl = number(&found, "itl_max");
        assert_eq!(itl.value, None);
        assert!(itl.reason.unwrap().contains("1.667"));
        assert_eq!(number(&found, "icl_max").value, Some(0.06));
        assert!((number(&found, "tpot_mean").value.unwrap() - 0.024).abs() < 1e-12);
        assert!(number(&found, "tpot_max").reason.unwrap().contains("10 counted"));
    }

    #[test]
    fn one_token_per_chunk_makes_event_gaps_token_gaps() {
        let found = latencies(&[Request::new(0).tokens_at(&[10, 20, 40]).build()]);
        assert_eq!(number(&found, "itl_max").value, Some(0.02));
        let mut unknown = Request::new(0).tokens_at(&[10, 20, 40]).build();
        unknown.output_tokens = None;
        assert_eq!(number(&latencies(&[unknown]), "itl_max").value, None);
    }

    #[test]
    fn coalesced_events_hide_itl() {
        let record = Request::new(0).tokens_at(&[10, 10, 10, 40]).build();
        let found = latencies(&[record]);
        assert!((found.coalesced_share.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(number(&found, "itl_max").value, None);
    }

    #[test]
    fn failures_are_not_fast_successes() {
        let mut failed = Request::new(0).tokens_at(&[1, 2]).build();
        failed.outcome = Outcome::Failed { kind: FailureKind::Truncated, message: String::new() };
        let found = latencies(&[failed, Request::new(0).tokens_at(&[100, 200]).build()]);
        assert_eq!(found.ttft, [0.1]);
        assert_eq!(found.send_delay.len(), 2);
        assert_eq!(number(&found, "ttft_max").value, Some(0.1));
        assert_eq!(number(&found, "ttft_max").n, 1);
    }

    #[test]
    fn what_a_request_had_to_wait_for_is_no_lateness_of_this_client() {
        let late = |change: &dyn Fn(&mut RequestRecord)| {
            let mut record = Request::new(0).tokens_at(&[100, 200]).build();
            record.sent_ns = Some(ms(80));
            change(&mut record);
            latencies(&[record]).send_delay
        };
        assert_eq!(late(&|_| {}), [0.08]);
        let connected =
            late(&|record| (record.conn.connect_ns, record.conn.tls_ns) = (Some(ms(20)), Some(ms(55))));
        assert_eq!(connected, [0.005]);
        assert_eq!(late(&|record| record.conn.connect_ns = Some(ms(81))), [0.0]);
        assert!(
            late(&|record| record.retries = 1).is_empty() && late(&|record| record.capped = true).is_empty()
        );
    }
}
