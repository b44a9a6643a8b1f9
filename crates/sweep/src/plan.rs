//! Plans: read, completed, checked.

use crate::SweepError;
use plimsoll_driver::Cohort;
use plimsoll_metrics::{Objective, Slo};
use plimsoll_record::{MockEngine, Plan, SCRAPE_OFF, Span};
use std::{collections::BTreeSet, fs, path::Path};

/// Most slots of one level.
const MAX_LEVEL: u32 = 20_000;
/// Without `requests` and `duration`: the window spans this many request durations.
const DURATIONS: u32 = 10;
/// Without an SLO: the n from which p95 has an interval of 95 % (order statistics).
const DEFAULT_REQUESTS: u32 = 72;

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Every default spelled out, the added levels included.
    pub plan: Plan,
    /// What `slo` says.
    pub objectives: Vec<Objective>,
    /// Levels that were added because an objective names them.
    pub added_levels: Vec<u32>,
}

/// Reads a plan file.
pub fn read_plan(path: &Path) -> Result<Plan, SweepError> {
    let text = fs::read_to_string(path).map_err(|error| SweepError::read(path, &error))?;
    parse_plan(path, &text)
}

/// The plan in a file's text. The error is one line with the place.
pub(crate) fn parse_plan(path: &Path, text: &str) -> Result<Plan, SweepError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let place = before.map_or(String::new(), |before| {
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            format!(":{}:{column}", before.matches('\n').count() + 1)
        });
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        let message = match message.split_once(", expected one of `url`") {
            Some((unknown, _)) => {
                format!("{unknown}; the keys are the flags of `plimsoll sweep`, without dashes in front")
            }
            None => message,
        };
        SweepError::usage(format!("{}{place}: {message}", path.display()))
    })
}

/// The plan of the embedded demonstration: short requests and windows, frequent scrapes.
pub fn demo_plan() -> Plan {
    Plan {
        input_tokens: plimsoll_record::LengthLaw::Fixed(128),
        output_tokens: plimsoll_record::LengthLaw::Fixed(32),
        min_window: Span::from_millis(4_000),
        scrape_interval: Span::from_millis(100),
        mock: Some(MockEngine::default()),
        ..Plan::default()
    }
}

