//! Counters of this process and its host, from `/proc` (`proc_stat`(5), RFC 1213's TCP group in `net/snmp`).

use super::cgroup::{CpuGroup, Throttling};
use plimsoll_record::{ClientSample, Nanos, RECORD_SCHEMA};
use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// All counters at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    cpu: Nanos,
    throttling: Option<Throttling>,
    retransmits: Option<u64>,
    steal: Option<Nanos>,
}

impl Counters {
    pub fn read(group: Option<&CpuGroup>) -> Self {
        let spent = clock_gettime(ClockId::ProcessCPUTime);
        let nanos = spent.tv_sec.saturating_mul(1_000_000_000).saturating_add(spent.tv_nsec);
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let text = |path| fs::read_to_string(path).ok();
        Self {
            cpu: Nanos(u64::try_from(nanos).unwrap_or(0)),
            throttling: group.and_then(CpuGroup::throttling),
            retransmits: text("/proc/self/net/snmp").and_then(|text| retransmits(&text)),
            steal: text("/proc/stat").and_then(|text| steal_ticks(&text)).map(|ticks| Nanos(ticks * tick)),
        }
    }

    /// What happened between two instants, as a line of `client.jsonl`. A counter that went back is no count.
    pub fn since(&self, before: &Self, from: Nanos, to: Nanos) -> ClientSample {
        let count = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let time =
            |now: Option<Nanos>, then: Option<Nanos>| count(now.map(|t| t.0), then.map(|t| t.0)).map(Nanos);
        ClientSample {
            schema: RECORD_SCHEMA,
            at_ns: to,
            interval_ns: to - from,
            level: None,
            repeat: None,
            worker: None,
            cpu_ns: time(Some(self.cpu), Some(before.cpu)),
            lag_us: Vec::new(),
            connects: None,
            starved: None,
            throttled: count(self.throttling.map(|t| t.periods), before.throttling.map(|t| t.periods)),
            throttled_ns: time(self.throttling.map(|t| t.time), before.throttling.map(|t| t.time)),
            retransmits: count(self.retransmits, before.retransmits),
            steal_ns: time(self.steal, before.steal),
        }
    }
}

/// `RetransSegs` of the pair of lines that begin with `Tcp:`.
fn retransmits(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|name| name == "RetransSegs")?;
    values.split_whitespace().nth(place)?.parse().ok()
}

/// The eighth value of the line `cpu`: ticks that were stolen, all processors together.
fn steal_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    line.split_whitespace().nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_place() {
        let snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\n\
                    Tcp: 1 15054153 1345 2\nUdp: InDatagrams\nUdp: 5\n";
        assert_eq!(retransmits(snmp), Some(1345));
        assert_eq!(retransmits("Tcp: RetransSegs\n"), None);
        let stat = "cpu  1116689 107898 135878 1262002 8375 0 4067 1785 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(steal_ticks(stat), Some(1785));
        assert_eq!(steal_ticks("cpu  1 2 3\n"), None);
    }

    #[test]
    fn differences_and_what_is_not_known() {
        let known = |cpu, periods, retransmits| Counters {
            cpu: Nanos(cpu),
            throttling: Some(Throttling { periods, time: Nanos(periods * 10) }),
            retransmits: Some(retransmits),
            steal: None,
        };
        let sample = known(50, 3, 7).since(&known(20, 1, 9), Nanos(100), Nanos(400));
        assert_eq!(
            (sample.at_ns, sample.interval_ns, sample.cpu_ns),
            (Nanos(400), Nanos(300), Some(Nanos(30)))
        );
        assert_eq!((sample.throttled, sample.throttled_ns), (Some(2), Some(Nanos(20))));
        assert_eq!(
            (sample.retransmits, sample.steal_ns),
            (None, None),
            "a counter that went back is no count"
        );
    }

    #[test]
    fn the_process_s_own_time_grows() {
        let before = Counters::read(None);
        let sum = (0..3_000_000_u64).fold(0, |sum: u64, n| std::hint::black_box(sum.wrapping_mul(31) ^ n));
        assert_ne!(sum, 1);
        let sample = Counters::read(None).since(&before, Nanos(0), Nanos(1));
        assert!(sample.cpu_ns > Some(Nanos(0)), "{sample:?}");
    }
}
