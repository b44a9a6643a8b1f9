use crate::failure::Failure;
use clap::Args;
use plimsoll_record::{Endpoint, LengthLaw, Plan, Span};
use plimsoll_sweep::{demo_plan, read_plan};
use std::{fs, path::PathBuf};

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
#[command(next_help_heading = "Target")]
struct TargetFlags {
    /// Base address of the server, http only, with or without /v1 [default: the embedded mock].
    #[arg(long, value_name = "URL")]
    url: Option<Vec<String>>,
    /// Model name [default: the one that the server serves].
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Route that carries the load: chat or completions [default: chat].
    #[arg(long, value_name = "ROUTE")]
    endpoint: Option<Endpoint>,
    /// Name of the environment variable that holds the API key [default: no key].
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// Limit for a whole request; one that passes it has failed [default: 10m].
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
struct LoadFlags {
    /// Levels: requests in flight at once [default: 1,2,4,8,16,32].
    #[arg(long, visible_alias = "max-concurrency", value_name = "N,N,...", value_delimiter = ',')]
    concurrency: Option<Vec<u32>>,
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Threads that send [default: 1].
    #[arg(long, value_name = "N")]
    workers: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Prompts")]
struct PromptFlags {
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
    /// Address of the metrics page, or off [default: /metrics of the server].
    #[arg(long, value_name = "URL|off")]
    scrape: Option<String>,
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
        set(&mut plan.url, target.url.as_ref());
        given(&mut plan.model, target.model.as_ref());
        set(&mut plan.endpoint, target.endpoint.as_ref());
        given(&mut plan.api_key_env, target.api_key_env.as_ref());
        set(&mut plan.timeout, target.timeout.as_ref());
        set(&mut plan.concurrency, load.concurrency.as_ref());
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
        given(&mut plan.scrape, metrics.scrape.as_ref());
        set(&mut plan.scrape_interval, metrics.scrape_interval.as_ref());
        set(&mut plan.out, output.out.as_ref());
    }
}

fn set<T: Clone>(place: &mut T, flag: Option<&T>) {
    if let Some(value) = flag {
        place.clone_from(value);
    }
}

fn given<T: Clone>(place: &mut Option<T>, flag: Option<&T>) {
    if flag.is_some() {
        *place = flag.cloned();
    }
}

/// The demonstration's plan with the keys of the file over it.
fn over_demo(path: &std::path::Path) -> Result<Plan, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let mut plan = toml::Table::try_from(demo_plan()).map_err(|error| wrong(&error))?;
    let file: toml::Table = toml::from_str(&text).map_err(|error| wrong(&error))?;
    for (key, value) in file {
        match (plan.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => below.extend(above),
            (_, value) => drop(plan.insert(key, value)),
        }
    }
    plan.try_into().map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn flags(args: &[&str]) -> SweepFlags {
        let all = ["plimsoll", "sweep"].iter().chain(args);
        let Command::Sweep(flags) = Cli::try_parse_from(all).unwrap().command else { panic!("not sweep") };
        *flags
    }

    fn plan_file(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("plimsoll-{}-{name}.toml", std::process::id()));
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn without_an_address_the_demonstration_is_planned() {
        assert_eq!(flags(&[]).plan().unwrap(), demo_plan());
        assert_eq!(
            flags(&["--url", "http://h"]).plan().unwrap(),
            Plan { url: vec!["http://h".into()], ..Plan::default() }
        );
    }

    #[test]
    fn every_flag_reaches_its_key() {
        let plan = flags(&[
            "--url=http://h",
            "--model=m",
            "--endpoint=completions",
            "--concurrency=1,2",
            "--requests=40",
            "--warmup=3",
            "--repeats=2",
            "--input-tokens=256:50",
            "--output-tokens=200-300",
            "--prompts=p",
            "--system=s",
            "--temperature=0.7",
            "--seed=9",
            "--slo=ttft p95 < 1s",
            "--scrape=off",
            "--scrape-interval=1s",
            "--api-key-env=KEY",
            "--tokenizer=t.json",
            "--ignore-eos",
            "--timeout=5s",
            "--out=o",
            "--workers=2",
            "--min-window=7s",
        ])
        .plan()
        .unwrap();
        let expected = Plan {
            url: vec!["http://h".into()],
            model: Some("m".into()),
            endpoint: Endpoint::Completions,
            concurrency: vec![1, 2],
            requests: Some(40),
            duration: None,
            min_window: Span::from_millis(7000),
            warmup: Some(3),
            repeats: 2,
            input_tokens: LengthLaw::Normal { mean: 256, sd: 50 },
            output_tokens: LengthLaw::Uniform { low: 200, high: 300 },
            prompts: Some("p".into()),
            system: Some("s".into()),
            temperature: 0.7,
            seed: Some(9),
            slo: Some("ttft p95 < 1s".into()),
            scrape: Some("off".into()),
            scrape_interval: Span::from_millis(1000),
            api_key_env: Some("KEY".into()),
            tokenizer: Some("t.json".into()),
            ignore_eos: true,
            timeout: Span::from_millis(5000),
            workers: 2,
            out: "o".into(),
            mock: None,
            ..Plan::default()
        };
        assert_eq!(plan, expected);
    }

    #[test]
    fn names_of_vllm_s_benchmark_mean_the_same() {
        let theirs = flags(&[
            "--max-concurrency",
            "8",
            "--num-prompts",
            "200",
            "--random-input-len",
            "1000",
            "--random-output-len",
            "200",
        ]);
        let ours = flags(&[
            "--concurrency",
            "8",
            "--requests",
            "200",
            "--input-tokens",
            "1000",
            "--output-tokens",
            "200",
        ]);
        assert_eq!(theirs.plan().unwrap(), ours.plan().unwrap());
    }

    #[test]
    fn flags_go_over_the_file_and_the_file_over_the_demonstration() {
        let path = plan_file("layers", "requests = 5\nconcurrency = [3]\n[mock]\nmax-num-seqs = 2\n");
        let file = path.to_str().unwrap();
        let plan = flags(&["--plan", file, "--concurrency", "4"]).plan().unwrap();
        assert_eq!((plan.concurrency.as_slice(), plan.requests), (&[4][..], Some(5)));
        assert_eq!(plan.min_window, demo_plan().min_window);
        let mock = plan.mock.unwrap();
        assert_eq!((mock.max_num_seqs, mock.model.as_str()), (2, "mock"));
        let window = flags(&["--plan", file, "--duration", "9s"]).plan().unwrap();
        assert_eq!((window.requests, window.duration), (None, Some(Span::from_millis(9000))));
        let real = flags(&["--plan", file, "--url", "http://h"]).plan().unwrap();
        assert_eq!(real.min_window, Plan::default().min_window);
    }

    #[test]
    fn unknown_keys_are_a_usage_error() {
        let path = plan_file("unknown", "concurency = [3]\n");
        let failure = flags(&["--plan", path.to_str().unwrap()]).plan().unwrap_err();
        assert_eq!(failure.exit(), crate::Exit::Usage);
        assert!(failure.to_string().contains("concurency"), "{failure}");
    }
}
