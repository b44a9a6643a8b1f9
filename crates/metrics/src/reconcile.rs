//! Client counts against the server's counters, from the last scrape before the first request to the last scrape after
//! the end of the last one.

use crate::RunData;
use crate::server::{Fell, Targets};
use crate::summary::{Reconciliation, ReconciliationRow, ReconciliationState};
use plimsoll_record::{Counter, Nanos, PhaseEdge, RequestRecord, Sample, TokenSource};

pub(crate) fn reconcile(run: &RunData, targets: &Targets<'_>) -> Reconciliation {
    let client = Client::of(&run.requests);
    let server = server(targets, &client);
    let row = |name: &str, client: Option<u64>, server: &Result<f64, Fell>| ReconciliationRow {
        name: name.to_owned(),
        client,
        server: server.clone().ok().filter(|value| value.is_finite()),
    };
    let rows = vec![
        row("completions", Some(client.completions), &server[0]),
        row("output_tokens", client.output_tokens, &server[1]),
        row("input_tokens", client.input_tokens, &server[2]),
    ];
    let (state, text) = judge(&client, &rows, &server, lost(run).as_deref());
    Reconciliation { state, rows, text }
}

/// Why the folder may lack requests that the server counted.
fn lost(run: &RunData) -> Option<String> {
    if run.bad_lines > 0 {
        return Some(format!("{} lines of the run folder cannot be read", run.bad_lines));
    }
    let ended = run.phases.iter().any(|mark| mark.edge == PhaseEdge::RunEnd);
    (!ended).then(|| "the run was killed with requests in flight".to_owned())
}

/// The client's counts over every phase.
#[derive(Debug, Default)]
struct Client {
    completions: u64,
    failed: u64,
    /// None when a complete request has no count by the server.
    output_tokens: Option<u64>,
    input_tokens: Option<u64>,
    first: Option<Nanos>,
    end: Option<Nanos>,
}

impl Client {
    fn of(requests: &[RequestRecord]) -> Self {
        let complete = || requests.iter().filter(|request| request.outcome.is_ok());
        let sum = |of: fn(&RequestRecord) -> Option<u32>| {
            complete().map(|r| of(r).map(u64::from)).sum::<Option<u64>>()
        };
        let completions = complete().count() as u64;
        Self {
            completions,
            failed: requests.len() as u64 - completions,
            output_tokens: sum(|request| {
                let by_server = matches!(request.token_source, TokenSource::Usage | TokenSource::TokenIds);
                request.output_tokens.filter(|_| by_server)
            }),
            input_tokens: sum(|request| request.input_tokens),
            first: requests.iter().map(|request| request.sent_ns.unwrap_or(request.due_ns)).min(),
            end: requests.iter().map(|request| request.end_ns).max(),
        }
    }
}

fn server(targets: &Targets<'_>, client: &Client) -> [Result<f64, Fell>; 3] {
    let bracket = client.first.zip(client.end);
    let growth = |read: &dyn Fn(&Sample) -> Option<f64>| -> Result<f64, Fell> {
        let Some((first, end)) = bracket else { return Err(Fell("no request was made")) };
        if targets.tracks.is_empty() {
            return Err(Fell("the server's metrics were not scraped"));
        }
        targets.tracks.iter().map(|track| growth_around(track, first, end, read)).sum()
    };
    [
        growth(&|sample| (!sample.finished.is_empty()).then(|| sample.finished.values().sum())),
        growth(&|sample| sample.counters.get(&Counter::GenerationTokens).copied()),
        growth(&|sample| sample.counters.get(&Counter::PromptTokens).copied()),
    ]
}

fn growth_around(
    track: &[&Sample],
    first: Nanos,
    end: Nanos,
    read: &dyn Fn(&Sample) -> Option<f64>,
) -> Result<f64, Fell> {
    let points = || track.iter().filter_map(|s| Some((s.at_ns, read(s).filter(|value| value.is_finite())?)));
    let before = points().rfind(|(at, _)| *at <= first);
    let after = points().rfind(|(at, _)| *at >= end);
    let (Some((from, before)), Some((to, after))) = (before, after) else {
        return Err(Fell(if points().next().is_none() {
            "the server does not expose it"
        } else {
            "no scrape stands on either side of the load"
        }));
    };
    let inside: Vec<f64> =
        points().filter(|(at, _)| from <= *at && *at <= to).map(|(_, value)| value).collect();
    if inside.is_sorted() { Ok(after - before) } else { Err(Fell(crate::server::RESET)) }
}

