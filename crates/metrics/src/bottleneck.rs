//! What the limit was: where the slots of a closed loop spend their time.
//!
//! A slot is at each moment with the client (not in flight), between client and engine, in the server's queue, or being
//! served; time averages of the four sum to the concurrency.

use crate::server::ServerLoad;
use crate::summary::{Bottleneck, BottleneckKind};
use std::collections::BTreeMap;

/// Fewest scrapes inside the window for gauges to be evidence.
pub(crate) const SCRAPES: u64 = 20;

/// Fewest requests that must finish inside the window for the histograms' sums to be evidence.
const FINISHED: f64 = 10.0;

/// Share of the slots at which what the client leaves empty matters.
const CLIENT: f64 = 0.05;
/// Share above which the client, not the server, decides.
const CLIENT_DECIDES: f64 = 0.25;
/// Share at which time between client and engine matters.
const NETWORK: f64 = 0.10;
/// Running at this share of the most seen is a full batch. A busy front end leaves holes between one request and the
/// next, and the sums are booked when a request ends; both keep a full batch from reading 1.
const FULL: f64 = 0.85;
/// KV use at which blocks, not slots, limit admission.
const KV_FULL: f64 = 0.9;

/// What the server's part of a budget rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    Histogram,
    Gauge,
}

impl Basis {
    pub const fn source(self) -> &'static str {
        match self {
            Self::Histogram => "server histogram",
            Self::Gauge => "server gauge",
        }
    }
}

/// Where the slots are on average; the four parts sum to the concurrency.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    pub level: u32,
    pub client: f64,
    pub network: f64,
    pub queue: f64,
    pub service: f64,
    pub basis: Basis,
    /// Requests or scrapes behind the server's part.
    pub n: u64,
    /// The most that ran at once as far as the gauge saw.
    pub running_max: Option<f64>,
    pub waiting_share: Option<f64>,
    pub kv_mean: Option<f64>,
    pub kv_max: Option<f64>,
    pub preemptions: Option<f64>,
}

impl Budget {
    pub fn of(level: u32, in_flight: f64, server: &ServerLoad) -> Result<Self, String> {
        let gauges = &server.gauges;
        let (service, queue, basis, n) = match (
            &server.running,
            &server.waiting,
            gauges.running.zip(gauges.waiting),
        ) {
            (Ok(running), Ok(waiting), _) if server.finished >= FINISHED => {
                (*running, *waiting, Basis::Histogram, server.finished as u64)
            }
            (_, _, Some((running, waiting))) if gauges.used >= SCRAPES => {
                (running, waiting, Basis::Gauge, gauges.used)
            }
            (Err(fell), _, _) | (_, Err(fell), _) => {
                return Err(format!(
                    "the server's histograms of inference and queue time: {}; its gauges: {} usable scrapes inside the window, {SCRAPES} are needed",
                    fell.0, gauges.used
                ));
            }
            _ => {
                return Err(format!(
                    "only {:.0} requests finished and {} usable scrapes fell inside the window; {FINISHED:.0} or {SCRAPES} are needed",
                    server.finished, gauges.used
                ));
            }
        };
        let slots = f64::from(level);
        let network = in_flight - queue - service;
        if network < -NETWORK * slots {
            return Err(format!(
                "the server held {:.2} requests on average, this client only {in_flight:.2} in flight: other traffic, or a window too short for requests of this length",
                queue + service
            ));
        }
        Ok(Self {
            level,
            client: slots - in_flight,
            network,
            queue,
            service,
            basis,
            n,
            running_max: gauges.running_max,
            waiting_share: gauges.waiting_share.filter(|_| gauges.used >= SCRAPES),
            kv_mean: gauges.kv_mean,
            kv_max: gauges.kv_max,
            preemptions: server.preemptions,
        })
    }

    /// The most that this level shows to run at once.
    pub fn most_running(&self) -> f64 {
        self.running_max.unwrap_or(0.0).max(self.service)
    }

    fn waits(&self) -> bool {
        let enough = (CLIENT * f64::from(self.level)).clamp(0.05, 0.5);
        self.queue >= enough || self.waiting_share.is_some_and(|share| share >= 0.8)
    }

    fn blocks_are_short(&self) -> bool {
        self.kv_mean.is_some_and(|kv| kv >= KV_FULL)
            || (self.preemptions.is_some_and(|count| count > 0.0) && self.kv_max.is_some_and(|kv| kv >= 0.95))
    }

