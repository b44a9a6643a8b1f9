//! What the limit was: where the requests spend their time.
//!
//! In a closed loop a slot is at each moment with the client (not in flight), between client and engine (waiting for a new
//! connection, too), in the server's queue, or being served; time averages of the four sum to the concurrency. In an open
//! loop there are no slots: the last three sum to the requests in flight or waiting for a connection, and what shows a
//! limit is a backlog that grows.

mod budget;
mod kind;
mod text;

pub(crate) use budget::{Budget, SCRAPES};

use crate::client::{ClientProof, ClientVerdict};
use crate::summary::{Bottleneck, BottleneckKind};
use plimsoll_record::Level;
use std::collections::BTreeMap;

/// What a level's verdict rests on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    pub level: Level,
    pub budget: Result<&'a Budget, &'a str>,
    /// The next lower level of the same kind.
    pub below: Option<&'a Budget>,
    /// The largest batch that any level shows.
    pub most: f64,
    /// Open loop: the backlog grew.
    pub grew: bool,
    /// Open loop: requests waited for the cap on requests in flight.
    pub capped: bool,
    pub client: &'a ClientProof,
}

/// The verdict at one level.
pub(crate) fn judge(of: &Evidence<'_>) -> Bottleneck {
    let budget = match of.budget {
        Ok(budget) => budget,
        Err(reason) => {
            let mut verdict = cannot_judge(Some(of.level), reason);
            verdict.text.extend(text::of_client(BottleneckKind::CannotJudge, of.client));
            return verdict;
        }
    };
    let found = budget.kind(of);
    // What a late reader or sender adds cannot be told from time on the network.
    let kind = match (found, of.client.verdict) {
        (BottleneckKind::Network, ClientVerdict::Limited) => BottleneckKind::Client,
        _ => found,
    };
    Bottleneck {
        kind,
        level: Some(of.level),
        text: text::of_level(of, budget, kind),
        figures: figures(budget, of.most),
    }
}

/// The verdict of the run, from the repeats of its highest level.
pub(crate) fn overall(highest: &[&Bottleneck]) -> Bottleneck {
    match highest {
        [] => cannot_judge(None, "no level was measured"),
        [first, rest @ ..] if rest.iter().all(|other| other.kind == first.kind) => (*first).clone(),
        [first, ..] => {
            let kinds: Vec<&str> = highest.iter().map(|verdict| text::headline(verdict.kind)).collect();
            cannot_judge(
                first.level,
                &format!("the repeats of the highest level disagree: {}", kinds.join(" / ")),
            )
        }
    }
}

pub(crate) fn cannot_judge(level: Option<Level>, reason: &str) -> Bottleneck {
    Bottleneck {
        kind: BottleneckKind::CannotJudge,
        level,
        text: format!("The limit cannot be judged: {reason}."),
        figures: BTreeMap::new(),
    }
}

