//! The mock in a process of its own, so that its work is nobody else's CPU time.

use super::truth::{Answered, Truth};
use crate::bench::measure::monotonic;
use anyhow::{Context, Result, ensure};
use clap::Args;
use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_record::{MockEngine, Span};
use std::{
    io::{BufRead, BufReader, Read, Write, stdin, stdout},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};
use tokio::time::Instant;

#[derive(Debug, Args)]
pub struct Options {
    /// Name of its model.
    #[arg(long)]
    model: String,
    /// Time between two tokens.
    #[arg(long)]
    step: Span,
}

/// Serves until the standard input ends, then writes the truth to the standard output.
pub fn run(options: &Options) -> Result<()> {
    let engine = MockEngine {
        model: options.model.clone(),
        // More slots than any load has requests, so that nothing waits for another.
        max_num_seqs: 4096,
        prefill_base: Span::new(Duration::ZERO),
        prefill_per_token: Span::new(Duration::ZERO),
        decode_base: options.step,
        decode_per_seq: Span::new(Duration::ZERO),
        num_blocks: 1 << 20,
        ..MockEngine::default()
    };
    let (epoch, epoch_ns) = (Instant::now(), monotonic()?);
    let mock = spawn_thread(MockConfig::of_engine(engine), epoch)?;
    let mut out = stdout();
    writeln!(out, "{}", mock.url())?;
    out.flush()?;
    stdin().read_to_end(&mut Vec::new())?;
    let ledger = mock.stop();
    let requests = ledger.requests.iter().map(|entry| Answered {
        arrival_ns: epoch_ns + entry.arrival.0,
        tokens_ns: entry.tokens.iter().map(|token| epoch_ns + token.actual.0).collect(),
        completed: entry.completed(),
    });
    serde_json::to_writer(out, &Truth { requests: requests.collect() })?;
    Ok(())
}

/// A running mock.
pub struct Mock {
    child: Child,
    out: BufReader<ChildStdout>,
    pub url: String,
}

impl Mock {
    pub fn start(xtask: &Path, model: &str, step: &str) -> Result<Self> {
        let mut child = Command::new(xtask)
            .args(["bench", "mock", "--model", model, "--step", step])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the mock")?;
        let mut out = BufReader::new(child.stdout.take().context("the mock has no output")?);
        let mut url = String::new();
        out.read_line(&mut url)?;
        ensure!(url.starts_with("http://"), "the mock says `{}`", url.trim());
        Ok(Self { child, out, url: url.trim().to_owned() })
    }

    /// Ends it and gives what it did.
    pub fn stop(mut self) -> Result<Truth> {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text)?;
        self.child.wait()?;
        serde_json::from_str(&text).context("the mock's ledger")
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // It ends with its input; if it has ended already, these fail.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