    /// `most` is the largest batch that any level shows.
    fn kind(&self, most: f64) -> BottleneckKind {
        let slots = f64::from(self.level);
        let client_matters = self.client >= CLIENT * slots;
        let network_matters = self.network > NETWORK * slots;
        let full = self.service >= FULL * most;
        if !self.waits() {
            return match (network_matters, client_matters) {
                (true, _) if self.network >= self.client => BottleneckKind::Network,
                (_, true) => BottleneckKind::Client,
                _ => BottleneckKind::UnderLoaded,
            };
        }
        // Requests wait in the server. That decides unless more slots are lost before they reach it.
        let outside = if self.network >= self.client { network_matters } else { client_matters };
        if outside && self.network.max(self.client) > self.queue {
            return if self.network >= self.client {
                BottleneckKind::Network
            } else if full && self.client <= CLIENT_DECIDES * slots {
                BottleneckKind::Mixed
            } else {
                BottleneckKind::Client
            };
        }
        if self.blocks_are_short() || !full {
            BottleneckKind::ServerAdmission
        } else if client_matters {
            BottleneckKind::Mixed
        } else {
            BottleneckKind::ServerSlots
        }
    }

    fn parts(&self) -> [(&'static str, f64); 4] {
        [
            ("client", self.client),
            ("network and front end", self.network),
            ("queue", self.queue),
            ("service", self.service),
        ]
    }
}

/// The verdict at one level. `below` is the next lower level, `most` the largest batch that any level shows.
pub(crate) fn judge(
    level: u32,
    budget: &Result<Budget, String>,
    below: Option<&Budget>,
    most: f64,
) -> Bottleneck {
    let budget = match budget {
        Ok(budget) => budget,
        Err(reason) => return cannot_judge(Some(level), reason),
    };
    let kind = budget.kind(most);
    let shares: Vec<String> = budget
        .parts()
        .iter()
        .map(|(name, part)| format!("{name} {:.0} %", whole(100.0 * part / f64::from(level))))
        .collect();
    let mut text = vec![
        headline(kind).to_owned(),
        format!("At {level} in flight: {}.", shares.join(", ")),
        format!(
            "The server ran {:.2} requests on average (at most {most:.1} at any level) and {:.2} waited ({}, n = {}); of {level} slots the client held {:.2} back and {:.2} were between client and engine.",
            budget.service,
            budget.queue,
            budget.basis.source(),
            budget.n,
            budget.client,
            budget.network,
        ),
    ];
    if let Some(share) = budget.waiting_share {
        text.push(format!("Something waited in {:.0} % of the scrapes.", 100.0 * share));
    }
    if let Some(kv) = budget.kv_max {
        text.push(format!("KV use reached {:.0} %.", 100.0 * kv));
    }
    if let Some(preempted) = budget.preemptions.filter(|count| *count > 0.0) {
        text.push(format!("{preempted:.0} requests were preempted."));
    }
    if let Some((name, growth, from)) = below.and_then(|below| grown_most(below, budget)) {
        text.push(format!("From {from} to {level} in flight {name} grew most, by {growth:.2}."));
    }
    Bottleneck { kind, level: Some(level), text: text.join(" "), figures: figures(budget, most) }
}

/// The verdict of the run, from the repeats of its highest level.
pub(crate) fn overall(highest: &[&Bottleneck]) -> Bottleneck {
    match highest {
        [] => cannot_judge(None, "no level was measured"),
        [first, rest @ ..] if rest.iter().all(|other| other.kind == first.kind) => (*first).clone(),
        [first, ..] => {
            let kinds: Vec<&str> = highest.iter().map(|verdict| headline(verdict.kind)).collect();
            cannot_judge(
                first.level,
                &format!("the repeats of the highest level disagree: {}", kinds.join(" / ")),
            )
        }
    }
}

pub(crate) fn cannot_judge(level: Option<u32>, reason: &str) -> Bottleneck {
    Bottleneck {
        kind: BottleneckKind::CannotJudge,
        level,
        text: format!("The limit cannot be judged: {reason}."),
        figures: BTreeMap::new(),
    }
}

/// Rounded, without a negative zero.
fn whole(percent: f64) -> f64 {
    percent.round() + 0.0
}

fn headline(kind: BottleneckKind) -> &'static str {
    match kind {
        BottleneckKind::ServerSlots => "The server's batch is full and requests wait.",
        BottleneckKind::ServerAdmission => {
            "Requests wait although the server has run more at once, or KV blocks are short."
        }
        BottleneckKind::Mixed => "The server is near its limit while the client leaves gaps.",
        BottleneckKind::Client => "The client does not fill its slots, so the server is not at its limit.",
        BottleneckKind::Network => {
            "The time goes between client and engine: network, proxy or the server's front end, not its batch."
        }
        BottleneckKind::UnderLoaded => "Nothing waits: the server serves this load as it comes.",
        BottleneckKind::CannotJudge => "Cannot be judged.",
    }
}

