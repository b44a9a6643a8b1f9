//! Memory and start of the program, the mock in a process of its own: `cargo bench -p plimsoll --bench footprint`.
//! Not a test: nothing is asserted.

#![expect(clippy::unwrap_used, reason = "a bench stops at what it did not expect")]

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::time::Instant;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("start to the first byte of the first request: {:?}", median_start());
    let (peak, requests) = peak_memory();
    println!("peak resident memory at concurrency 32, {requests} requests: {:.1} MiB", peak as f64 / 1024.0);
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// From starting the program to what a listening socket reads first, median of nine.
fn median_start() -> Duration {
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let started = Instant::now();
            let mut child = program().args(["sweep", "--url", &url, "--out"]).arg(scratch()).spawn().unwrap();
            let (mut socket, _) = listener.accept().unwrap();
            socket.read_exact(&mut [0]).unwrap();
            let took = started.elapsed();
            child.kill().unwrap();
            child.wait().unwrap();
            took
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Highest resident memory, KiB, of a sweep at 32, and how many requests it recorded.
fn peak_memory() -> (u64, usize) {
    let mut mock = program().args(["mock", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(mock.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap()
        .trim_end_matches(',')
        .to_owned();
    let out = scratch();
    let flags = ["--concurrency", "32", "--requests", "400", "--output-tokens", "128"];
    let mut sweep =
        program().args(["sweep", "--url", &url]).args(flags).arg("--out").arg(&out).spawn().unwrap();
    let mut peak = 0;
    while sweep.try_wait().unwrap().is_none() {
        peak = peak.max(resident(&sweep).unwrap_or(0));
        wait(Duration::from_millis(20));
    }
    mock.kill().unwrap();
    mock.wait().unwrap();
    let run = std::fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    let requests = std::fs::read_to_string(run.join("requests.jsonl")).unwrap().lines().count();
    std::fs::remove_dir_all(&out).unwrap();
    (peak, requests)
}

fn resident(child: &Child) -> Option<u64> {
    let status =
        std::fs::read_to_string(Path::new("/proc").join(child.id().to_string()).join("status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The standard library's sleep is banned for the sake of paused time, which a bench has no use for.
fn wait(time: Duration) {
    std::thread::park_timeout(time);
}

fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("plimsoll-footprint-{}", std::process::id()))
}
