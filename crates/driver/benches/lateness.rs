//! How late requests leave: Poisson arrivals at 500 a second against the mock, by this system's exact timer and by tokio's
//! own, in turns of the same run:
//! `cargo bench -p plimsoll-driver --bench lateness [-- REQUESTS_PER_S SECONDS]`.
//!
//! The mock serves from a process of its own. Lateness is the time from the instant at which a request is due to its
//! first byte at the socket. Not a test: nothing is asserted.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a bench stops at what it did not expect")]

use bytes::Bytes;
use plimsoll_driver::{
    Cohort, Control, Event, LevelPlan, Load, OpenLoop, Pacer, Prepared, Sink, Stop, Stream, Supply, Target,
    Worker, run_slots,
};
use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_record::{Arrivals, MockEngine, Phase, Rate, Span};
use plimsoll_transport::{Clock, Dial, Head, Limits};
use plimsoll_workload::ArrivalTimes;
use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Command, Stdio},
    sync::{Arc, mpsc},
};
use tokio::{sync::Barrier, task::LocalSet, time::Instant};

const ROUNDS: u32 = 2;
const TOKENS: u32 = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("--test") => return,
        Some("serve") => return serve(),
        _ => {}
    }
    let numbers: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let [per_second, seconds] = numbers[..] else { return compare(500, 10) };
    compare(per_second, seconds);
}

/// The server's process: prints its address, serves until its input ends.
fn serve() {
    let engine = MockEngine {
        max_num_seqs: 256,
        prefill_base: Span::from_millis(0),
        prefill_per_token: Span::from_millis(0),
        decode_base: Span::from_millis(2),
        decode_per_seq: Span::from_millis(0),
        ..MockEngine::default()
    };
    let mock = spawn_thread(MockConfig::of_engine(engine), Instant::now()).unwrap();
    println!("{}", mock.addr());
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(mock.stop());
}

fn compare(per_second: u32, seconds: u32) {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address: SocketAddr = line.trim().parse().unwrap();
    println!("sent after due, {per_second} req/s Poisson, {seconds} s a turn, one thread");
    for round in 0..ROUNDS {
        for (name, exact) in [("exact", true), ("tokio", false)] {
            let mut late = turn(address, per_second, seconds, exact, round);
            late.sort_unstable();
            let quantile = |ppm: usize| late[(late.len() * ppm / 1_000_000).min(late.len() - 1)] as f64 / 1e6;
            println!(
                "  {name}: median {:7.3} ms, p90 {:7.3} ms, p99 {:7.3} ms, max {:7.3} ms, n {}",
                quantile(500_000),
                quantile(900_000),
                quantile(990_000),
                quantile(1_000_000),
                late.len()
            );
        }
    }
    drop(server.stdin.take());
    server.wait().unwrap();
}

struct Same(u64, Bytes);

impl Supply for Same {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        self.0 += 1;
        Some(Prepared { id: self.0, body: self.1.clone(), asked_input_tokens: None, max_tokens: TOKENS })
    }
}

/// Nanoseconds of lateness of each measured request.
fn turn(address: SocketAddr, per_second: u32, seconds: u32, exact: bool, repeat: u32) -> Vec<u64> {
    let (sender, receiver) = mpsc::channel::<Event>();
    let sink: Sink = Arc::new(move |event| sender.send(event).expect("the receiver lives"));
    let rate = Rate::new(f64::from(per_second)).unwrap();
    let warmup = per_second / 2;
    let times = ArrivalTimes::new(Arrivals::Poisson, rate, warmup, None, 7, repeat).unwrap();
    let open = OpenLoop { rate, times, cap: None, connections: 64, most_unfinished: 4096 };
    let control = Arc::new(Control::new(LevelPlan {
        load: Load::Open(open),
        repeat,
        warmup,
        cohort: Cohort::Requests(per_second * seconds),
        retries: 0,
    }));
    let worker = Worker {
        number: 0,
        of: 1,
        targets: vec![Target {
            dial: Dial::Tcp(vec![address]),
            head: Head::new("bench", None).unwrap(),
            path: "/v1/completions".to_owned(),
            limits: Limits::default(),
        }],
        clock: Clock::start(),
        control,
        sink,
        stop: Stop::new(),
        ready: Arc::new(Barrier::new(1)),
    };
    let body = format!(r#"{{"model":"mock","prompt":"Go on","max_tokens":{TOKENS},"stream":true}}"#);
    let supply = Same(0, Bytes::from(body));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(async move {
        let pacer = if exact { Pacer::exact().unwrap() } else { Pacer::Tokio };
        run_slots(worker, supply, pacer).await.unwrap();
    }));
    let mut late = Vec::new();
    for event in receiver {
        if let Event::Request(record) = event
            && record.phase == Phase::Measure
        {
            assert!(record.outcome.is_ok(), "{:?}", record.outcome);
            late.push((record.sent_ns.unwrap() - record.due_ns).0);
        }
    }
    late
}