fn grown_most(below: &Budget, budget: &Budget) -> Option<(&'static str, f64, u32)> {
    below
        .parts()
        .into_iter()
        .zip(budget.parts())
        .map(|((name, before), (_, now))| (name, now - before, below.level))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, growth, _)| *growth > 0.0)
}

fn figures(budget: &Budget, most: f64) -> BTreeMap<String, f64> {
    [
        ("client", Some(budget.client)),
        ("network", Some(budget.network)),
        ("queue", Some(budget.queue)),
        ("service", Some(budget.service)),
        ("most_running", Some(most)),
        ("waiting_share", budget.waiting_share),
        ("kv_usage_mean", budget.kv_mean),
        ("kv_usage_max", budget.kv_max),
        ("preemptions", budget.preemptions),
        ("n", Some(budget.n as f64)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|value| value.is_finite())?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(level: u32, in_flight: f64, running: f64, waiting: f64) -> Budget {
        Budget {
            level,
            client: f64::from(level) - in_flight,
            network: in_flight - running - waiting,
            queue: waiting,
            service: running,
            basis: Basis::Histogram,
            n: 100,
            running_max: None,
            waiting_share: None,
            kv_mean: None,
            kv_max: None,
            preemptions: None,
        }
    }

    /// Five clients on four slots with a growing gap between requests, by simulation.
    #[test]
    fn a_client_that_leaves_gaps() {
        for (in_flight, running, waiting, expected) in [
            (5.0, 4.0, 1.0, BottleneckKind::ServerSlots),
            (4.8, 3.98, 0.8, BottleneckKind::ServerSlots),
            (4.05, 3.72, 0.32, BottleneckKind::Mixed),
            (2.45, 2.41, 0.06, BottleneckKind::Client),
        ] {
            assert_eq!(budget(5, in_flight, running, waiting).kind(4.0), expected, "{in_flight}");
        }
    }

    /// A real vLLM with four slots and one busy API process.
    #[test]
    fn a_front_end_that_takes_its_share() {
        assert_eq!(budget(16, 15.98, 3.95, 10.1).kind(4.0), BottleneckKind::ServerSlots);
        assert_eq!(budget(8, 7.97, 3.6, 2.7).kind(4.0), BottleneckKind::ServerSlots);
        assert_eq!(budget(4, 3.98, 2.2, 0.0).kind(4.0), BottleneckKind::Network);
    }

    #[test]
    fn other_limits() {
        assert_eq!(budget(4, 4.0, 3.95, 0.0).kind(8.0), BottleneckKind::UnderLoaded);
        assert_eq!(budget(32, 31.9, 30.8, 1.0).kind(31.0), BottleneckKind::ServerSlots);
        assert_eq!(budget(32, 31.9, 12.0, 19.0).kind(16.0), BottleneckKind::ServerAdmission);
        let short = Budget { kv_mean: Some(0.97), ..budget(32, 31.9, 16.0, 15.0) };
        assert_eq!(short.kind(16.0), BottleneckKind::ServerAdmission);
        assert_eq!(budget(8, 7.9, 2.0, 0.5).kind(2.0), BottleneckKind::Network);
    }

    #[test]
    fn text_and_figures() {
        let (below, now) = (budget(8, 7.97, 3.6, 2.7), budget(16, 15.98, 3.95, 10.1));
        let verdict = judge(16, &Ok(now), Some(&below), 4.0);
        for part in [
            "batch is full",
            "3.95",
            "10.10",
            "queue 63 %",
            "From 8 to 16 in flight queue grew most, by 7.40",
        ] {
            assert!(verdict.text.contains(part), "{part}: {}", verdict.text);
        }
        let sum: f64 =
            ["client", "network", "queue", "service"].iter().map(|name| verdict.figures[*name]).sum();
        assert!((sum - 16.0).abs() < 1e-9);
        let other = judge(16, &Err("no scrapes".to_owned()), None, 0.0);
        assert_eq!(overall(&[&verdict, &other]).kind, BottleneckKind::CannotJudge);
        assert_eq!(overall(&[&verdict, &verdict]), verdict);
        assert_eq!(overall(&[]).kind, BottleneckKind::CannotJudge);
    }
}
