//! Is there an open file and a local port for every connection? Otherwise a level ends in failed connections that look
//! like the server's.

use super::Server;
use crate::{
    Link, Resolved, SweepError,
    host::{CpuGroup, Ports},
};
use plimsoll_record::{ClientLimits, Level};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

/// Open files beside the connections: the run folder's, the metrics pages', the terminal's.
const SPARE: u64 = 64;
/// Open files of a worker's runtime.
const WORKER: u64 = 8;

/// Open files that an open loop is given at least, if they may be had: what it needs is known only afterwards.
const MOST_OPEN: u64 = 40_000;

/// Raises this process's limit on open files to `wanted`, or as far as it may be, and tells what it is then.
pub fn open_files(wanted: u64) -> u64 {
    raise_files(wanted).unwrap_or(u64::MAX)
}

/// The limit afterwards; absent: none.
fn raise_files(wanted: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|limit| limit >= wanted) {
        return current;
    }
    let wanted = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => Some(wanted),
        Err(_) => current,
    }
}

/// What a plan needs at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The level that needs most.
    level: Level,
    /// Connections of this client at once.
    connections: u64,
    files: u64,
    /// Local ports, by server address.
    ports: BTreeMap<SocketAddr, u64>,
    /// Open files to have if they may be had: an open loop may need more than by its rate.
    wished: u64,
    open: bool,
}

impl Need {
    /// When one request takes about `typical`.
    pub fn of(resolved: &Resolved, link: &Link, servers: &[Server], typical: Duration) -> Self {
        let plan = &resolved.plan;
        let of = |level: Level| (connections(level, plan.cap, typical), level);
        let (connections, level) =
            plan.levels().into_iter().map(of).max().unwrap_or((0, Level::Concurrency(0)));
        // The embedded mock holds the other ends in the same process.
        let ends = if matches!(link, Link::Embedded(_)) { 2 } else { 1 };
        let mut ports = BTreeMap::new();
        // Behind a proxy all servers have its address.
        for address in servers.iter().filter_map(|server| server.conditions.addresses.first()?.parse().ok()) {
            *ports.entry(address).or_insert(0) += connections;
        }
        // A user of the load keeps a connection to each server.
        let each = servers.len().max(1) as u64;
        let files = |connections: u64| {
            ends * each * connections + SPARE + servers.len() as u64 + WORKER * u64::from(plan.workers)
        };
        let (open, needed) = (level.is_open_loop(), files(connections));
        let most = files(plan.cap.unwrap_or_default().into()).max(MOST_OPEN);
        let wished = if open { needed.max(most) } else { needed };
        Self { level, connections: each * connections, files: needed, ports, wished, open }
    }

    /// Raises this process's limit on open files as far as the plan needs, and tells what is needed and allowed. An error
    /// says what it should be.
    pub fn ensure(&self, ports: &Ports) -> Result<ClientLimits, SweepError> {
        let files_allowed = raise_files(self.wished);
        if files_allowed.is_some_and(|allowed| allowed < self.files) {
            return Err(SweepError::usage(self.too_few_files(files_allowed.unwrap_or_default())));
        }
        let mut limits = ClientLimits {
            files_needed: Some(self.files),
            files_allowed,
            cpu_quota: CpuGroup::of_process().and_then(|group| group.quota()),
            ..ClientLimits::default()
        };
        for (server, needed) in &self.ports {
            let allowed = ports.free_towards(*server);
            if allowed.is_some_and(|allowed| allowed < *needed) {
                return Err(SweepError::usage(self.too_few_ports(
                    *server,
                    *needed,
                    allowed.unwrap_or_default(),
                )));
            }
            // Of several servers, the one with the least to spare.
            let spare = |needed: Option<u64>, allowed: Option<u64>| {
                allowed.zip(needed).map(|(a, n)| a.saturating_sub(n))
            };
            let before = spare(limits.ports_needed, limits.ports_allowed);
            if before.is_none() || spare(Some(*needed), allowed) < before {
                (limits.ports_needed, limits.ports_allowed) = (Some(*needed), allowed);
            }
        }
        Ok(limits)
    }

