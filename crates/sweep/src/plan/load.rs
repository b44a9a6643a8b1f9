//! The load of a plan: its levels, its length, its limits.

use crate::SweepError;
use plimsoll_record::{Arrivals, Level, Plan, Rate, SCRAPE_OFF, Span};
use plimsoll_workload::ArrivalTimes;
use std::collections::BTreeSet;

/// Most slots of one level, and most requests in flight of an open loop's cap.
const MAX_LEVEL: u32 = 20_000;
/// Most requests that a count asks of a level: their records and arrivals are held in memory.
const MAX_REQUESTS: u32 = 10_000_000;
/// Most retries of one request.
const MAX_RETRIES: u32 = 10;

/// A plan with rates has no levels of concurrency unless it names some: the default is a closed loop's.
pub fn of_one_kind(mut plan: Plan) -> Plan {
    if !plan.rate.is_empty() && plan.concurrency == Plan::default().concurrency {
        plan.concurrency.clear();
    }
    plan
}

/// Sorts the levels, adds those that the objectives name, and returns the added ones.
pub fn complete_levels(plan: &mut Plan, named: &[Level]) -> Result<Vec<Level>, SweepError> {
    let asked: BTreeSet<Level> = plan.levels().into_iter().collect();
    if asked.is_empty() {
        return Err(SweepError::usage(
            "--concurrency: no level given; write for example 1,2,4,8, or rates with --rate 1,2,4",
        ));
    }
    if !plan.concurrency.is_empty() && !plan.rate.is_empty() {
        return Err(SweepError::usage(
            "--rate and --concurrency exclude each other: rates are an open loop, requests in flight a closed one; \
             give one of them",
        ));
    }
    let open = !plan.rate.is_empty();
    if let Some(other) = named.iter().find(|level| level.is_open_loop() != open) {
        let (this, how) =
            if open { ("rates", "\"at 2.5/s: ...\"") } else { ("requests in flight", "\"at 8: ...\"") };
        return Err(SweepError::usage(format!(
            "--slo: the objective names {}, and the plan's levels are {this}; write for example {how}",
            other.words()
        )));
    }
    let all: BTreeSet<Level> = asked.iter().chain(named).copied().collect();
    for slots in all.iter().filter_map(|level| level.concurrency()) {
        if slots == 0 || slots > MAX_LEVEL {
            return Err(SweepError::usage(format!(
                "--concurrency: {slots} is not between 1 and {MAX_LEVEL}"
            )));
        }
    }
    plan.concurrency = all.iter().filter_map(|level| level.concurrency()).collect();
    plan.rate = all.iter().filter_map(|level| level.rate()).collect();
    Ok(all.difference(&asked).copied().collect())
}

/// Checks everything else that says what is sent, and for how long.
pub fn check(plan: &Plan) -> Result<(), SweepError> {
    let refuse = |message: String| Err(SweepError::usage(message));
    if plan.requests == Some(0) {
        return refuse("--requests: 0 measures nothing; give at least 1".to_owned());
    }
    for (name, count) in [("--requests", plan.requests), ("--warmup", plan.warmup)] {
        if let Some(count) = count.filter(|count| *count > MAX_REQUESTS) {
            return refuse(format!("{name}: {count} is more than a level can hold; at most {MAX_REQUESTS}"));
        }
    }
    if plan.requests.is_some() && plan.duration.is_some() {
        return refuse(
            "--requests and --duration exclude each other: one fixes the cohort, the other the window"
                .to_owned(),
        );
    }
    for (name, span) in [
        ("--duration", plan.duration),
        ("--timeout", Some(plan.timeout)),
        ("--scrape-interval", Some(plan.scrape_interval)),
    ] {
        if span.is_some_and(|span| span.nanos() == 0) {
            return refuse(format!("{name}: must be longer than 0"));
        }
    }
    if plan.scrape.as_deref() != Some(SCRAPE_OFF) && plan.scrape_interval.duration().as_millis() < 10 {
        return refuse("--scrape-interval: shorter than 10ms, which would load the server itself".to_owned());
    }
    if plan.repeats == 0 {
        return refuse("--repeats: must be at least 1".to_owned());
    }
    if plan.workers == 0 || plan.workers > 256 {
        return refuse("--workers: must be between 1 and 256".to_owned());
    }
    if !(0.0..=2.0).contains(&plan.temperature) {
        return refuse(format!("--temperature: {} is not between 0 and 2", plan.temperature));
    }
    if plan.retries > MAX_RETRIES {
        return refuse(format!("--retries: more than {MAX_RETRIES} would hide a server that is down"));
    }
    check_arrivals(plan)
}