/// Checks a plan and completes it. `seed` is used when the plan has none.
pub fn resolve(mut plan: Plan, seed: u64) -> Result<Resolved, SweepError> {
    let refuse = |message: String| Err(SweepError::usage(message));
    let objectives = match &plan.slo {
        Some(text) => Slo::parse(text).map_err(|error| SweepError::usage(format!("--slo: {error}")))?,
        None => Vec::new(),
    };
    let mut levels: BTreeSet<u32> = plan.concurrency.iter().copied().collect();
    let asked = levels.clone();
    levels.extend(objectives.iter().flat_map(Objective::levels));
    if asked.is_empty() {
        return refuse("--concurrency: no level given; write for example 1,2,4,8".to_owned());
    }
    for level in &levels {
        if *level == 0 || *level > MAX_LEVEL {
            return refuse(format!("--concurrency: {level} is not between 1 and {MAX_LEVEL}"));
        }
    }
    if plan.requests == Some(0) {
        return refuse("--requests: 0 measures nothing; give at least 1".to_owned());
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
    if plan.scrape_interval.duration().as_millis() < 10 {
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
    if plan.scrape.as_deref().is_some_and(|url| url != SCRAPE_OFF && url.is_empty()) {
        return refuse("--scrape: empty; give the address of a metrics page, or off".to_owned());
    }
    if plan.url.is_empty() {
        let mock = plan.mock.get_or_insert_default();
        if mock.max_num_seqs == 0 || mock.block_size == 0 || mock.num_blocks == 0 {
            return refuse("[mock]: max-num-seqs, block-size and num-blocks must be at least 1".to_owned());
        }
        plan.model.get_or_insert_with(|| mock.model.clone());
    } else {
        plan.mock = None;
    }
    plan.seed.get_or_insert(seed);
    plan.concurrency = levels.iter().copied().collect();
    let added_levels = levels.difference(&asked).copied().collect();
    Ok(Resolved { plan, objectives, added_levels })
}

impl Resolved {
    /// Which requests of a level are measured.
    pub fn cohort(&self) -> Cohort {
        match (self.plan.requests, self.plan.duration) {
            (Some(n), _) => Cohort::Requests(n),
            (None, Some(duration)) => Cohort::Duration(duration.duration()),
            (None, None) => {
                Cohort::Rule { floor: self.floor(), requests: self.least_requests(), durations: DURATIONS }
            }
        }
    }

    /// The floor, or longer where twenty scrapes need it: a server verdict rests on no fewer.
    fn floor(&self) -> std::time::Duration {
        let scrapes = if self.plan.scrape.as_deref() == Some(SCRAPE_OFF) {
            std::time::Duration::ZERO
        } else {
            self.plan.scrape_interval.duration() * 21
        };
        self.plan.min_window.duration().max(scrapes)
    }

    /// The n below which the objectives cannot be passed.
    fn least_requests(&self) -> u32 {
        let needed = self.objectives.iter().map(least_n).max();
        needed.map_or(DEFAULT_REQUESTS, |n| n.max(DEFAULT_REQUESTS))
    }

    /// Warm-up requests at a level. The second of a slot is the first to meet a full queue, so the window opens after it.
    pub fn warmup(&self, level: u32) -> u32 {
        self.plan.warmup.unwrap_or_else(|| level.saturating_mul(2).max(4))
    }
}

/// Fewest requests with which an objective can pass: the smallest n with target^n <= 5 %, which is where the one-sided
/// Clopper-Pearson bound of n successes in n reaches the target.
fn least_n(objective: &Objective) -> u32 {
    let target = f64::from(objective.target_ppm()) / 1e6;
    let n = (0.05_f64.ln() / target.ln()).ceil();
    if n.is_finite() { n.clamp(1.0, 1e6) as u32 } else { 1_000_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = Plan::default();
        change(&mut plan);
        resolve(plan, 1).unwrap_err().to_string()
    }

    #[test]
    fn a_level_that_an_objective_names_is_added() {
        let plan = Plan { slo: Some("at 10: ttft p95 < 1s".into()), ..Plan::default() };
        let resolved = resolve(plan, 1).unwrap();
        assert_eq!(resolved.plan.concurrency, [1, 2, 4, 8, 10, 16, 32]);
        assert_eq!(resolved.added_levels, [10]);
    }

    #[test]
    fn a_resolved_plan_resolves_to_itself_and_survives_its_file() {
        let plan = Plan { slo: Some("at 10: ttft p95 < 1s".into()), ..demo_plan() };
        let once = resolve(plan, 7).unwrap().plan;
        let text = toml::to_string(&once).unwrap();
        let back: Plan = toml::from_str(&text).unwrap();
        assert_eq!(back, once);
        assert_eq!(resolve(back, 8).unwrap().plan, once);
    }

    #[test]
    fn bad_values_say_which_and_what_to_do() {
        assert!(error(|plan| plan.concurrency = vec![4, 0]).contains("--concurrency: 0"));
        assert!(error(|plan| plan.concurrency.clear()).contains("no level"));
        assert!(error(|plan| plan.requests = Some(0)).contains("--requests: 0"));
        assert!(error(|plan| plan.temperature = f64::NAN).contains("--temperature"));
        assert!(error(|plan| plan.slo = Some("at ten: ttft".into())).contains("--slo"));
        let both = |plan: &mut Plan| (plan.requests, plan.duration) = (Some(1), Some(Span::from_millis(1)));
        assert!(error(both).contains("exclude each other"));
    }

    #[test]
    fn the_least_n_of_an_objective() {
        for (slo, n) in [("ttft p90 < 1s", 29), ("ttft p95 < 1s", 59), ("ttft p99 < 1s", 299)] {
            assert_eq!(least_n(&Slo::parse(slo).unwrap()[0]), n, "{slo}");
        }
    }

    #[test]
    fn unknown_keys_are_named_with_their_place() {
        let error = |text| parse_plan(Path::new("p.toml"), text).unwrap_err().to_string();
        assert_eq!(
            error("requests = 4\nconcurency = [1]\n"),
            "p.toml:2:1: unknown field `concurency`; the keys are the flags of `plimsoll sweep`, without dashes in front"
        );
        assert!(error("# é\ninput-tokens = \"9-1\"\n").starts_with("p.toml:2:16: `9-1` is not a length"));
        assert!(error("a = [").starts_with("p.toml:1:") && !error("a = [").contains('\n'));
    }
}
