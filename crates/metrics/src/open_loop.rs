//! What arrives in an open loop, and whether the server keeps up with it.

use crate::window::LevelRecords;
use plimsoll_record::{Arrivals, Nanos, RequestRecord};

/// Completions below this share of the arrivals are behind them.
const BEHIND: f64 = 0.95;

/// What arrived inside a window, and how the backlog went: the requests that are due and not yet over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arriving {
    /// Requests due in the window.
    pub offered: u64,
    /// Backlog at the window's end less that at its start.
    pub growth: f64,
    /// Mean backlog in each quarter of the window.
    pub quarters: [f64; 4],
    /// Requests over in the window, whatever their outcome.
    pub over: u64,
    /// Measured requests that waited for the cap on requests in flight.
    pub capped: u64,
    /// True when the backlog grew all through the window, by more than chance. A ramp is not judged: it grows by plan.
    pub grew: bool,
}

impl Arriving {
    /// None without a window.
    pub fn of(level: &LevelRecords<'_>, arrivals: &Arrivals) -> Option<Self> {
        let window = level.window?;
        let requests = &level.requests;
        let count = |holds: &dyn Fn(&RequestRecord) -> bool| {
            requests.iter().filter(|request| holds(request)).count() as u64
        };
        let backlog = |at: Nanos| count(&|request| request.due_ns < at && request.end_ns > at) as f64;
        let length = window.close_ns.since(window.open_ns).0;
        let edge =
            |quarter: u64| Nanos(window.open_ns.0 + (u128::from(length) * u128::from(quarter) / 4) as u64);
        let mean = |quarter: u64| {
            let part = crate::summary::Window { open_ns: edge(quarter), close_ns: edge(quarter + 1) };
            let stay: u128 =
                requests.iter().map(|request| u128::from(part.overlap(request.due_ns, request.end_ns))).sum();
            stay as f64 / (part.close_ns.since(part.open_ns).0.max(1)) as f64
        };
        let quarters = [mean(0), mean(1), mean(2), mean(3)];
        let offered = count(&|request| window.contains(request.due_ns));
        let over = count(&|request| window.contains_end(request.end_ns));
        let is_ramp = matches!(arrivals, Arrivals::Ramp { .. });
        Some(Self {
            offered,
            growth: backlog(window.close_ns) - backlog(window.open_ns),
            quarters,
            over,
            capped: level.cohort.iter().filter(|request| request.capped).count() as u64,
            grew: !is_ramp && grew(quarters, offered, over),
        })
    }
}

/// When requests were in flight. A closed loop always has some; an open one is idle at times, and so is its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Busy(Option<Vec<(Nanos, Nanos)>>);

impl Busy {
    /// At every instant.
    pub const ALWAYS: Self = Self(None);

    pub fn of(level: &LevelRecords<'_>) -> Self {
        if !level.level.is_open_loop() {
            return Self::ALWAYS;
        }
        let mut stays: Vec<(Nanos, Nanos)> =
            level.requests.iter().filter_map(|request| Some((request.sent_ns?, request.end_ns))).collect();
        stays.sort_unstable();
        let mut merged: Vec<(Nanos, Nanos)> = Vec::new();
        for (from, to) in stays {
            match merged.last_mut() {
                Some((_, end)) if from <= *end => *end = to.max(*end),
                _ => merged.push((from, to)),
            }
        }
        Self(Some(merged))
    }

    /// True when a request was in flight.
    pub fn at(&self, at: Nanos) -> bool {
        let Some(stays) = &self.0 else { return true };
        let after = stays.partition_point(|(from, _)| *from <= at);
        after.checked_sub(1).and_then(|index| stays.get(index)).is_some_and(|(_, to)| at < *to)
    }
}

