//! Plans: read, completed, checked.

mod load;
mod target;

pub use target::check_target;

use crate::{
    SweepError,
    bounded::{SMALL, read_text},
};
use plimsoll_driver::Cohort;
use plimsoll_metrics::{Objective, Slo};
use plimsoll_record::{Level, MockEngine, Plan, SCRAPE_OFF, Span};
use std::{path::Path, time::Duration};

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
    pub added_levels: Vec<Level>,
}

/// Reads a plan file.
pub fn read_plan(path: &Path) -> Result<Plan, SweepError> {
    let text = read_text(path, SMALL).map_err(|error| SweepError::read(path, &error))?;
    parse_plan(path, &text)
}

/// The plan in a file's text. The error is one line with the place.
pub(crate) fn parse_plan(path: &Path, text: &str) -> Result<Plan, SweepError> {
    let plan = toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let place = before.map_or(String::new(), |before| {
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            format!(":{}:{column}", before.matches('\n').count() + 1)
        });
        let message = without_value(&error.message().split_whitespace().collect::<Vec<_>>().join(" "));
        let message = match message.split_once(", expected one of `url`") {
            Some((unknown, _)) => {
                format!("{unknown}; the keys are the flags of `plimsoll sweep`, without dashes in front")
            }
            None => message,
        };
        SweepError::usage(format!("{}{place}: {message}", path.display()))
    });
    let plan: Plan = plan?;
    if let Some(key) = empty_list(text) {
        return Err(SweepError::usage(format!(
            "{}: {key} = [] names nothing; leave the key out, or give at least one",
            path.display()
        )));
    }
    Ok(load::of_one_kind(plan))
}

/// The first key of the plan whose list is empty: no list and an empty one would mean the same, which nobody intends.
fn empty_list(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    let empty = |value: &toml::Value| value.as_array().is_some_and(Vec::is_empty);
    table.into_iter().find_map(|(key, value)| empty(&value).then_some(key))
}

/// A message about a value of the wrong type without the value, which may be a key or a password.
fn without_value(message: &str) -> String {
    for opening in ["invalid type: string ", "invalid value: string "] {
        if let Some((before, rest)) = message.split_once(opening)
            && let Some((_, expected)) = rest.rsplit_once(", expected ")
        {
            return format!("{before}{}, expected {expected}", opening.trim_end());
        }
    }
    message.to_owned()
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
pub fn resolve(plan: Plan, seed: u64) -> Result<Resolved, SweepError> {
    let mut plan = load::of_one_kind(plan);
    let objectives = match &plan.slo {
        Some(text) => Slo::parse(text).map_err(|error| SweepError::usage(format!("--slo: {error}")))?,
        None => Vec::new(),
    };
    check_target(&plan)?;
    let named: Vec<Level> = objectives.iter().flat_map(Objective::levels).collect();
    let added_levels = load::complete_levels(&mut plan, &named)?;
    load::check(&plan)?;
    if plan.url.is_empty() {
        let mock = plan.mock.get_or_insert_default();
        if mock.max_num_seqs == 0 || mock.block_size == 0 || mock.num_blocks == 0 {
            return Err(SweepError::usage(
                "[mock]: max-num-seqs, block-size and num-blocks must be at least 1",
            ));
        }
        plan.model.get_or_insert_with(|| mock.model.clone());
    } else {
        plan.mock = None;
    }
    plan.seed.get_or_insert(seed);
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
    fn floor(&self) -> Duration {
        let scrapes = if self.plan.scrape.as_deref() == Some(SCRAPE_OFF) {
            Duration::ZERO
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

    /// Warm-up requests at a level, when one request takes about `typical`. The second of a slot is the first to meet a
    /// full queue, so the window opens after it; in an open loop as many arrive within two requests' time.
    pub fn warmup(&self, level: Level, typical: Duration) -> u32 {
        let rule = match level {
            Level::Concurrency(slots) => slots.saturating_mul(2),
            Level::Rate(rate) => (2.0 * rate.per_second() * typical.as_secs_f64()).ceil() as u32,
        };
        self.plan.warmup.unwrap_or_else(|| rule.max(4))
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

    fn parsed(text: &str) -> Result<Plan, String> {
        parse_plan(Path::new("p.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_list_is_no_list() {
        for key in ["url", "concurrency", "rate", "header"] {
            let error = parsed(&format!("seed = 1\n{key} = []")).unwrap_err();
            assert!(error.starts_with(&format!("p.toml: {key} = [] names nothing")), "{error}");
        }
        assert!(parsed("concurrency = [1]").is_ok());
        assert!(parsed("").is_ok());
    }

    #[test]
    fn a_value_of_the_wrong_type_is_not_repeated() {
        let error = parsed("url = \"http://u:secret@h/v1?key=secret, expected x\"").unwrap_err();
        assert!(!error.contains("secret") && error.contains("expected a sequence"), "{error}");
        let error = parsed("requests = \"secret\"").unwrap_err();
        assert!(!error.contains("secret") && error.contains("expected u32"), "{error}");
    }

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
        assert_eq!(resolved.added_levels, [Level::Concurrency(10)]);
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