fn judge(
    client: &Client,
    rows: &[ReconciliationRow],
    server: &[Result<f64, Fell>; 3],
    lost: Option<&str>,
) -> (ReconciliationState, String) {
    let compared: Vec<(&ReconciliationRow, f64)> =
        rows.iter().filter_map(|row| Some((row, row.server? - row.client? as f64))).collect();
    let list = |rows: &[&(&ReconciliationRow, f64)]| {
        rows.iter()
            .map(|(row, difference)| {
                let (name, ours, theirs) =
                    (row.name.replace('_', " "), row.client.unwrap_or(0), row.server.unwrap_or(0.0));
                format!("{name} {ours} here, {theirs:.0} there ({difference:+.0})")
            })
            .collect::<Vec<_>>()
            .join("; ")
    };
    // A request that failed here may have been finished, begun or never seen there.
    let slack = |row: &ReconciliationRow| {
        if client.failed == 0 {
            0.0
        } else if row.name == "completions" {
            client.failed as f64
        } else {
            f64::INFINITY
        }
    };
    let wrong: Vec<_> = compared
        .iter()
        .filter(|(row, difference)| *difference < -0.5 || *difference > slack(row) + 0.5)
        .collect();
    let mut missing: Vec<String> = rows
        .iter()
        .zip(server)
        .filter_map(|(row, theirs)| {
            let name = row.name.replace('_', " ");
            match theirs {
                Err(fell) => Some(format!("{name}: {}", fell.0)),
                Ok(_) if row.client.is_none() => {
                    Some(format!("{name}: the server did not count every request"))
                }
                Ok(_) => None,
            }
        })
        .collect();
    missing.dedup();
    if let Some(lost) = lost {
        return (
            ReconciliationState::CannotJudge,
            format!("Not comparable: {lost}, so requests may be missing here."),
        );
    }
    if !wrong.is_empty() {
        return (
            ReconciliationState::Mismatch,
            format!(
                "Client and server disagree: {}. Other traffic on the server, a proxy that retries, a page of one replica of several, or another source of token counts.",
                list(&wrong)
            ),
        );
    }
    if client.failed > 0 && !compared.is_empty() {
        return (
            ReconciliationState::CannotJudge,
            format!(
                "{} requests failed or were given up here; the server may have finished them or not, so exact agreement cannot be asked. Nothing contradicts: {}.",
                client.failed,
                list(&compared.iter().collect::<Vec<_>>())
            ),
        );
    }
    if compared.is_empty() || !missing.is_empty() {
        return (ReconciliationState::CannotJudge, format!("Not comparable: {}.", missing.join("; ")));
    }
    (
        ReconciliationState::Match,
        format!(
            "Client and server agree over the whole run: {} completions, {} output tokens, {} input tokens.",
            client.completions,
            client.output_tokens.unwrap_or(0),
            client.input_tokens.unwrap_or(0)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Request, sample};
    use plimsoll_record::{FailureKind, Outcome, PhaseMark};

    fn scrape(at: u64, finished: [f64; 2], output: f64, input: f64) -> Sample {
        let mut sample = sample(at);
        sample.finished = [("length".to_owned(), finished[0]), ("stop".to_owned(), finished[1])].into();
        sample.counters = [(Counter::GenerationTokens, output), (Counter::PromptTokens, input)].into();
        sample
    }

    fn run(requests: u64, samples: Vec<Sample>) -> RunData {
        let requests =
            (0..requests).map(|k| Request::new(100 + k).tokens_at(&[200 + k, 300 + k]).build()).collect();
        let phases = vec![PhaseMark::of_run(Nanos::from_millis(800), PhaseEdge::RunEnd)];
        RunData { phases, requests, samples, ..RunData::default() }
    }

    fn verdict(run: &RunData) -> Reconciliation {
        reconcile(run, &Targets::of(&run.samples))
    }

    #[test]
    fn agreement() {
        let found = verdict(&run(
            50,
            vec![
                scrape(0, [40.0, 22.0], 900.0, 80.0),
                scrape(90, [47.0, 22.0], 1000.0, 100.0),
                scrape(380, [95.0, 24.0], 1090.0, 600.0),
                scrape(900, [95.0, 24.0], 1100.0, 600.0),
            ],
        ));
        assert_eq!(found.state, ReconciliationState::Match, "{}", found.text);
    }

    /// 54 requests served, 50 reported: the count of a load generator that discards its tail.
    #[test]
    fn four_discarded_requests() {
        let found = verdict(&run(
            50,
            vec![scrape(0, [47.0, 22.0], 7131.0, 850.0), scrape(900, [101.0, 22.0], 12_438.0, 15_156.0)],
        ));
        assert_eq!(found.state, ReconciliationState::Mismatch);
        assert_eq!(
            found.rows.iter().map(|row| row.server).collect::<Vec<_>>(),
            [Some(54.0), Some(5307.0), Some(14_306.0)]
        );
        assert!(found.text.contains("completions 50 here, 54 there (+4)"), "{}", found.text);
    }

    #[test]
    fn not_comparable() {
        let whole = vec![scrape(0, [0.0, 0.0], 0.0, 0.0), scrape(900, [2.0, 0.0], 4.0, 20.0)];
        assert_eq!(verdict(&run(2, whole.clone())).state, ReconciliationState::Match);
        assert_eq!(verdict(&run(2, whole[..1].to_vec())).state, ReconciliationState::CannotJudge);
        assert_eq!(verdict(&run(2, Vec::new())).state, ReconciliationState::CannotJudge);
        assert_eq!(verdict(&run(0, whole.clone())).state, ReconciliationState::CannotJudge);
        let mut failed = run(2, whole.clone());
        failed.requests[0].outcome = Outcome::Failed { kind: FailureKind::Timeout, message: String::new() };
        assert_eq!(verdict(&failed).state, ReconciliationState::CannotJudge);
        failed.samples[1].finished.insert("length".to_owned(), 3.0);
        assert_eq!(verdict(&failed).state, ReconciliationState::Mismatch);
        let torn = RunData { bad_lines: 1, ..run(2, whole.clone()) };
        assert_eq!(verdict(&torn).state, ReconciliationState::CannotJudge);
        // Those in flight at a kill have no record: that is no sign of other traffic.
        let mut killed = run(1, whole.clone());
        assert_eq!(verdict(&killed).state, ReconciliationState::Mismatch);
        killed.phases.clear();
        assert_eq!(verdict(&killed).state, ReconciliationState::CannotJudge);
        let mut restarted = whole;
        restarted.insert(1, scrape(500, [9.0, 0.0], 9.0, 9.0));
        assert!(verdict(&run(2, restarted)).text.contains("restarted"));
    }
}
