use super::{TargetFlags, given, levels, set};
use crate::failure::Failure;
use clap::Args;
use plimsoll_record::{Arrivals, Endpoint, LengthLaw, Plan, Rate, Span};
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
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
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
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
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use plimsoll_record::{HttpVersion, Redirects};

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
            "--url=https://h,https://i",
            "--url=https://j",
            "--model=m",
            "--endpoint=messages",
            "--rate=1,2.5",
            "--arrivals=weibull:0.7",
            "--cap=64",
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
            "--api-key-file=k",
            "--header=X-A: 1, 2",
            "--header",
            "X-B: env:B",
            "--ca-file=ca",
            "--client-cert=c",
            "--client-key=ck",
            "--insecure",
            "--http=2",
            "--unix-socket=/s",
            "--proxy=http://p",
            "--redirects=same-host",
            "--retries=2",
            "--tokenizer=t.json",
            "--ignore-eos",
            "--timeout=5s",
            "--connect-timeout=1s",
            "--first-token-timeout=2s",
            "--idle-timeout=3s",
            "--out=o",
            "--workers=2",
            "--min-window=7s",
        ])
        .plan()
        .unwrap();
        // Without `..`: a new key needs its flag here.
        let expected = Plan {
            url: ["https://h", "https://i", "https://j"].map(Into::into).into(),
            model: Some("m".into()),
            endpoint: Endpoint::Messages,
            concurrency: Vec::new(),
            rate: vec![Rate::new(1.0).unwrap(), Rate::new(2.5).unwrap()],
            arrivals: Arrivals::Weibull(0.7),
            cap: Some(64),
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
            api_key_env: None,
            api_key_file: Some("k".into()),
            header: vec!["X-A: 1, 2".into(), "X-B: env:B".into()],
            ca_file: Some("ca".into()),
            client_cert: Some("c".into()),
            client_key: Some("ck".into()),
            insecure: true,
            http: HttpVersion::Two,
            unix_socket: Some("/s".into()),
            proxy: Some("http://p".into()),
            redirects: Redirects::SameHost,
            retries: 2,
            tokenizer: Some("t.json".into()),
            ignore_eos: true,
            timeout: Span::from_millis(5000),
            connect_timeout: Span::from_millis(1000),
            first_token_timeout: Some(Span::from_millis(2000)),
            idle_timeout: Span::from_millis(3000),
            workers: 2,
            out: "o".into(),
            mock: None,
        };
        assert_eq!(plan, expected);
        let closed = flags(&["--url=http://h", "--concurrency=1,2", "--api-key-env=KEY", "--duration=9s"]);
        let expected = Plan {
            url: vec!["http://h".into()],
            concurrency: vec![1, 2],
            api_key_env: Some("KEY".into()),
            duration: Some(Span::from_millis(9000)),
            ..Plan::default()
        };
        assert_eq!(closed.plan().unwrap(), expected);
    }

    #[test]
    fn flags_that_exclude_each_other() {
        for args in [
            &["--rate=1", "--concurrency=1"][..],
            &["--arrivals=poisson", "--burstiness=1"],
            &["--api-key-env=A", "--api-key-file=b"],
        ] {
            let all = ["plimsoll", "sweep"].iter().chain(args);
            let error = Cli::try_parse_from(all).unwrap_err().to_string();
            assert!(error.contains("cannot be used with"), "{error}");
        }
    }

    #[test]
    fn levels_of_a_flag_take_the_place_of_the_file_s_whichever_kind_it_has() {
        let path = plan_file("kinds", "rate = [1, 2]\ncap = 9\n");
        let file = path.to_str().unwrap();
        let rates = flags(&["--plan", file]).plan().unwrap();
        assert_eq!((rates.rate.len(), rates.concurrency.len(), rates.cap), (2, 0, Some(9)));
        let closed = flags(&["--plan", file, "--concurrency=4", "--url=http://h"]).plan().unwrap();
        assert_eq!((closed.rate.len(), closed.concurrency.as_slice()), (0, &[4][..]));
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
        let rates = flags(&["--request-rate", "4", "--burstiness", "0.5"]).plan().unwrap();
        assert_eq!(rates, flags(&["--rate=4", "--arrivals=gamma:0.5"]).plan().unwrap());
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
