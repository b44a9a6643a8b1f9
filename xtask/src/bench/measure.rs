//! One run of a client, and what it took.

use anyhow::{Context, Result};
use nix::{
    sys::resource::{UsageWho, getrusage},
    time::{ClockId, clock_gettime},
};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

/// What a run took.
pub struct Cost {
    pub status: ExitStatus,
    /// CPU time of the client and of its children that it waited for.
    pub cpu: Duration,
    /// Highest sum of resident memory over the client and its children, KiB, where the system tells.
    pub memory: Option<u64>,
    /// When it was started, on the system's monotonic clock.
    pub started_ns: u64,
}

/// Between two looks at the memory.
const LOOK: Duration = Duration::from_millis(50);
/// A client that takes longer hangs.
const LIMIT: Duration = Duration::from_mins(15);

/// The system's monotonic clock, which all processes share, in nanoseconds.
pub fn monotonic() -> Result<u64> {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).context("the monotonic clock")?);
    Ok(u64::try_from(now.as_nanos())?)
}

/// Runs `command` to its end, with its output in `log`.
pub fn run(command: &mut Command, log: &Path) -> Result<Cost> {
    let out = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    let before = children_cpu()?;
    let started_ns = monotonic()?;
    let mut child = command.spawn()?;
    let (mut memory, mut looks) = (None, 0);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        memory = memory.max(resident(child.id()));
        looks += 1;
        if LOOK * looks > LIMIT {
            child.kill()?;
            break child.wait()?;
        }
        pause();
    };
    Ok(Cost { status, cpu: children_cpu()?.saturating_sub(before), memory, started_ns })
}

/// Of all children that have ended so far. The mock, which has not, is not among them.
fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("the children's CPU time")?;
    let time = |time: nix::sys::time::TimeVal| {
        Duration::new(
            u64::try_from(time.tv_sec()).unwrap_or(0),
            u32::try_from(time.tv_usec()).unwrap_or(0) * 1000,
        )
    };
    Ok(time(usage.user_time()) + time(usage.system_time()))
}

/// Resident memory of a process and all below it, KiB.
fn resident(root: u32) -> Option<u64> {
    let mut below: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
    let mut sum = 0;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
        let number = |key: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let memory = number("VmRSS:").unwrap_or(0);
        if pid == root {
            sum = memory;
        }
        let parent = number("PPid:").and_then(|parent| u32::try_from(parent).ok()).unwrap_or(0);
        below.entry(parent).or_default().push((pid, memory));
    }
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for (pid, memory) in below.remove(&parent).unwrap_or_default() {
            sum += memory;
            open.push(pid);
        }
    }
    (sum > 0).then_some(sum)
}

#[expect(clippy::disallowed_methods, reason = "waiting for a process; nothing is measured by this pause")]
fn pause() {
    std::thread::sleep(LOOK);
}
