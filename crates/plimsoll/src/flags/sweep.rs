use super::{TargetFlags, given, levels, set};
use crate::failure::Failure;
use clap::Args;
use plimsoll_record::{Arrivals, Endpoint, LengthLaw, Plan, Rate, Span};
use plimsoll_sweep::{SMALL, demo_plan, read_plan, read_text};
use std::path::PathBuf;

/// Flags of `sweep`: all optional, since a plan file may hold them.
#[derive(Debug, Args)]
pub struct SweepFlags {
    /// Take what no flag says from this plan file; every run folder has one.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    prompts: PromptFlags,
    #[command(flatten)]
    judgement: JudgementFlags,
    #[command(flatten)]
    metrics: MetricsFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
struct LoadFlags {
    /// Closed loop: levels of requests in flight at once [default: 1,2,4,8,16,32].
    #[arg(long, visible_alias = "max-concurrency", value_name = "N,N,...", value_delimiter = ',', value_parser = levels::concurrency)]
    concurrency: Option<Vec<u32>>,
    /// Open loop instead: levels of arrivals per second, whatever the server does.
    #[arg(long, visible_alias = "request-rate", value_name = "R,R,...", value_delimiter = ',', value_parser = levels::rate, conflicts_with = "concurrency")]
    rate: Option<Vec<Rate>>,
    /// Arrivals of an open loop: constant, poisson, gamma:B, weibull:K, on-off:HIGH/LOW,ON,OFF or
    /// ramp:FROM[:exponential] [default: poisson].
    #[arg(long, value_name = "PROCESS")]
    arrivals: Option<Arrivals>,
    /// The same as --arrivals gamma:B, as vllm bench serve has it.
    #[arg(long, value_name = "B", value_parser = levels::burstiness, conflicts_with = "arrivals")]
    burstiness: Option<Arrivals>,
    /// Most requests in flight in an open loop; if one must wait for it, the level is no open loop and is flagged
    /// [default: none].
    #[arg(long, value_name = "N")]
    cap: Option<u32>,
    /// Measured requests per level [default: as many as the window holds].
    #[arg(long, visible_alias = "num-prompts", value_name = "N")]
    requests: Option<u32>,
    /// Length of the measured window per level, instead of --requests.
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Shortest window, with neither of the two [default: 30s; mock: 4s].
    #[arg(long, value_name = "TIME")]
    min_window: Option<Span>,
    /// Warm-up requests per level, not measured [default: two per slot, at least 4].
    #[arg(long, value_name = "N")]
    warmup: Option<u32>,
    /// How often each level is run [default: 1].
    #[arg(long, value_name = "N")]
    repeats: Option<u32>,
    /// Seed of everything that is drawn [default: drawn, and written down].
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = clap::builder::RangedI64ValueParser::<u64>::new().range(0..))]
    seed: Option<u64>,
    /// Threads that send [default: 1].
    #[arg(long, value_name = "N")]
    workers: Option<u32>,
    /// Limit for a whole request, retries included; one that passes it has failed [default: 10m].
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// How often a request that failed before any event is sent again; counted and shown [default: 0].
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Prompts")]
struct PromptFlags {
    /// Route that carries the load: chat, completions, responses or messages [default: chat].
    #[arg(long, value_name = "ROUTE")]
    endpoint: Option<Endpoint>,
    /// Prompt length, tokens [default: 256; mock: 128].
    #[arg(long, visible_alias = "random-input-len", value_name = "LENGTH")]
    input_tokens: Option<LengthLaw>,
    /// Most tokens of an answer, its `max_tokens` [default: 128; mock: 32].
    #[arg(long, visible_alias = "random-output-len", value_name = "LENGTH")]
    output_tokens: Option<LengthLaw>,
    /// Prompts: a .txt with one a line, or JSON Lines with `prompt` or `messages` [default: generated].
    #[arg(long, value_name = "FILE")]
    prompts: Option<PathBuf>,
    /// File with a system prompt that all requests share [default: none].
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,
    /// A tokenizer.json: prompts of exact length, token counts where the server sends none [default: none].
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// Sampling temperature [default: 0].
    #[arg(long, value_name = "T")]
    temperature: Option<f64>,
    /// Ask the server to generate all of --output-tokens [default: false].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ignore_eos: Option<bool>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Judgement")]
struct JudgementFlags {
    /// Objective: "at 10: ttft p95 < 1s, tpot p95 < 50ms"; without "at N:" all levels are judged; several parted by `;`
    /// [default: none].
    #[arg(long, value_name = "SENTENCE")]
    slo: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Server metrics")]
struct MetricsFlags {
    /// Time between two scrapes [default: 500ms; mock: 100ms].
    #[arg(long, value_name = "TIME")]
    scrape_interval: Option<Span>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputFlags {
    /// Where the run folder is made [default: runs].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl SweepFlags {
    /// Defaults, then the plan file, then the flags. Without an address in either, the defaults are the demonstration's.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let mut plan = match &self.plan {
            Some(path) => read_plan(path)?,
            None => Plan::default(),
        };
        if plan.url.is_empty() && self.target.url.is_none() {
            plan = match &self.plan {
                Some(path) => over_demo(path)?,
                None => demo_plan(),
            };
        }
        self.apply(&mut plan);
        Ok(plan)
    }

