//! CPU time of this client per streamed token, against the barest loop that hyper allows, in the same run:
//! `cargo bench -p plimsoll-driver --bench client_cost [-- STREAMS TOKENS_PER_S SECONDS]`.
//!
//! The mock serves from a process of its own. Both clients take turns on one thread; the process's CPU time counts,
//! so that turning records into JSON on another thread is included in ours. Not a test: nothing is asserted.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a bench stops at what it did not expect")]

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use plimsoll_driver::{
    Cohort, Control, Event, LevelPlan, Load, Pacer, Prepared, Sink, Stop, Stream, Supply, Target, Worker,
    run_slots,
};
use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_record::{MockEngine, Span};
use plimsoll_transport::{Clock, Dial, Head, Limits};
use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Command, Stdio},
    sync::{Arc, mpsc},
    time::Duration,
};
use tokio::{net::TcpStream, sync::Barrier, task::LocalSet, time::Instant};

const ROUNDS: usize = 3;

#[derive(Clone, Copy)]
struct Traffic {
    streams: u32,
    tokens_per_s: u32,
    seconds: u32,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let numbers: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let [streams, tokens_per_s, seconds] = numbers[..] else {
        if arguments.first().is_some_and(|argument| argument == "--test") {
            return;
        }
        return compare(Traffic { streams: 400, tokens_per_s: 50, seconds: 8 });
    };
    let load = Traffic { streams, tokens_per_s, seconds };
    if arguments.first().is_some_and(|argument| argument == "serve") { serve(load) } else { compare(load) }
}

/// The server's process: prints its address, serves until its input ends.
fn serve(load: Traffic) {
    let step = Duration::from_secs(1) / load.tokens_per_s;
    let engine = MockEngine {
        max_num_seqs: load.streams,
        prefill_base: Span::from_millis(0),
        prefill_per_token: Span::from_millis(0),
        decode_base: Span::new(step),
        decode_per_seq: Span::from_millis(0),
        num_blocks: 1 << 20,
        ..MockEngine::default()
    };
    let mock = spawn_thread(MockConfig::of_engine(engine), Instant::now()).unwrap();
    println!("{}", mock.addr());
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(mock.stop());
}

fn compare(load: Traffic) {
    let Traffic { streams, tokens_per_s, seconds } = load;
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["serve".to_owned(), streams.to_string(), tokens_per_s.to_string(), seconds.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address: SocketAddr = line.trim().parse().unwrap();
    println!(
        "client CPU per streamed token, {streams} streams x {tokens_per_s} tok/s, {seconds} s a turn, one thread"
    );
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        bare.push(turn(|| bare_loop(address, load)));
        ours.push(turn(|| plimsoll(address, load)));
        println!(
            "  round {round}: bare frame() loop {:6.2} us, plimsoll {:6.2} us",
            bare[round - 1],
            ours[round - 1]
        );
    }
    let median = |figures: &mut Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let (bare, ours) = (median(&mut bare), median(&mut ours));
    println!("  median:  bare frame() loop {bare:6.2} us, plimsoll {ours:6.2} us, ratio {:.2}", ours / bare);
    drop(server.stdin.take());
    server.wait().unwrap();
}

/// Microseconds of CPU per token.
fn turn(client: impl FnOnce() -> u64) -> f64 {
    let before = cpu();
    let tokens = client();
    (cpu().as_secs_f64() - before.as_secs_f64()) * 1e6 / tokens.max(1) as f64
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

fn body(load: Traffic) -> Bytes {
    let tokens = load.tokens_per_s * load.seconds;
    Bytes::from(format!(
        r#"{{"model":"mock","messages":[{{"role":"user","content":"Go on"}}],"max_tokens":{tokens},"stream":true,"ignore_eos":true,"stream_options":{{"include_usage":true}}}}"#
    ))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// One hyper connection per stream, its connection task beside it, every frame taken and dropped.
fn bare_loop(address: SocketAddr, load: Traffic) -> u64 {
    runtime().block_on(async move {
        let mut tasks = Vec::new();
        for _ in 0..load.streams {
            let body = body(load);
            tasks.push(tokio::spawn(async move {
                let socket = TcpStream::connect(address).await.unwrap();
                socket.set_nodelay(true).unwrap();
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.unwrap();
                tokio::spawn(connection);
                let request = hyper::Request::post("/v1/chat/completions")
                    .header("host", "bench")
                    .header("content-type", "application/json")
                    .body(Full::new(body))
                    .unwrap();
                let mut body = sender.send_request(request).await.unwrap().into_body();
                while let Some(frame) = body.frame().await {
                    std::hint::black_box(frame.unwrap());
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    u64::from(load.streams) * u64::from(load.tokens_per_s) * u64::from(load.seconds)
}

struct Same(Bytes, u64);

impl Supply for Same {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        self.1 += 1;
        Some(Prepared { id: self.1, body: self.0.clone(), asked_input_tokens: None, max_tokens: 1 })
    }
}

/// The whole client: slots, stamps, events, records, and their JSON on another thread.
fn plimsoll(address: SocketAddr, load: Traffic) -> u64 {
    let (sender, receiver) = mpsc::channel::<Event>();
    let writer = std::thread::spawn(move || {
        let mut tokens = 0;
        for event in receiver {
            if let Event::Request(record) = event {
                assert!(record.outcome.is_ok(), "{:?}", record.outcome);
                tokens += u64::from(record.output_tokens.unwrap());
                std::hint::black_box(serde_json::to_vec(&*record).unwrap());
            }
        }
        tokens
    });
    let sink: Sink = Arc::new(move |event| sender.send(event).expect("the writer lives"));
    let control = Arc::new(Control::new(LevelPlan {
        load: Load::Closed { slots: load.streams, ramp: Duration::ZERO },
        repeat: 0,
        warmup: 0,
        cohort: Cohort::Requests(load.streams),
        retries: 0,
    }));
    let worker = Worker {
        number: 0,
        of: 1,
        targets: vec![Target {
            dial: Dial::Tcp(vec![address]),
            head: Head::new("bench", None).unwrap(),
            path: "/v1/chat/completions".to_owned(),
            limits: Limits::default(),
        }],
        clock: Clock::start(),
        control,
        sink,
        stop: Stop::new(),
        ready: Arc::new(Barrier::new(1)),
    };
    let supply = Same(body(load), 0);
    runtime().block_on(LocalSet::new().run_until(async move {
        let pacer = Pacer::exact().unwrap();
        run_slots(worker, supply, pacer).await.unwrap();
    }));
    writer.join().unwrap()
}
