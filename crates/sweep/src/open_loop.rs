//! What an open loop needs: its schedule, its connections, and how far its backlog may grow.

use crate::SweepError;
use plimsoll_driver::{LevelPlan, Load, OpenLoop};
use plimsoll_record::{ClientLimits, Plan, Rate};
use plimsoll_workload::{ArrivalTimes, WorkloadError};
use std::time::Duration;

/// Most requests that may be due and not ended, whatever this process may have.
const MOST: u32 = 20_000;
/// Open files beside the connections: the run folder's, the metrics page's, the terminal's.
const SPARE: u64 = 64;
/// Open files of a worker's runtime.
const WORKER: u64 = 8;
/// Most connections that are opened before the level begins.
const MOST_OPENED: f64 = 4096.0;

/// How many connections this process can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(u32);

impl Room {
    /// By this process's limits, as far as they are known. A connection goes to each of the servers; an embedded one holds
    /// the other ends in the same process.
    pub fn of(limits: &ClientLimits, embedded: bool, servers: usize, workers: u32) -> Self {
        let ends = (servers.max(1) as u64).saturating_mul(if embedded { 2 } else { 1 });
        let free = |files: u64| files.saturating_sub(SPARE + WORKER * u64::from(workers)) / ends;
        let files = limits.files_allowed.map_or(u64::MAX, free);
        let connections = files.min(limits.ports_allowed.unwrap_or(u64::MAX));
        Self(u32::try_from(connections).unwrap_or(MOST).clamp(1, MOST))
    }

    /// An error that names both numbers where a plan's `cap` on requests in flight is beyond what can be held: a lower one
    /// would be another load than asked for.
    pub fn hold(self, cap: Option<u32>, limits: &ClientLimits) -> Result<Self, SweepError> {
        let Some(cap) = cap.filter(|cap| *cap > self.0) else { return Ok(self) };
        let told = |name: &str, allowed: Option<u64>| allowed.map(|n| format!("{n} {name}"));
        let by = [told("open files", limits.files_allowed), told("local ports", limits.ports_allowed)];
        let by: Vec<String> = by.into_iter().flatten().collect();
        Err(SweepError::usage(format!(
            "--cap: {cap} requests in flight need as many connections to each server, and this process can hold {} ({}); \
             raise the limit (`ulimit -n`, net.ipv4.ip_local_port_range), or give at most --cap {}",
            self.0,
            by.join(", "),
            self.0
        )))
    }
}

/// The open loop of a level, when one request takes about `typical`.
pub fn open_loop(
    plan: &Plan,
    rate: Rate,
    repeat: u32,
    warmup: u32,
    typical: Duration,
    Room(room): Room,
) -> Result<OpenLoop, WorkloadError> {
    let seed = plan.seed.unwrap_or_default();
    let window = plan.duration.map(plimsoll_record::Span::duration);
    let times = ArrivalTimes::new(plan.arrivals, rate, warmup, window, seed, repeat)?;
    // By Little's law, twice that for a server that is slower under load, and four standard deviations of a Poisson
    // number on top.
    let busy = rate.per_second() * typical.as_secs_f64();
    let wanted = (2.0 * busy + 4.0 * busy.sqrt() + 4.0).min(MOST_OPENED).ceil() as u32;
    // With a cap, files bound what is in flight, and only memory bounds the line.
    let most_unfinished = if plan.cap.is_some() { MOST } else { room };
    let connections = wanted.min(room).min(plan.cap.unwrap_or(u32::MAX));
    Ok(OpenLoop { rate, times, cap: plan.cap, connections, most_unfinished })
}

/// How many requests of a stream each worker should have ready beyond a few: twice the connections, and a second's
/// worth of arrivals.
pub fn ahead(plan: &LevelPlan) -> u32 {
    let arrivals = match &plan.load {
        Load::Closed { .. } => 0,
        Load::Open(open) => open.rate.per_second().min(4096.0).ceil() as u32,
    };
    plan.connections().saturating_mul(2).saturating_add(arrivals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_files_and_ports_leave() {
        let room = |files_allowed, ports_allowed, embedded, servers| {
            let limits = ClientLimits { files_allowed, ports_allowed, ..ClientLimits::default() };
            Room::of(&limits, embedded, servers, 2).0
        };
        assert_eq!(room(Some(1024), None, false, 1), 1024 - 64 - 16);
        assert_eq!(room(Some(1024), None, true, 1), (1024 - 64 - 16) / 2);
        assert_eq!(room(Some(1024), None, false, 4), (1024 - 64 - 16) / 4);
        assert_eq!(room(Some(1024), Some(100), false, 1), 100);
        assert_eq!(room(Some(10), None, false, 1), 1);
        assert_eq!(room(None, None, false, 1), MOST);
    }

    #[test]
    fn a_cap_beyond_the_room_is_refused_with_both_numbers() {
        let limits =
            ClientLimits { files_allowed: Some(1024), ports_allowed: Some(5000), ..ClientLimits::default() };
        let room = Room::of(&limits, false, 1, 2);
        for cap in [None, Some(1), Some(944)] {
            assert_eq!(room.hold(cap, &limits).unwrap(), room, "{cap:?}");
        }
        let error = room.hold(Some(945), &limits).unwrap_err().to_string();
        for part in ["--cap: 945 ", "can hold 944 (1024 open files, 5000 local ports)", "ulimit -n"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn connections_follow_littles_law_within_the_cap() {
        let rate = Rate::new(10.0).unwrap();
        let made = |cap| {
            let plan = Plan { cap, ..Plan::default() };
            open_loop(&plan, rate, 0, 0, Duration::from_millis(1600), Room(500)).unwrap()
        };
        assert_eq!((made(None).connections, made(None).most_unfinished), (2 * 16 + 4 * 4 + 4, 500));
        assert_eq!((made(Some(8)).connections, made(Some(8)).most_unfinished), (8, MOST));
    }
}