    fn apply(&self, plan: &mut Plan) {
        let Self { plan: _, target, load, prompts, judgement, metrics, output } = self;
        // One of the two says how long a level is; a flag takes the place of either in the plan.
        if load.requests.is_some() || load.duration.is_some() {
            (plan.requests, plan.duration) = (load.requests, load.duration);
        }
        // Levels are of one kind: those of a flag take the place of the plan's, whichever it has.
        if load.concurrency.is_some() || load.rate.is_some() {
            plan.concurrency = load.concurrency.clone().unwrap_or_default();
            plan.rate = load.rate.clone().unwrap_or_default();
        }
        target.apply(plan);
        set(&mut plan.endpoint, prompts.endpoint.as_ref());
        set(&mut plan.timeout, load.timeout.as_ref());
        set(&mut plan.retries, load.retries.as_ref());
        set(&mut plan.arrivals, load.arrivals.as_ref().or(load.burstiness.as_ref()));
        given(&mut plan.cap, load.cap.as_ref());
        set(&mut plan.min_window, load.min_window.as_ref());
        given(&mut plan.warmup, load.warmup.as_ref());
        set(&mut plan.repeats, load.repeats.as_ref());
        given(&mut plan.seed, load.seed.as_ref());
        set(&mut plan.workers, load.workers.as_ref());
        set(&mut plan.input_tokens, prompts.input_tokens.as_ref());
        set(&mut plan.output_tokens, prompts.output_tokens.as_ref());
        given(&mut plan.prompts, prompts.prompts.as_ref());
        given(&mut plan.system, prompts.system.as_ref());
        given(&mut plan.tokenizer, prompts.tokenizer.as_ref());
        set(&mut plan.temperature, prompts.temperature.as_ref());
        set(&mut plan.ignore_eos, prompts.ignore_eos.as_ref());
        given(&mut plan.slo, judgement.slo.as_ref());
        set(&mut plan.scrape_interval, metrics.scrape_interval.as_ref());
        set(&mut plan.out, output.out.as_ref());
    }
}

/// The demonstration's plan with the keys of the file over it.
fn over_demo(path: &std::path::Path) -> Result<Plan, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let text = read_text(path, SMALL).map_err(|error| wrong(&error))?;
    let mut plan = toml::Table::try_from(demo_plan()).map_err(|error| wrong(&error))?;
    let file: toml::Table = toml::from_str(&text).map_err(|error| wrong(&error))?;
    // A plan of rates has none of the demonstration's levels.
    if file.contains_key("rate") {
        plan.insert("concurrency".to_owned(), toml::Value::Array(Vec::new()));
    }
    for (key, value) in file {
        match (plan.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => below.extend(above),
            (_, value) => drop(plan.insert(key, value)),
        }
    }
    plan.try_into().map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests;
