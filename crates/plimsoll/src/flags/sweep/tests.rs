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
    std::fs::write(&path, text).unwrap();
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