    fn flag(&self) -> &'static str {
        if self.open { "--rate" } else { "--concurrency" }
    }

    fn too_few_files(&self, allowed: u64) -> String {
        format!(
            "{}: {} connections at once ({}) need {} open files, and this process may have {allowed}; raise the limit \
             (`ulimit -n {}`), or ask for less",
            self.flag(),
            self.connections,
            self.level.words(),
            self.files,
            self.files
        )
    }

    fn too_few_ports(&self, server: SocketAddr, needed: u64, allowed: u64) -> String {
        format!(
            "{}: {needed} connections to {server} ({}) need as many local ports, and {allowed} are free; widen \
             net.ipv4.ip_local_port_range, give further addresses of the server with --url, or ask for less",
            self.flag(),
            self.level.words(),
        )
    }
}

/// Connections at once: the slots of a closed loop; in an open loop by Little's law what is in flight, twice that for a
/// server that is slower under load, and four standard deviations of a Poisson number on top.
fn connections(level: Level, cap: Option<u32>, typical: Duration) -> u64 {
    match level {
        Level::Concurrency(slots) => u64::from(slots),
        Level::Rate(rate) => {
            let busy = rate.per_second() * typical.as_secs_f64();
            let wanted = (2.0 * busy + 4.0 * busy.sqrt() + 4.0).ceil() as u64;
            wanted.min(cap.map_or(u64::MAX, u64::from))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::Rate;

    fn need(files: u64, ports: u64) -> Need {
        let server = "127.0.0.1:9".parse().unwrap();
        let ports = BTreeMap::from([(server, ports)]);
        Need { level: Level::Concurrency(9), connections: 9, files, ports, wished: files, open: false }
    }

    #[test]
    fn a_limit_is_raised_as_far_as_it_may_be_and_told() {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        need(1, 0).ensure(&Ports::default()).unwrap();
        assert_eq!(getrlimit(Resource::Nofile).current, current, "not touched without need");
        if let Some(maximum) = maximum {
            let limits = need(maximum, 7).ensure(&Ports::default()).unwrap();
            assert_eq!(getrlimit(Resource::Nofile).current, Some(maximum));
            assert_eq!((limits.files_needed, limits.files_allowed), (Some(maximum), Some(maximum)));
            assert_eq!((limits.ports_needed, limits.ports_allowed), (Some(7), None), "not known is absent");
            let error = need(maximum + 1, 0).ensure(&Ports::default()).unwrap_err().to_string();
            for part in ["--concurrency: 9 connections", &format!("need {} open", maximum + 1), "ulimit -n"] {
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn ports_that_are_not_there_are_refused_with_numbers() {
        let ports = Ports::now();
        let Some(free) = ports.free_towards("127.0.0.1:9".parse().unwrap()) else { return };
        let limits = need(1, free).ensure(&ports).unwrap();
        assert_eq!((limits.ports_needed, limits.ports_allowed), (Some(free), Some(free)));
        let error = need(1, free + 1).ensure(&ports).unwrap_err().to_string();
        assert!(error.contains(&format!("{} connections to 127.0.0.1:9", free + 1)), "{error}");
        assert!(error.contains(&format!("and {free} are free; widen")), "{error}");
    }

    #[test]
    fn an_open_loop_needs_what_is_in_flight_by_littles_law_within_its_cap() {
        let rate = Level::Rate(Rate::new(10.0).unwrap());
        let typical = Duration::from_millis(1600);
        assert_eq!(connections(rate, None, typical), 2 * 16 + 4 * 4 + 4);
        assert_eq!(connections(rate, Some(8), typical), 8);
        assert_eq!(connections(Level::Concurrency(5), None, typical), 5);
    }
}
