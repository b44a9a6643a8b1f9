//! Makes a tiny run by hand, two levels of a server with one slot, and prints what it amounts to.
//!
//! `cargo run -p plimsoll-metrics --example summarize`

use plimsoll_metrics::{RunData, summarize};
use plimsoll_record::{
    Connection, EventKind, Nanos, Outcome, Phase, PhaseEdge, PhaseMark, Plan, RECORD_SCHEMA, RequestRecord,
    StreamEvent, TokenSource,
};

/// Tokens of each answer, and the time per token.
const TOKENS: u32 = 20;
const STEP_MS: u64 = 5;

fn main() {
    let mut run = RunData {
        plan: Plan {
            concurrency: vec![1, 4],
            slo: Some("ttft p95 < 250ms, tpot p95 <= 5ms".to_owned()),
            ..Plan::default()
        },
        ..RunData::default()
    };
    level(&mut run, 1, 0);
    level(&mut run, 4, 20_000);
    run.phases.push(PhaseMark::of_run(Nanos::from_millis(60_000), PhaseEdge::RunEnd));

    let summary = summarize(&run);
    println!("{:?}\n", summary.state);
    for level in &summary.levels {
        println!("{} in flight, n = {}", level.level, level.n);
        for name in ["output_tok_s", "in_flight", "ttft_p50", "ttft_p95", "ttft_p99", "tpot_p50", "e2e_max"] {
            let Some(number) = level.number(name) else { continue };
            match (number.value, &number.reason) {
                (Some(value), _) => println!("  {name:13} {value:9.4} {}", number.unit),
                (None, reason) => println!("  {name:13} - ({})", reason.as_deref().unwrap_or_default()),
            }
        }
        for flag in &level.flags {
            println!("  {:?} {}: {}", flag.class, flag.id, flag.text);
        }
    }
    println!("\n{}\n{}\n{}", summary.knee.text, summary.operating_point.text, summary.bottleneck.text);
    for level in summary.slo.iter().flat_map(|objective| &objective.levels) {
        println!("at {}: {}", level.level, level.text);
    }
    println!("{} checks made", summary.checks);
}

/// A closed loop of `level` users on a server that serves one request at a time.
fn level(run: &mut RunData, level: u32, start_ms: u64) {
    let service = u64::from(TOKENS) * STEP_MS;
    for (edge, at) in [(PhaseEdge::WindowOpen, start_ms + 1000), (PhaseEdge::WindowClose, start_ms + 11_000)]
    {
        run.phases.push(PhaseMark::of_level(Nanos::from_millis(at), edge, level.into(), 0));
    }
    for turn in 0..140_u64 {
        // Users take turns: each sends its next request when its last one ends, and waits for the others'.
        let begins = start_ms + turn * service;
        let due = begins.saturating_sub(u64::from(level - 1) * service).max(start_ms);
        let measured = (start_ms + 1000..start_ms + 11_000).contains(&due);
        let phase = if due < start_ms + 1000 {
            Phase::Warmup
        } else if measured {
            Phase::Measure
        } else {
            Phase::Filler
        };
        run.requests.push(request(level, turn, phase, due, begins));
    }
}

fn request(level: u32, id: u64, phase: Phase, due_ms: u64, begins_ms: u64) -> RequestRecord {
    let at = |token: u32| Nanos::from_millis(begins_ms + u64::from(token + 1) * STEP_MS);
    let events: Vec<StreamEvent> = (0..TOKENS)
        .map(|token| StreamEvent {
            at_ns: at(token),
            kind: EventKind::Content,
            tokens: None,
            coalesced: false,
        })
        .collect();
    RequestRecord {
        schema: RECORD_SCHEMA,
        id,
        level: level.into(),
        repeat: 0,
        phase,
        worker: 0,
        slot: (id % u64::from(level)) as u32,
        due_ns: Nanos::from_millis(due_ms),
        sent_ns: Some(Nanos::from_millis(due_ms)),
        head_ns: Some(at(0)),
        first_event_ns: Some(at(0)),
        first_token_ns: Some(at(0)),
        last_token_ns: Some(at(TOKENS - 1)),
        end_ns: at(TOKENS - 1),
        events,
        input_tokens: Some(32),
        cached_tokens: None,
        output_tokens: Some(TOKENS),
        token_source: TokenSource::Usage,
        asked_input_tokens: Some(32),
        max_tokens: TOKENS,
        finish_reason: Some("length".to_owned()),
        http_status: Some(200),
        target: None,
        capped: false,
        retry_after_s: None,
        retries: 0,
        unsent_retries: 0,
        redirects: 0,
        kernel_lag_ns: None,
        encoding: None,
        conn: Connection { reused: true, connect_ns: None, tls_ns: None },
        client_lag_ns: Nanos::ZERO,
        malformed: 0,
        outcome: Outcome::Ok,
        time_limit: None,
        text: String::new(),
        text_cut: false,
    }
}
