//! What the benches of streams share: the load, the mock in a process of its own, and one whole turn of this client.

use bytes::Bytes;
use plimsoll_driver::{
    Cohort, Control, Event, LevelPlan, Load, Prepared, Sink, Stop, Stream, Supply, Target, Worker, run_level,
};
use plimsoll_mock::{Ledger, MockConfig, spawn_thread};
use plimsoll_record::{MockEngine, RequestRecord, Span};
use plimsoll_transport::{Clock, Dial, Head, Limits};
use rustix::{
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
    time::{ClockId, clock_gettime},
};
use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Arc, mpsc},
    time::Duration,
};
use tokio::time::Instant;

/// Streams at a pace.
#[derive(Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the number of streams is what they are called by")]
pub struct Streams {
    pub streams: u32,
    pub tokens_per_s: u32,
    pub seconds: u32,
    /// Time over which their starts are spread.
    pub ramp: Duration,
    /// Tokens that each stream is longer than the one before, by which the mock's ledger knows it.
    pub longer: u32,
}

impl Streams {
    /// From `STREAMS TOKENS_PER_S SECONDS` on the command line; `None`: not to be run, or run as the mock and over.
    pub fn of_arguments(default: [u32; 3], ramp: Duration, longer: u32) -> Option<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
        let first = arguments.first().map(String::as_str);
        if first == Some("--test") {
            return None;
        }
        let numbers: Vec<u32> = arguments.iter().filter_map(|word| word.parse().ok()).collect();
        let [streams, tokens_per_s, seconds] =
            if numbers.is_empty() { default } else { numbers[..].try_into().unwrap() };
        let load = Self { streams, tokens_per_s, seconds, ramp, longer };
        if first == Some("serve") {
            load.serve();
            return None;
        }
        Some(load)
    }

    /// Tokens of the stream number `index`.
    pub const fn tokens(&self, index: u32) -> u32 {
        self.tokens_per_s * self.seconds + self.longer * index
    }

    /// Its request.
    pub fn body(&self, index: u32) -> Bytes {
        let tokens = self.tokens(index);
        Bytes::from(format!(
            r#"{{"model":"mock","messages":[{{"role":"user","content":"Go on, {index}"}}],"max_tokens":{tokens},"stream":true,"ignore_eos":true,"stream_options":{{"include_usage":true}}}}"#
        ))
    }

    /// The mock's process: prints its address, serves until its input ends, prints its ledger.
    fn serve(&self) {
        let engine = MockEngine {
            max_num_seqs: self.streams,
            max_model_len: 1 << 20,
            prefill_base: Span::from_millis(0),
            prefill_per_token: Span::from_millis(0),
            decode_base: Span::new(Duration::from_secs(1) / self.tokens_per_s),
            decode_per_seq: Span::from_millis(0),
            num_blocks: 1 << 22,
            ..MockEngine::default()
        };
        keep_to(|cpu, of| cpu + 1 == of);
        let (epoch, anchor) = (Instant::now(), monotonic());
        let mock = spawn_thread(MockConfig::of_engine(engine), epoch).unwrap();
        println!("{}", mock.addr());
        std::io::stdout().flush().unwrap();
        let _ = std::io::stdin().read_line(&mut String::new());
        print_ledger(&mock.stop(), anchor);
    }
}

/// A line for each answer: its `max_tokens`, its arrival, and each token's write, nanoseconds of the monotonic clock.
fn print_ledger(ledger: &Ledger, anchor: u64) {
    let mut out = std::io::stdout().lock();
    for entry in &ledger.requests {
        write!(out, "{} {}", entry.max_tokens, anchor + entry.arrival.0).unwrap();
        for token in &entry.tokens {
            write!(out, " {}", anchor + token.actual.0).unwrap();
        }
        writeln!(out).unwrap();
    }
}

/// Keeps this process to processors of its own where there are two: the server stands in for one on another machine,
/// and a scheduler that has both take turns on one processor would tell nothing of the client.
fn keep_to(which: impl Fn(usize, usize) -> bool) {
    let allowed = sched_getaffinity(None).unwrap();
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    if all.len() < 2 {
        return;
    }
    let mut kept = CpuSet::new();
    for (place, cpu) in all.iter().enumerate() {
        if which(place, all.len()) {
            kept.set(*cpu);
        }
    }
    sched_setaffinity(None, &kept).unwrap();
}

/// The monotonic clock, the same in all processes, nanoseconds.
pub fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The mock in a process of its own.
pub struct MockProcess {
    pub address: SocketAddr,
    child: Child,
    out: BufReader<ChildStdout>,
}

impl MockProcess {
    pub fn start(load: &Streams) -> Self {
        let numbers = [load.streams, load.tokens_per_s, load.seconds].map(|number| number.to_string());
        let mut child = Command::new(std::env::args_os().next().unwrap())
            .arg("serve")
            .args(numbers)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        // Not before: the other process inherits it.
        keep_to(|cpu, of| cpu + 1 < of);
        Self { address: line.trim().parse().unwrap(), child, out }
    }

    /// Stops it, and gives its ledger: for each answer its `max_tokens`, its arrival, and the write of each of its tokens, on
    /// the monotonic clock.
    pub fn stop(mut self) -> Vec<Vec<u64>> {
        drop(self.child.stdin.take());
        let lines = self.out.lines().map(|line| line.unwrap());
        let ledger =
            lines.map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect()).collect();
        self.child.wait().unwrap();
        ledger
    }
}

struct Numbered(Streams, u32);

impl Supply for Numbered {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        // No filler: each stream runs once.
        let index = Some(self.1).filter(|index| *index < self.0.streams)?;
        self.1 += 1;
        let (body, max_tokens) = (self.0.body(index), self.0.tokens(index));
        Some(Prepared { id: index.into(), body, asked_input_tokens: None, max_tokens })
    }
}

/// The whole client on one thread: slots, stamps, events, records; each stream once, without a warm-up. `finish` takes
/// the records on a thread of its own.
pub fn plimsoll<T: Send>(
    address: SocketAddr,
    load: Streams,
    clock: Clock,
    finish: impl FnOnce(mpsc::Receiver<Box<RequestRecord>>) -> T + Send,
) -> T {
    let (sender, receiver) = mpsc::channel();
    let sink: Sink = Arc::new(move |event| {
        if let Event::Request(record) = event {
            sender.send(record).unwrap();
        }
    });
    let control = Arc::new(Control::new(LevelPlan {
        load: Load::Closed { slots: load.streams, ramp: load.ramp },
        repeat: 0,
        warmup: 0,
        cohort: Cohort::Requests(load.streams),
        retries: 0,
    }));
    let target = Target {
        dial: Dial::Tcp(vec![address]),
        head: Head::new("bench", None).unwrap(),
        path: "/v1/chat/completions".to_owned(),
        limits: Limits::default(),
    };
    let stop = Stop::new();
    std::thread::scope(|scope| {
        let finished = scope.spawn(move || finish(receiver));
        let make = {
            let stop = stop.clone();
            move |number, ready| Worker {
                number,
                of: 1,
                targets: vec![target.clone()],
                clock,
                control: Arc::clone(&control),
                sink: Arc::clone(&sink),
                stop: stop.clone(),
                ready,
            }
        };
        run_level(1, &stop, make, |_| Numbered(load, 0)).unwrap();
        finished.join().unwrap()
    })
}

/// By rank, of figures in any order.
pub fn quantile(figures: &mut [f64], share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[((figures.len() as f64 * share).ceil() as usize).clamp(1, figures.len()) - 1]
}
