use super::numbers::{key, key_titles};
use super::sheet::{Sheet, cells};
use crate::{ReportInput, escape, figure};
use plimsoll_metrics::{ClientVerdict, CriterionState, LevelSummary, Number, Summary};

/// The numbers of the proof that the client was not the limit, with their titles.
const PROOF: [(&str, &str); 12] = [
    ("send delay p50", "send_delay_p50"),
    ("send delay p99", "send_delay_p99"),
    ("client lag p99", "client_lag_p99"),
    ("read delay p99", "kernel_lag_p99"),
    ("runtime lag p99", "runtime_lag_p99"),
    ("busiest thread", "busiest_thread"),
    ("process", "process_cpu"),
    ("throttled", "throttled"),
    ("steal", "steal"),
    ("segments sent again", "retransmits"),
    ("new connections", "new_connection_share"),
    ("events/s", "events_s"),
];

/// What this client was busy with, level by level.
pub fn proof(sheet: &mut Sheet, summary: &Summary) {
    if summary.levels.is_empty() {
        return;
    }
    sheet.heading(2, "Was this client the limit?");
    sheet.paragraph(
        "`clear` asks for: send delay p99 under 1 ms; read delay p99 (kernel's receipt to read) under 1 ms and under 5 % of \
         the median time per token; runtime lag p99 under 2 ms; busiest thread under 70 % of a processor; no throttling. \
         Beyond a limit is what the lower end of its 95 % interval says is beyond. The self-test must have reached 3 times the load.",
    );
    // A column that no level knows is left out; what is not known stands among the reasons.
    let columns: Vec<(&str, &str)> = PROOF
        .into_iter()
        .filter(|(_, name)| summary.levels.iter().any(|level| shown(level, name).is_some()))
        .collect();
    let mut header = key_titles(summary);
    header.push("client".to_owned());
    let texts = header.len();
    header.extend(columns.iter().map(|(title, _)| (*title).to_owned()));
    header.push("self-test".to_owned());
    let row = |level: &LevelSummary| {
        let mut row = key(level, summary);
        row.push(verdict(level.client.verdict).to_owned());
        row.extend(
            columns.iter().map(|(_, name)| shown(level, name).unwrap_or_else(|| figure::NONE.to_owned())),
        );
        let ceiling = level.client.criteria.iter().find(|c| c.name == "ceiling").and_then(|c| c.value);
        row.push(
            ceiling.map_or_else(|| figure::NONE.to_owned(), |t| format!("{} times", figure::significant(t))),
        );
        row
    };
    sheet.table(&header, &summary.levels.iter().map(row).collect::<Vec<_>>(), texts);
    sheet.list(&reasons(summary));
}

/// What is not met, one line per criterion and state with the levels; of several levels the last one's words.
fn reasons(summary: &Summary) -> Vec<String> {
    let mut found: Vec<(&str, CriterionState, Vec<String>, &str)> = Vec::new();
    for level in &summary.levels {
        for criterion in level.client.criteria.iter().filter(|c| c.state != CriterionState::Met) {
            let place = crate::footnote::place(level, summary);
            match found
                .iter_mut()
                .find(|(name, state, ..)| *name == criterion.name && *state == criterion.state)
            {
                Some((_, _, places, text)) => {
                    places.push(place);
                    *text = &criterion.text;
                }
                None => found.push((&criterion.name, criterion.state, vec![place], &criterion.text)),
            }
        }
    }
    let state = |state: CriterionState| match state {
        CriterionState::Exceeded => "beyond the limit",
        CriterionState::Open => "open",
        CriterionState::Unknown | CriterionState::Met => "not known",
    };
    found
        .iter()
        .map(|(_, of, here, text)| {
            let everywhere = here.len() == summary.levels.len() && here.len() > 1;
            let places = if everywhere { "all levels".to_owned() } else { here.join(", ") };
            let last = if here.len() > 1 && *of != CriterionState::Unknown {
                here.last().map(|place| format!("at {place} ")).unwrap_or_default()
            } else {
                String::new()
            };
            format!("{} at {places}: {last}{}", state(*of), escape::markdown(text))
        })
        .collect()
}

const fn verdict(verdict: ClientVerdict) -> &'static str {
    match verdict {
        ClientVerdict::Clear => "clear",
        ClientVerdict::NotProven => "not proven",
        ClientVerdict::Limited => "limited",
    }
}

/// Connections that were opened while requests waited for them. Nothing where there were none.
pub fn connections(sheet: &mut Sheet, summary: &Summary) {
    let opened = |level: &&LevelSummary| level.number("connect_max").is_some();
    let levels: Vec<&LevelSummary> = summary.levels.iter().filter(opened).collect();
    if levels.is_empty() {
        return;
    }
    sheet.heading(2, "New connections");
    sheet.paragraph("Requests of the window that had to open a connection, and how long they waited for it.");
    let mut header = key_titles(summary);
    header.extend(cells([
        "share",
        "n",
        "connect p50",
        "connect p95",
        "connect max",
        "TLS p50",
        "TLS p95",
        "TLS max",
    ]));
    let rows: Vec<Vec<String>> = levels
        .iter()
        .map(|level| {
            let mut row = key(level, summary);
            let of = |name: &str| shown(level, name).unwrap_or_else(|| figure::NONE.to_owned());
            row.push(of("new_connection_share"));
            row.push(level.number("connect_max").map_or_else(String::new, |number| number.n.to_string()));
            row.extend(
                ["connect_p50", "connect_p95", "connect_max", "tls_p50", "tls_p95", "tls_max"].map(of),
            );
            row
        })
        .collect();
    sheet.table(&header, &rows, 0);
}

/// Numbers by target, where there are several.
pub fn targets(sheet: &mut Sheet, input: &ReportInput<'_>) {
    let summary = input.summary;
    if summary.levels.iter().all(|level| level.targets.is_empty()) {
        return;
    }
    sheet.heading(2, "Targets");
    let mut header = key_titles(summary);
    header.push("target".to_owned());
    let texts = header.len();
    header.extend(cells([
        "n",
        "ok",
        "TTFT p50",
        "TTFT p95",
        "E2E p50",
        "E2E p95",
        "share of tokens",
        "failures",
    ]));
    let mut rows = Vec::new();
    for level in &summary.levels {
        for target in &level.targets {
            let url = input.conditions.environment.targets.get(target.target as usize);
            let mut row = key(level, summary);
            let number = u64::from(target.target) + 1;
            row.push(
                url.map_or_else(|| number.to_string(), |of| format!("{number} {}", escape::code(&of.url))),
            );
            row.extend([target.n.to_string(), target.ok.to_string()]);
            row.extend(["ttft_p50", "ttft_p95", "e2e_p50", "e2e_p95", "token_share"].map(|name| {
                let number = target.numbers.iter().find(|number| number.name == name);
                number.map_or_else(|| figure::NONE.to_owned(), figure::with_unit)
            }));
            let failures: Vec<String> = target
                .failures
                .iter()
                .map(|(kind, count)| format!("{count} x {}", escape::markdown(kind)))
                .collect();
            row.push(failures.join(", "));
            rows.push(row);
        }
    }
    sheet.table(&header, &rows, texts);
}

/// A number that is known, or the largest where n is too small for its quantile.
fn shown(level: &LevelSummary, name: &str) -> Option<String> {
    let known = |number: &&Number| number.value.is_some();
    level.number(name).filter(known).map(figure::with_unit)
}
