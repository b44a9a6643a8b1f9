//! The client's real path: the driver's slots over sockets, the scraper, and the whole program.

use plimsoll_driver::{
    Cohort, Control, Event, LevelPlan, Load, Prepared, Sink, Stop, Stream, Supply, Target, Worker, run_level,
};
use plimsoll_record::{Endpoint, Redirects, RequestRecord, Sample, SampleTrigger, read_lines};
use plimsoll_scrape::{Scraper, Settings};
use plimsoll_tests::{Ended, Program, TempDir};
use plimsoll_transport::{Clock, Dial, Head, Limits, TimeLimits};
use plimsoll_wire::{
    request::{Input, Message, RequestBody},
    url::BaseUrl,
};
use std::{
    fs,
    net::{SocketAddr, ToSocketAddrs},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// The model that the scripts speak of.
pub const MODEL: &str = "stub-7b";

struct Same {
    endpoint: Endpoint,
    number: u64,
}

impl Supply for Same {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        self.number += 1;
        let prompt = format!("{}: which lights are seen at dusk?", self.number);
        let input = match self.endpoint {
            Endpoint::Completions => Input::Prompt(&prompt),
            _ => Input::Messages(vec![Message { role: "user", content: &prompt }]),
        };
        let body = RequestBody::new(MODEL, input, 16).to_bytes();
        Some(Prepared { id: self.number, body, asked_input_tokens: None, max_tokens: 16 })
    }
}

fn base(url: &str) -> Result<(BaseUrl, Vec<SocketAddr>), String> {
    let base: BaseUrl = url.parse().map_err(|error| format!("{url}: {error}"))?;
    let addresses =
        (base.host(), base.port()).to_socket_addrs().map_err(|error| format!("{url}: {error}"))?;
    Ok((base, addresses.collect()))
}

/// Sends `n` requests to `url`, one after the other, each within `limit`.
pub fn load(url: &str, endpoint: Endpoint, n: u32, limit: Duration) -> Result<Vec<RequestRecord>, String> {
    load_with(url, endpoint, n, limit, Redirects::Refuse)
}

/// The same, following redirects on the same server.
pub fn load_following(
    url: &str,
    endpoint: Endpoint,
    n: u32,
    limit: Duration,
) -> Result<Vec<RequestRecord>, String> {
    load_with(url, endpoint, n, limit, Redirects::SameHost)
}

fn load_with(
    url: &str,
    endpoint: Endpoint,
    n: u32,
    limit: Duration,
    redirects: Redirects,
) -> Result<Vec<RequestRecord>, String> {
    let (base, addresses) = base(url)?;
    let target = Target {
        dial: Dial::Tcp(addresses),
        head: Head::new(&base.authority(), None).map_err(|error| error.to_string())?,
        path: base.path(endpoint.path()),
        limits: Limits {
            time: TimeLimits { total: limit, ..TimeLimits::default() },
            redirects,
            ..Limits::default()
        },
    };
    let control = Arc::new(Control::new(LevelPlan {
        load: Load::Closed { slots: 1, ramp: Duration::ZERO },
        repeat: 0,
        warmup: 0,
        cohort: Cohort::Requests(n),
        retries: 0,
    }));
    let records = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&records);
    let sink: Sink = Arc::new(move |event| {
        if let Event::Request(record) = event {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(*record);
        }
    });
    let (clock, stop) = (Clock::start(), Stop::new());
    let make = |number, ready| Worker {
        number,
        of: 1,
        targets: vec![target.clone()],
        clock,
        control: Arc::clone(&control),
        sink: Arc::clone(&sink),
        stop: stop.clone(),
        ready,
    };
    run_level(1, &stop, make, |_| Same { endpoint, number: 0 }).map_err(|error| error.to_string())?;
    let records = std::mem::take(&mut *records.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(records)
}

/// Reads the metrics page of `url` so many times.
pub fn scrape(url: &str, times: usize) -> Result<Vec<Sample>, String> {
    let (base, addresses) = base(url)?;
    let target =
        plimsoll_scrape::Target::new(Dial::Tcp(addresses), &base, None).map_err(|error| error.to_string())?;
    let settings = Settings { model: Some(MODEL.to_owned()), ..Settings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    Ok(runtime.block_on(async {
        let scraper = Scraper::new(target, settings, Clock::start());
        let mut samples = Vec::new();
        for _ in 0..times {
            samples.push(scraper.scrape_once(SampleTrigger::Edge).await);
        }
        samples
    }))
}

/// A run of the whole program.
pub struct Sweep {
    pub ended: Ended,
    pub records: Vec<RequestRecord>,
    /// Everything that it said and wrote, the records left out.
    pub told: String,
}

/// Sweeps `url` with `n` measured requests.
pub fn sweep(
    url: &str,
    endpoint: Endpoint,
    n: u32,
    more: &[&str],
    env: &[(&str, &str)],
) -> Result<Sweep, String> {
    let out = TempDir::new("case");
    let n = n.to_string();
    let endpoint = match endpoint {
        Endpoint::Chat => "chat",
        Endpoint::Completions => "completions",
        Endpoint::Responses => "responses",
        Endpoint::Messages => "messages",
    };
    let head = ["sweep", "--url", url, "--endpoint", endpoint, "--concurrency", "1", "--requests", &n];
    let load = ["--warmup", "0", "--seed", "7", "--timeout", "5s", "--input-tokens", "16"];
    let rest = ["--output-tokens", "8", "--out", out.str()];
    let mut program = Program::new(&[&head[..], &load, &rest, more].concat());
    for (name, value) in env {
        program = program.env(name, value);
    }
    let ended = program.run();
    let mut told = format!("{}\n{}\n", ended.stdout, ended.stderr);
    let mut records = Vec::new();
    if let Some(folder) = fs::read_dir(out.path()).ok().and_then(|mut folders| folders.next()?.ok()) {
        for file in fs::read_dir(folder.path()).map_err(|error| error.to_string())?.flatten() {
            let bytes = fs::read(file.path()).map_err(|error| error.to_string())?;
            match file.file_name().to_str() {
                Some("requests.jsonl") => records = read_lines::<RequestRecord>(&bytes).records,
                Some("report.md" | "summary.json" | "conditions.json") => {
                    told.push_str(&String::from_utf8_lossy(&bytes));
                }
                _ => {}
            }
        }
    }
    Ok(Sweep { ended, records, told })
}