fn check_arrivals(plan: &Plan) -> Result<(), SweepError> {
    let refuse = |message: String| Err(SweepError::usage(message));
    let open = !plan.rate.is_empty();
    if !open && plan.arrivals != Plan::default().arrivals {
        return refuse(format!(
            "--arrivals {}: a closed loop has no arrivals of its own; give the rates with --rate",
            plan.arrivals
        ));
    }
    match plan.cap {
        Some(_) if !open => {
            return refuse(
                "--cap: bounds an open loop, which --rate asks for; in a closed loop --concurrency is the bound"
                    .to_owned(),
            );
        }
        Some(cap) if cap == 0 || cap > MAX_LEVEL => {
            return refuse(format!("--cap: {cap} is not between 1 and {MAX_LEVEL}"));
        }
        _ => {}
    }
    if let Arrivals::Ramp { from, .. } = plan.arrivals {
        if plan.duration.is_none() {
            return refuse(
                "--arrivals ramp: needs --duration, the window over which the rate changes; write for example \
                 --duration 60s"
                    .to_owned(),
            );
        }
        if plan.rate.contains(&from) {
            return refuse(format!(
                "--arrivals ramp: it begins at {from}/s and ends there; give another --rate"
            ));
        }
    }
    too_fast(plan)?;
    let window = plan.duration.map(Span::duration);
    for rate in &plan.rate {
        if let Err(error) = ArrivalTimes::new(plan.arrivals, *rate, 0, window, 0, 0) {
            return refuse(format!("--arrivals {}: at {rate}/s {error}", plan.arrivals));
        }
    }
    Ok(())
}

/// Most requests per second that one thread can be asked to send.
const MAX_RATE: f64 = 100_000.0;

fn too_fast(plan: &Plan) -> Result<(), SweepError> {
    let start = match &plan.arrivals {
        Arrivals::Ramp { from, .. } => Some(*from),
        _ => None,
    };
    let rates = plan.rate.iter().copied().chain(start);
    match rates.map(Rate::per_second).find(|rate| *rate > MAX_RATE) {
        Some(rate) => Err(SweepError::usage(format!(
            "--rate: {rate} requests per second is more than this client can send; at most {MAX_RATE}"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve;
    use super::*;

    fn open(change: impl FnOnce(&mut Plan)) -> Result<Plan, String> {
        let rate = vec![Rate::new(4.0).unwrap(), Rate::new(1.0).unwrap()];
        let mut plan = Plan { rate, ..Plan::default() };
        change(&mut plan);
        resolve(plan, 1).map(|resolved| resolved.plan).map_err(|error| error.to_string())
    }

    #[test]
    fn what_no_machine_can_hold_or_send_is_refused() {
        let error = |change: fn(&mut Plan)| open(change).unwrap_err();
        assert!(error(|plan| plan.requests = Some(u32::MAX)).starts_with("--requests: 4294967295 is more"));
        assert!(error(|plan| plan.warmup = Some(10_000_001)).starts_with("--warmup: 10000001 is more"));
        assert!(open(|plan| plan.warmup = Some(10_000_000)).is_ok());
        let ramp = error(|plan| {
            plan.arrivals = "ramp:1000000".parse().unwrap();
            plan.duration = Some(Span::from_millis(1000));
        });
        assert!(ramp.starts_with("--rate: 1000000 requests per second is more"), "{ramp}");
    }

    #[test]
    fn rates_take_the_place_of_the_default_levels() {
        let plan = open(|_| {}).unwrap();
        assert_eq!(plan.concurrency, [0_u32; 0]);
        assert_eq!(plan.rate, [Rate::new(1.0).unwrap(), Rate::new(4.0).unwrap()], "rising");
        let text = toml::to_string(&plan).unwrap();
        let back = super::super::parse_plan(std::path::Path::new("p"), &text).unwrap();
        assert_eq!(back, plan);
    }

    #[test]
    fn an_open_loop_s_keys_need_one_and_its_levels_are_of_one_kind() {
        let error = |change: fn(&mut Plan)| open(change).unwrap_err();
        assert!(error(|plan| plan.concurrency = vec![3]).contains("exclude each other"));
        assert!(error(|plan| plan.cap = Some(0)).contains("--cap: 0"));
        assert!(error(|plan| plan.rate = vec![Rate::new(5e5).unwrap()]).contains("--rate: 500000"));
        let ramp = |plan: &mut Plan| plan.arrivals = "ramp:2".parse().unwrap();
        assert!(error(ramp).contains("needs --duration"));
        let timed = |plan: &mut Plan| {
            (plan.arrivals, plan.duration) = ("ramp:2".parse().unwrap(), Some(Span::from_millis(9)));
        };
        assert!(open(timed).is_ok());
        let short = error(|plan| plan.arrivals = "on-off:2/1,1us,1us".parse().unwrap());
        assert!(short.starts_with("--arrivals on-off:2/1,1us,1us: at 1/s the states"), "{short}");
        let level = |plan: &mut Plan| {
            (plan.arrivals, plan.duration) = ("ramp:4".parse().unwrap(), Some(Span::from_millis(9)));
        };
        assert!(error(level).contains("begins at 4/s and ends there"));
        let closed = |change: fn(&mut Plan)| {
            let mut plan = Plan::default();
            change(&mut plan);
            resolve(plan, 1).unwrap_err().to_string()
        };
        assert!(closed(|plan| plan.cap = Some(4)).contains("--rate asks for"));
        assert!(closed(|plan| plan.arrivals = Arrivals::Gamma(0.5)).contains("gamma:0.5: a closed loop"));
        assert!(closed(|plan| plan.retries = 11).contains("--retries"));
    }
}