/// Each quarter above the one before, the last above the first by more than three standard deviations of the difference
/// of two counts of a server that keeps up (Poisson: the variance is the mean), and fewer requests over than arrived.
fn grew(quarters: [f64; 4], offered: u64, over: u64) -> bool {
    let [first, .., last] = quarters;
    let rises = quarters.is_sorted_by(|a, b| a < b);
    rises && last - first > (3.0 * (2.0 * first).sqrt()).max(2.0) && (over as f64) < BEHIND * offered as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Window;
    use crate::testing::{Request, ms};

    /// `k` servers of a second each, first come first served, arrivals at these instants; the window is [20 s, 80 s).
    fn arriving(servers: usize, due_ms: impl Iterator<Item = u64>) -> Arriving {
        let mut free = vec![0; servers];
        let records: Vec<_> = due_ms
            .map(|due| {
                let server = free.iter_mut().min().unwrap();
                *server = due.max(*server) + 1000;
                Request::new(due).end(*server).build()
            })
            .collect();
        let level = LevelRecords {
            window: Some(Window { open_ns: ms(20_000), close_ns: ms(80_000) }),
            requests: records.iter().collect(),
            ..LevelRecords::new(1.into(), 0)
        };
        Arriving::of(&level, &Arrivals::Poisson).unwrap()
    }

    /// 4.4 requests per second on a server of four: 24 more wait after a minute, by hand.
    #[test]
    fn above_capacity_the_backlog_grows() {
        let found = arriving(4, (0..440).map(|k| k * 1000 / 44 * 10));
        assert!(found.grew, "{found:?}");
        assert!((found.growth - 24.0).abs() <= 1.0, "{found:?}");
        assert!(found.offered.abs_diff(264) <= 1 && found.over.abs_diff(240) <= 4, "{found:?}");
        let twice = arriving(4, (0..800).map(|k| k * 125));
        assert!(twice.grew && (twice.growth - 240.0).abs() <= 4.0, "{twice:?}");
    }

    #[test]
    fn an_open_loop_is_idle_at_times() {
        let records = [(10, 20), (15, 30), (40, 50)].map(|(sent, end)| Request::new(sent).end(end).build());
        let level = |level: plimsoll_record::Level| LevelRecords {
            requests: records.iter().collect(),
            ..LevelRecords::new(level, 0)
        };
        let busy = Busy::of(&level(plimsoll_record::Rate::new(1.0).unwrap().into()));
        assert_eq!(
            [9, 10, 25, 30, 39, 49, 50].map(|at| busy.at(ms(at))),
            [false, true, true, false, false, true, false]
        );
        assert!(Busy::of(&level(1.into())).at(ms(35)));
    }

    #[test]
    fn each_condition_is_needed() {
        assert!(grew([10.0, 20.0, 30.0, 40.0], 100, 70));
        assert!(!grew([10.0, 20.0, 30.0, 40.0], 100, 96));
        assert!(!grew([10.0, 50.0, 30.0, 60.0], 100, 70));
        assert!(!grew([10.0, 14.0, 18.0, 23.0], 100, 70));
        assert!(!grew([0.0, 0.5, 1.0, 1.9], 100, 70));
    }

    #[test]
    fn below_capacity_it_does_not() {
        assert!(!arriving(4, (0..360).map(|k| k * 1000 / 36 * 10)).grew);
        assert!(!arriving(4, (0..400).map(|k| k * 250)).grew);
    }

    /// Seeded Poisson arrivals: at 70 % of capacity a finding is an exception, at 150 % the rule.
    #[test]
    fn chance_is_not_growth() {
        let mut state = 5_u64;
        let mut gap = |mean_ms: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            -mean_ms * libm::log(uniform)
        };
        let mut share = |rate: f64| {
            (0..200)
                .filter(|_| {
                    let mut at = 0.0;
                    let due: Vec<u64> = std::iter::from_fn(|| {
                        at += gap(1000.0 / rate);
                        (at < 100_000.0).then_some(at as u64)
                    })
                    .collect();
                    arriving(4, due.into_iter()).grew
                })
                .count()
        };
        assert!(share(2.8) <= 2);
        assert!(share(3.4) <= 10);
        assert!(share(6.0) >= 195);
    }
}
