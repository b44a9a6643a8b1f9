use super::{CheckLoad, CheckOptions, CheckRow, CheckSpread, CheckTokens};
use crate::{SweepError, preflight::Server, template::Template};
use bytes::Bytes;
use plimsoll_record::{Endpoint, FailureKind, Nanos, Outcome};
use plimsoll_transport::{Clock, Limits, Slot, Trace};
use plimsoll_workload::Prompt;
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::Duration,
};
use tokio::task::LocalSet;

/// One request of the load.
struct Ended {
    due: Nanos,
    trace: Trace,
}

/// Runs the load: as many slots as asked for, each sending its next request when the last one has ended.
pub async fn run(
    server: &Server,
    options: &CheckOptions,
    template: &Template,
) -> Result<CheckLoad, SweepError> {
    let endpoint = template.endpoint;
    let template = Template { temperature: options.temperature, ..template.clone() };
    let body = |number| template.whole(&prompt(number), options.output_tokens);
    let bodies: Rc<Vec<Bytes>> = Rc::new((1..=options.requests).map(body).collect());
    let next = Rc::new(Cell::new(0_usize));
    let ended = Rc::new(RefCell::new(Vec::new()));
    let limits = Limits { stream: false, ..Limits::default() };
    let clock = Clock::start();
    let local = LocalSet::new();
    for _ in 0..options.concurrency.min(options.requests) {
        let path = server.path(endpoint.path());
        let mut slot =
            Slot::new(server.dial.clone(), server.head.clone(), &path, limits).map_err(SweepError::other)?;
        // A connection that cannot be opened now is tried again, and counted, by the slot's first request.
        let _ = tokio::time::timeout(options.plan.timeout.duration(), slot.connect()).await;
        let (bodies, next, ended) = (Rc::clone(&bodies), Rc::clone(&next), Rc::clone(&ended));
        let limit = options.plan.timeout.duration();
        local.spawn_local(async move {
            while let Some(body) = bodies.get(next.replace(next.get() + 1)) {
                let request = send(&mut slot, body.clone(), clock, limit).await;
                ended.borrow_mut().push(request);
            }
        });
    }
    local.await;
    let ended = ended.take();
    Ok(figures(&ended, options.concurrency, endpoint))
}

fn prompt(number: u32) -> Prompt {
    Prompt::user(format!("Question {number}: describe in a few sentences how a cargo ship is loaded."))
}

async fn send(slot: &mut Slot, body: Bytes, clock: Clock, limit: Duration) -> Ended {
    let due = clock.now();
    let mut trace = Trace::default();
    if tokio::time::timeout(limit, slot.post(body, clock, &mut trace)).await.is_err() {
        slot.cut_off(
            clock,
            &mut trace,
            FailureKind::Timeout,
            &format!("no complete answer within {limit:?}"),
        );
    }
    trace.end.get_or_insert_with(|| clock.now());
    Ended { due, trace }
}

fn figures(requests: &[Ended], concurrency: u32, endpoint: Endpoint) -> CheckLoad {
    let time = |request: &Ended| (request.trace.end.unwrap_or(request.due) - request.due).as_secs_f64();
    let first = requests.iter().map(|request| request.due).min().unwrap_or_default();
    let last = requests.iter().filter_map(|request| request.trace.end).max().unwrap_or_default();
    let wall_s = (last - first).as_secs_f64();
    let per_second = |count: f64| if wall_s > 0.0 { count / wall_s } else { 0.0 };
    let ok: Vec<&Ended> =
        requests.iter().filter(|request| request.trace.outcome == Some(Outcome::Ok)).collect();
    let mut failures = BTreeMap::new();
    for request in requests {
        if let Some(Outcome::Failed { kind, .. }) = &request.trace.outcome {
            *failures.entry(kind.name().to_owned()).or_insert(0) += 1;
        }
    }
    let tokens: Option<Vec<u32>> = ok.iter().map(|request| request.trace.output_tokens).collect();
    let tokens = tokens.filter(|tokens| !tokens.is_empty());
    let total = tokens.as_ref().map(|tokens| tokens.iter().map(|tokens| f64::from(*tokens)).sum::<f64>());
    let mut times: Vec<f64> = ok.iter().map(|request| time(request)).collect();
    times.sort_by(f64::total_cmp);
    CheckLoad {
        route: endpoint.path().to_owned(),
        requests: requests.len() as u32,
        concurrency,
        ok: ok.len() as u32,
        failures,
        wall_s,
        req_s: per_second(ok.len() as f64),
        in_flight: per_second(requests.iter().map(time).sum()),
        tokens_per_response: tokens.as_ref().zip(total).map(|(tokens, total)| CheckTokens {
            mean: total / tokens.len() as f64,
            min: tokens.iter().copied().min().unwrap_or_default(),
            max: tokens.iter().copied().max().unwrap_or_default(),
        }),
        output_tok_s: total.map(per_second),
        e2e: CheckSpread::of(&times),
    }
}

/// The load in a row.
pub fn row(load: &CheckLoad) -> CheckRow {
    let name = "small load";
    let text = format!("{} of {} requests complete, {} at once", load.ok, load.requests, load.concurrency);
    if load.ok == load.requests {
        CheckRow::pass(name, text)
    } else if load.ok == 0 {
        CheckRow::fail(name, text)
    } else {
        CheckRow::warn(name, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(due_ms: u64, end_ms: u64, outcome: Outcome, tokens: Option<u32>) -> Ended {
        let trace = Trace {
            end: Some(Nanos::from_millis(end_ms)),
            output_tokens: tokens,
            outcome: Some(outcome),
            ..Trace::default()
        };
        Ended { due: Nanos::from_millis(due_ms), trace }
    }

    /// Two slots: three requests of 1 s end to end on one, one of 3 s that fails on the other.
    #[test]
    fn rates_are_over_the_wall_and_failures_have_no_part_in_them() {
        let failed = Outcome::Failed { kind: FailureKind::Timeout, message: String::new() };
        let requests = [
            ended(500, 1500, Outcome::Ok, Some(90)),
            ended(1500, 2500, Outcome::Ok, Some(110)),
            ended(2500, 3500, Outcome::Ok, Some(100)),
            ended(500, 3500, failed, Some(7)),
        ];
        let load = figures(&requests, 2, Endpoint::Completions);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(load.wall_s, 3.0) && close(load.req_s, 1.0) && close(load.in_flight, 2.0), "{load:?}");
        assert!(load.output_tok_s.is_some_and(|rate| close(rate, 100.0)));
        assert_eq!(load.tokens_per_response, Some(CheckTokens { mean: 100.0, min: 90, max: 110 }));
        assert_eq!((load.ok, load.failures.get("timeout")), (3, Some(&1)));
        assert!(load.e2e.is_some_and(|e2e| close(e2e.mean, 1.0) && e2e.p99.value.is_none()));
    }

    #[test]
    fn one_answer_without_usage_leaves_the_tokens_unknown() {
        let requests = [ended(0, 1, Outcome::Ok, Some(9)), ended(0, 1, Outcome::Ok, None)];
        let load = figures(&requests, 2, Endpoint::Completions);
        assert_eq!((load.tokens_per_response, load.output_tok_s), (None, None));
        assert_eq!(figures(&[], 2, Endpoint::Chat).e2e, None);
    }
}
