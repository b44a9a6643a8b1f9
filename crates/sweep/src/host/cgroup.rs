//! The CPU controller of Linux's control groups, version 2 (`cpu.max`, `cpu.stat`) and 1 (`cpu.cfs_quota_us`,
//! `cpu.cfs_period_us`, `cpu.stat`), as the kernel's documents cgroup-v2 and sched-bwc describe them.

use plimsoll_record::Nanos;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The group among this process's own and those above it whose quota is the tightest.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuGroup {
    folder: PathBuf,
    quota: Option<f64>,
}

/// How often and how long a group was throttled since it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    pub periods: u64,
    pub time: Nanos,
}

impl CpuGroup {
    /// This process's; absent where there are no control groups.
    pub fn of_process() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let folders = folders(&groups, &mounts);
        // The own group first: without any quota its counters are the ones to look at.
        let found = folders.into_iter().map(|folder| Self { quota: quota(&folder), folder });
        found.filter(Self::exists).reduce(|tightest, group| match (tightest.quota, group.quota) {
            (None, Some(_)) => group,
            (Some(least), Some(quota)) if quota < least => group,
            _ => tightest,
        })
    }

    fn exists(&self) -> bool {
        self.folder.join("cpu.stat").is_file()
    }

    /// Processors' worth of time that it may use; absent: no quota.
    pub const fn quota(&self) -> Option<f64> {
        self.quota
    }

    /// Absent where the group counts none.
    pub fn throttling(&self) -> Option<Throttling> {
        parse_stat(&fs::read_to_string(self.folder.join("cpu.stat")).ok()?)
    }
}

/// The folders of this process's groups that control CPU time, its own first, then those above it.
fn folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let second = controllers.is_empty();
        if !second && !controllers.split(',').any(|name| name == "cpu") {
            continue;
        }
        let Some((mount, root)) = mounts.lines().find_map(|line| mount_of(line, second)) else { continue };
        // In a container the mounted root may be the group itself.
        let below = Path::new(path).strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
        found.extend(below.ancestors().map(|part| mount.join(part)));
    }
    found
}

/// Mount point and mounted root of a line of mountinfo (`proc_pid_mountinfo`(5)), if it is the hierarchy that has the CPU
/// controller.
fn mount_of(line: &str, second: bool) -> Option<(PathBuf, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let (kind, _, options) = (after.next()?, after.next()?, after.next()?);
    let fits = if second {
        kind == "cgroup2"
    } else {
        kind == "cgroup" && options.split(',').any(|option| option == "cpu")
    };
    let mut fields = before.split(' ').skip(3);
    let (root, mount) = (fields.next()?, fields.next()?);
    fits.then(|| (mount.into(), root.into()))
}

fn quota(folder: &Path) -> Option<f64> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    match text("cpu.max") {
        Some(max) => {
            let (quota, period) = max.trim().split_once(' ')?;
            share(quota, period)
        }
        None => share(text("cpu.cfs_quota_us")?.trim(), text("cpu.cfs_period_us")?.trim()),
    }
}

/// `max` and `-1` stand for no quota.
fn share(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn parse_stat(text: &str) -> Option<Throttling> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.trim().parse::<u64>().ok())
    };
    let micros = value("throttled_usec").map(|us| us.saturating_mul(1000));
    Some(Throttling { periods: value("nr_throttled")?, time: Nanos(micros.or(value("throttled_time"))?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let second = "usage_usec 9\nuser_usec 5\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1500\n";
        assert_eq!(parse_stat(second), Some(Throttling { periods: 2, time: Nanos(1_500_000) }));
        let first = "nr_periods 4\nnr_throttled 2\nthrottled_time 1500000\n";
        assert_eq!(parse_stat(first), parse_stat(second));
        assert_eq!(parse_stat("usage_usec 9\nuser_usec 5\n"), None, "a root group counts none");
        assert_eq!(share("200000", "100000"), Some(2.0));
        assert_eq!((share("max", "100000"), share("-1", "100000"), share("1", "0")), (None, None, None));
    }

    #[test]
    fn the_own_group_and_those_above_it() {
        let paths = |groups, mounts| -> Vec<String> {
            folders(groups, mounts).iter().map(|path| path.display().to_string()).collect()
        };
        let second = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(
            paths("0::/user.slice/run.scope\n", second),
            ["/sys/fs/cgroup/user.slice/run.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/"]
        );
        let first = "36 25 0:31 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct";
        let groups = "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/docker/abc\n";
        assert_eq!(paths(groups, first), ["/sys/fs/cgroup/cpu/"], "the container's root is its group");
        assert!(paths("garbage", "garbage - ").is_empty());
    }

    #[test]
    fn this_process_s_group_can_be_asked() {
        if let Some(group) = CpuGroup::of_process() {
            assert!(group.quota().is_none_or(|quota| quota > 0.0), "{group:?}");
        }
    }
}