fn figures(budget: &Budget, most: f64) -> BTreeMap<String, f64> {
    [
        ("client", budget.client),
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
    use super::budget::Basis;
    use super::*;
    use plimsoll_record::Rate;

    fn proof(verdict: ClientVerdict) -> ClientProof {
        ClientProof { verdict, reasons: "runtime lag p99 9 ms".to_owned(), criteria: Vec::new() }
    }

    fn judged(
        budget: Result<&Budget, &str>,
        below: Option<&Budget>,
        most: f64,
        grew: bool,
        verdict: ClientVerdict,
    ) -> Bottleneck {
        let level = budget.map_or(16.into(), |budget| budget.level);
        judge(&Evidence { level, budget, below, most, grew, capped: false, client: &proof(verdict) })
    }

    fn kind(budget: &Budget, most: f64) -> BottleneckKind {
        judged(Ok(budget), None, most, false, ClientVerdict::Clear).kind
    }

    fn budget(level: u32, in_flight: f64, running: f64, waiting: f64) -> Budget {
        Budget {
            level: level.into(),
            under_way: in_flight,
            connecting: 0.0,
            client: Some(f64::from(level) - in_flight),
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
            assert_eq!(kind(&budget(5, in_flight, running, waiting), 4.0), expected, "{in_flight}");
        }
    }

    /// A real vLLM with four slots and one busy API process.
    #[test]
    fn a_front_end_that_takes_its_share() {
        assert_eq!(kind(&budget(16, 15.98, 3.95, 10.1), 4.0), BottleneckKind::ServerSlots);
        assert_eq!(kind(&budget(8, 7.97, 3.6, 2.7), 4.0), BottleneckKind::ServerSlots);
        assert_eq!(kind(&budget(4, 3.98, 2.2, 0.0), 4.0), BottleneckKind::Network);
    }

    #[test]
    fn other_limits() {
        assert_eq!(kind(&budget(4, 4.0, 3.95, 0.0), 8.0), BottleneckKind::UnderLoaded);
        assert_eq!(kind(&budget(32, 31.9, 30.8, 1.0), 31.0), BottleneckKind::ServerSlots);
        assert_eq!(kind(&budget(32, 31.9, 12.0, 19.0), 16.0), BottleneckKind::ServerAdmission);
        let short = Budget { kv_mean: Some(0.97), ..budget(32, 31.9, 16.0, 15.0) };
        assert_eq!(kind(&short, 16.0), BottleneckKind::ServerAdmission);
        assert_eq!(kind(&budget(8, 7.9, 2.0, 0.5), 2.0), BottleneckKind::Network);
    }

    #[test]
    fn text_and_figures() {
        let (below, now) = (budget(8, 7.97, 3.6, 2.7), budget(16, 15.98, 3.95, 10.1));
        let verdict = judged(Ok(&now), Some(&below), 4.0, false, ClientVerdict::NotProven);
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
        let other = judged(Err("no scrapes"), None, 0.0, false, ClientVerdict::Clear);
        assert_eq!(overall(&[&verdict, &other]).kind, BottleneckKind::CannotJudge);
        assert_eq!(overall(&[&verdict, &verdict]), verdict);
        assert_eq!(overall(&[]).kind, BottleneckKind::CannotJudge);
    }

    #[test]
    fn a_late_client_is_no_network() {
        let fronted = budget(4, 3.98, 2.2, 0.0);
        let with = |verdict| judged(Ok(&fronted), None, 4.0, false, verdict);
        assert_eq!(with(ClientVerdict::Limited).kind, BottleneckKind::Client);
        assert!(
            with(ClientVerdict::Limited)
                .text
                .ends_with("This client was at its own limit: runtime lag p99 9 ms.")
        );
        assert_eq!(with(ClientVerdict::NotProven).kind, BottleneckKind::Network);
        assert!(with(ClientVerdict::NotProven).text.contains("is not proven: runtime lag"));
        assert!(!with(ClientVerdict::Clear).text.contains("runtime lag"));
        // A full batch with a queue stays the server's, whatever the client.
        let slots = budget(16, 15.98, 3.95, 10.1);
        let verdict = judged(Ok(&slots), None, 4.0, false, ClientVerdict::Limited);
        assert_eq!(verdict.kind, BottleneckKind::ServerSlots);
        assert!(verdict.text.contains("at its own limit"));
    }

    #[test]
    fn an_open_loop_has_no_slots() {
        let open = |in_flight: f64, running, waiting| Budget {
            level: Level::Rate(Rate::new(5.0).unwrap()),
            client: None,
            ..budget(1, in_flight, running, waiting)
        };
        let kind = |budget: &Budget, grew| judged(Ok(budget), None, 4.0, grew, ClientVerdict::Clear).kind;
        assert_eq!(kind(&open(34.0, 3.9, 29.9), true), BottleneckKind::ServerSlots);
        assert_eq!(kind(&open(4.0, 3.6, 0.4), false), BottleneckKind::ServerSlots);
        assert_eq!(kind(&open(2.5, 2.2, 0.25), false), BottleneckKind::UnderLoaded);
        assert_eq!(kind(&open(34.0, 2.0, 31.0), true), BottleneckKind::ServerAdmission);
        assert_eq!(kind(&open(34.0, 2.0, 0.0), true), BottleneckKind::Network);
        assert_eq!(kind(&open(2.1, 2.0, 0.0), true), BottleneckKind::CannotJudge);
        let text = judged(Ok(&open(34.0, 3.9, 29.9)), None, 4.0, true, ClientVerdict::Clear).text;
        assert!(text.contains("the backlog grows. At 5/s: network and front end 1 %, queue 88 %"), "{text}");
        let capped = open(4.0, 2.0, 0.0);
        let client = proof(ClientVerdict::Clear);
        let of = Evidence {
            level: capped.level,
            budget: Ok(&capped),
            below: None,
            most: 4.0,
            grew: true,
            capped: true,
            client: &client,
        };
        assert_eq!(judge(&of).kind, BottleneckKind::Client);
    }
}
