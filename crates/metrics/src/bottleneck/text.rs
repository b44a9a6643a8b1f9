//! The finding in words, with the figures it rests on.

use super::Evidence;
use super::budget::Budget;
use crate::client::{ClientProof, ClientVerdict};
use crate::summary::BottleneckKind;
use crate::words;
use plimsoll_record::Level;

/// Less is 0.00 in print.
const SHOWN: f64 = 0.005;

pub(super) fn of_level(of: &Evidence<'_>, budget: &Budget, kind: BottleneckKind) -> String {
    let level = of.level;
    let shares: Vec<String> = budget
        .parts()
        .map(|(name, part)| format!("{name} {:.0} %", whole(100.0 * part / budget.whole().max(1e-9))))
        .collect();
    let mut text = vec![
        if level.is_open_loop() { open_headline(kind, of.grew) } else { headline(kind) }.to_owned(),
        format!("At {}: {}.", words::load(level), shares.join(", ")),
        format!(
            "The server ran {:.2} requests on average (at most {:.1} at any level) and {:.2} waited ({}, n = {}); {}.",
            budget.service,
            of.most,
            budget.queue,
            budget.basis.source(),
            budget.n,
            outside(budget),
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
    if let Some((name, growth, from)) = of.below.and_then(|below| grown_most(below, budget)) {
        text.push(format!("From {from} to {} {name} grew most, by {growth:.2}.", words::load(level)));
    }
    let mut text = text.join(" ");
    text.extend(of_client(kind, of.client));
    text
}

/// What is outside of the server's engine.
fn outside(budget: &Budget) -> String {
    let between = match budget.client {
        Some(client) => format!(
            "of {} slots the client held {client:.2} back and {:.2} were between client and engine",
            budget.level, budget.network
        ),
        None => format!(
            "of {:.2} requests in flight {:.2} were between client and engine",
            budget.under_way, budget.network
        ),
    };
    match budget.connecting {
        connecting if connecting >= SHOWN => {
            format!("{between}, {connecting:.2} of them waiting for a new connection")
        }
        _ => between,
    }
}

/// A sentence on this client, where its state bears on the verdict.
pub(super) fn of_client(kind: BottleneckKind, client: &ClientProof) -> Option<String> {
    use BottleneckKind::{Client, Mixed, Network};
    match client.verdict {
        ClientVerdict::Limited => Some(format!(" This client was at its own limit: {}.", client.reasons)),
        ClientVerdict::NotProven if matches!(kind, Client | Mixed | Network) => {
            Some(format!(" That this client was not the limit is not proven: {}.", client.reasons))
        }
        ClientVerdict::NotProven | ClientVerdict::Clear => None,
    }
}

/// Rounded, without a negative zero.
fn whole(percent: f64) -> f64 {
    percent.round() + 0.0
}

pub(super) const fn headline(kind: BottleneckKind) -> &'static str {
    match kind {
        BottleneckKind::ServerSlots => "The server's batch is full and requests wait.",
        BottleneckKind::ServerAdmission => {
            "Requests wait although the server has run more at once, or KV blocks are short."
        }
        BottleneckKind::Mixed => "The server is near its limit while the client leaves gaps.",
        BottleneckKind::Client => {
            "The client does not fill its slots or is late itself, so the server is not at its limit."
        }
        BottleneckKind::Network => {
            "The time goes between client and engine: network, proxy or the server's front end, not its batch."
        }
        BottleneckKind::UnderLoaded => "Nothing waits: the server serves this load as it comes.",
        BottleneckKind::CannotJudge => "Cannot be judged.",
    }
}

const fn open_headline(kind: BottleneckKind, grew: bool) -> &'static str {
    match (kind, grew) {
        (BottleneckKind::ServerSlots, true) => "The server's batch is full, and the backlog grows.",
        (BottleneckKind::ServerSlots, false) => {
            "The server's batch is full and requests wait, though it keeps up with this rate."
        }
        (BottleneckKind::Client, _) => {
            "The client's own cap or delay holds requests back, so the server is not at its limit."
        }
        (BottleneckKind::UnderLoaded, _) => "The server keeps up with this rate.",
        (BottleneckKind::CannotJudge, _) => {
            "The backlog grows, and nothing that was measured shows where it waits."
        }
        (kind, _) => headline(kind),
    }
}

fn grown_most(below: &Budget, budget: &Budget) -> Option<(&'static str, f64, Level)> {
    below
        .parts()
        .zip(budget.parts())
        .map(|((name, before), (_, now))| (name, now - before, below.level))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, growth, _)| *growth > 0.0)
}
