//! Closed loops on a server of four slots.

use crate::server::{SERVICE_MS, TOKENS, has, ms, near, run, value};
use plimsoll_metrics::{
    BottleneckKind, FlagClass, KneeState, ReconciliationState, RunData, RunState, Verdict, summarize,
};
use plimsoll_record::{
    Counter, FailureKind, Histogram, Nanos, Outcome, Phase, PhaseEdge, PhaseMark, Plan, RequestRecord,
};

#[test]
fn four_slots() {
    let mut run = run(&[1, 2, 4, 8, 16], 0);
    run.plan.slo = Some("at 4: ttft p95 < 100ms".to_owned());
    let summary = summarize(&run);
    assert_eq!(summary.state, RunState::Complete);
    for (level, rate, ttft) in
        [(1, 1.0, 0.05), (2, 2.0, 0.05), (4, 4.0, 0.05), (8, 4.0, 1.05), (16, 4.0, 3.05)]
    {
        assert!(near(value(&summary, level, "output_tok_s"), rate * f64::from(TOKENS), 0.2), "{level}");
        assert!(near(value(&summary, level, "req_s"), rate, 0.03), "{level}");
        assert!(near(value(&summary, level, "input_tok_s"), rate * 100.0, 3.0), "{level}");
        assert!(near(value(&summary, level, "in_flight"), f64::from(level), 1e-9), "{level}");
        assert!(
            near(value(&summary, level, "ttft_p50"), ttft, 1e-9),
            "{level}: {:?}",
            value(&summary, level, "ttft_p50")
        );
        assert!(near(value(&summary, level, "tpot_p50"), 0.05, 1e-9), "{level}");
        assert!(near(value(&summary, level, "server_running"), rate, 0.02), "{level}");
        assert!(near(value(&summary, level, "server_waiting"), f64::from(level) - rate, 0.05), "{level}");
        let cycle = ["cycle_client", "cycle_network", "cycle_queue", "cycle_service"];
        let sum: f64 = cycle.iter().filter_map(|name| value(&summary, level, name)).sum();
        assert!((sum - f64::from(level)).abs() < 1e-9, "{level}: {sum}");
    }
    assert_eq!(summary.knee.state, KneeState::Bracket { low: 2.into(), high: 8.into() });
    assert_eq!(summary.bottleneck.kind, BottleneckKind::ServerSlots, "{}", summary.bottleneck.text);
    assert_eq!(summary.levels[1].bottleneck.kind, BottleneckKind::UnderLoaded);
    assert_eq!(summary.reconciliation.state, ReconciliationState::Match, "{}", summary.reconciliation.text);
    assert_eq!(summary.slo[0].levels.len(), 1);
    assert_eq!((summary.slo[0].levels[0].level, summary.slo[0].levels[0].verdict), (4.into(), Verdict::Pass));
    assert_eq!(summary.operating_point.level, Some(2.into()), "{}", summary.operating_point.text);
    let flags: Vec<_> = summary.levels.iter().flat_map(|l| &l.flags).chain(&summary.flags).collect();
    assert!(flags.is_empty(), "{flags:?}");
    assert!(summary.checks > 50);
}

#[test]
fn a_client_that_leaves_gaps_is_the_limit() {
    let summary = summarize(&run(&[1, 5], 1000));
    assert_eq!(summary.bottleneck.kind, BottleneckKind::Client, "{}", summary.bottleneck.text);
    assert!(has(&summary, "in_flight_low"));
    let level = &summary.levels[1];
    let tokens = level.number("output_tok_s").unwrap();
    assert_eq!(tokens.value, None);
    assert!(near(tokens.withheld, 2.5 * f64::from(TOKENS), 1.0), "{tokens:?}");
    assert!(level.number("in_flight").unwrap().value.is_some());
    assert_eq!(summary.knee.state, KneeState::CannotJudge);
}

#[test]
fn the_making_of_connections_is_no_gap_of_the_client() {
    let mut run = run(&[1, 5], 1000);
    for request in &mut run.requests {
        request.due_ns = request.due_ns - ms(1000);
        (request.conn.connect_ns, request.conn.tls_ns) = (Some(ms(400)), Some(ms(600)));
    }
    let summary = summarize(&run);
    let verdict = &summary.bottleneck;
    assert_eq!(verdict.kind, BottleneckKind::Network, "{}", verdict.text);
    // A slot makes a connection for one of the 2 s of its cycle.
    assert!(near(value(&summary, 1, "cycle_client"), 0.0, 0.01), "{:?}", value(&summary, 1, "cycle_client"));
    assert!(
        near(value(&summary, 1, "cycle_network"), 0.5, 0.02),
        "{:?}",
        value(&summary, 1, "cycle_network")
    );
    assert!(verdict.text.contains("of them waiting for a new connection"), "{}", verdict.text);
}

#[test]
fn other_traffic() {
    let mut run = run(&[1, 2], 0);
    for sample in run.samples.iter_mut().skip(100) {
        *sample.finished.get_mut("length").unwrap() += 4.0;
    }
    let summary = summarize(&run);
    assert_eq!(summary.reconciliation.state, ReconciliationState::Mismatch);
    assert!(has(&summary, "reconciliation_mismatch"));
    assert_eq!(value(&summary, 2, "server_running"), None);
    assert!(value(&summary, 2, "output_tok_s").is_some());
    assert_eq!(summary.bottleneck.kind, BottleneckKind::CannotJudge);
}

#[test]
fn a_warm_prefix_cache() {
    let mut run = run(&[1, 2], 0);
    for sample in &mut run.samples {
        let hits = sample.counters[&Counter::PrefixQueries] * 0.3;
        sample.counters.insert(Counter::PrefixHits, hits);
    }
    run.plan.slo = Some("ttft p50 < 1s".to_owned());
    let summary = summarize(&run);
    assert!(has(&summary, "prefix_cache_hits"));
    assert_eq!(value(&summary, 2, "ttft_p50"), None);
    assert!(near(value(&summary, 2, "prefix_hit_rate"), 0.3, 1e-6));
    assert!(summary.slo[0].levels.iter().all(|level| level.verdict == Verdict::Inconclusive));
    run.conditions.prompts.regime = "shared-prefix".to_owned();
    assert!(!has(&summarize(&run), "prefix_cache_hits"));
}

#[test]
fn gauges_alone_need_twenty_scrapes() {
    let mut run = run(&[4, 8], 0);
    for sample in &mut run.samples {
        sample.histograms.clear();
    }
    assert_eq!(summarize(&run).bottleneck.kind, BottleneckKind::ServerSlots);
    run.samples.retain(|sample| sample.at_ns.0.is_multiple_of(ms(10_000).0));
    assert!(!has(&summarize(&RunData { samples: Vec::new(), ..run.clone() }), "few_scrapes"));
    let summary = summarize(&run);
    assert_eq!(summary.bottleneck.kind, BottleneckKind::CannotJudge, "{}", summary.bottleneck.text);
    assert!(has(&summary, "few_scrapes"));
}

#[test]
fn a_killed_run_says_so() {
    let mut run = run(&[1, 2], 0);
    run.phases.retain(|mark| {
        mark.edge != PhaseEdge::RunEnd
            && !(mark.level == Some(2.into()) && mark.edge == PhaseEdge::WindowClose)
    });
    run.bad_lines = 1;
    let summary = summarize(&run);
    assert!(matches!(&summary.state, RunState::Partial { reason } if reason.contains("killed")));
    assert_eq!(summary.reconciliation.state, ReconciliationState::CannotJudge);
    for id in ["partial_run", "bad_lines", "window_not_closed"] {
        assert!(has(&summary, id), "{id}");
    }
    assert_eq!(value(&summary, 2, "output_tok_s"), None);
    assert!(value(&summary, 2, "ttft_p50").is_some());
}

#[test]
fn a_level_cut_off_before_its_requests_ended_passes_no_objective() {
    let whole = RunData {
        plan: Plan { slo: Some("ttft p95 < 100ms".to_owned()), ..Plan::default() },
        ..run(&[1, 2], 0)
    };
    let verdicts = |run: &RunData| {
        let summary = summarize(run);
        let verdicts: Vec<_> = summary.slo[0].levels.iter().map(|level| level.verdict).collect();
        (verdicts, has(&summary, "cohort_cut"))
    };
    assert_eq!(verdicts(&whole), (vec![Verdict::Pass, Verdict::Pass], false));
    let mut killed = whole.clone();
    killed.phases.retain(|mark| mark.level != Some(2.into()) || mark.edge != PhaseEdge::Drain);
    assert_eq!(verdicts(&killed), (vec![Verdict::Pass, Verdict::Inconclusive], true));
    let summary = summarize(&killed);
    assert_eq!((value(&summary, 2, "output_tok_s"), value(&summary, 2, "in_flight")), (None, None));
    assert_eq!(summary.bottleneck.kind, BottleneckKind::CannotJudge);
    let mut stopped = whole;
    let last =
        stopped.requests.iter_mut().rfind(|r| r.level == 2.into() && r.phase == Phase::Measure).unwrap();
    last.outcome = Outcome::Failed { kind: FailureKind::Cancelled, message: String::new() };
    assert_eq!(verdicts(&stopped), (vec![Verdict::Pass, Verdict::Inconclusive], true));
}

#[test]
fn failures_without_a_token_count_leave_no_throughput() {
    let class_with = |failures: usize| {
        let mut run = run(&[1, 2], 0);
        let measured = |r: &&mut RequestRecord| r.level == 2.into() && r.phase == Phase::Measure;
        for record in run.requests.iter_mut().filter(measured).skip(5).take(failures) {
            record.outcome = Outcome::Failed { kind: FailureKind::Truncated, message: String::new() };
            record.output_tokens = None;
        }
        let summary = summarize(&run);
        let flag = summary.levels[1].flags.iter().find(|flag| flag.id == "uncounted_tokens");
        (flag.map(|flag| flag.class), value(&summary, 2, "output_tok_s").is_some())
    };
    assert_eq!(class_with(0), (None, true));
    assert_eq!(class_with(1), (Some(FlagClass::Warn), true));
    assert_eq!(class_with(20), (Some(FlagClass::Invalid), false));
}

#[test]
fn a_level_that_is_missing() {
    let mut run = run(&[1, 2], 0);
    run.plan.concurrency.push(4);
    let state = summarize(&run).state;
    assert!(matches!(&state, RunState::Partial { reason } if reason.ends_with("window: 4")), "{state:?}");
}

#[test]
fn a_restarted_server() {
    let mut run = run(&[1, 2], 0);
    for sample in run.samples.iter_mut().skip(180) {
        for counter in sample.counters.values_mut() {
            *counter = 0.0;
        }
        sample.histograms.values_mut().for_each(|histogram| *histogram = Histogram::default());
    }
    let summary = summarize(&run);
    assert!(has(&summary, "server_restarted"));
    assert!(summary.flags.iter().any(|flag| flag.class == FlagClass::Invalid));
    assert_eq!(value(&summary, 1, "server_running"), None);
    // No verdict shows the figures that the table withholds.
    assert!(summary.levels.iter().all(|level| level.bottleneck.kind == BottleneckKind::CannotJudge));
}

#[test]
fn a_slow_sender_and_short_answers() {
    let mut run = run(&[1, 2], 0);
    for request in &mut run.requests {
        let sent = request.due_ns + Nanos(if request.level == 1.into() { 1_200_000 } else { 30_000_000 });
        request.sent_ns = Some(sent);
        if request.level == 2.into() {
            request.output_tokens = Some(TOKENS + 4);
            request.input_tokens = Some(120);
        }
    }
    let summary = summarize(&run);
    let class = |level: usize| {
        summary.levels[level].flags.iter().find(|flag| flag.id == "send_delay").map(|flag| flag.class)
    };
    assert_eq!((class(0), class(1)), (Some(FlagClass::Warn), Some(FlagClass::Invalid)));
    for id in ["output_length_differs", "prompt_length", "tokens_per_chunk", "reconciliation_mismatch"] {
        assert!(has(&summary, id), "{id}");
    }
    assert_eq!(value(&summary, 2, "itl_p50"), None);
    assert!(value(&summary, 2, "icl_p50").is_some());
    assert!(value(&summary, 2, "tpot_p50").is_some());
}

#[test]
fn two_hiccups_in_a_hundred_requests_are_no_evidence_of_a_busy_client() {
    let mut run = run(&[1, 2], 0);
    let measured = |record: &&mut RequestRecord| record.phase == Phase::Measure && record.level == 1.into();
    for record in run.requests.iter_mut().filter(measured).take(2) {
        record.due_ns = record.due_ns - ms(300);
    }
    let summary = summarize(&run);
    assert!((100..200).contains(&summary.levels[0].n), "{}: the p99 is one of the two", summary.levels[0].n);
    assert!(!has(&summary, "send_delay"));
}

#[test]
fn a_window_shorter_than_a_request_has_no_rates() {
    let mut run = run(&[1, 2], 0);
    let open = |run: &RunData, level| {
        let of = |mark: &&PhaseMark| mark.edge == PhaseEdge::WindowOpen && mark.level == Some(level);
        run.phases.iter().find(of).unwrap().at_ns
    };
    for (level, durations) in [(1, 0.5), (2, 1.5)] {
        let close = open(&run, level.into()) + Nanos((durations * SERVICE_MS as f64 * 1e6) as u64);
        let of =
            |mark: &&mut PhaseMark| mark.edge == PhaseEdge::WindowClose && mark.level == Some(level.into());
        run.phases.iter_mut().find(of).unwrap().at_ns = close;
    }
    let summary = summarize(&run);
    let class = |level: usize| {
        summary.levels[level].flags.iter().find(|flag| flag.id == "window_short").map(|flag| flag.class)
    };
    assert_eq!((class(0), class(1)), (Some(FlagClass::Invalid), Some(FlagClass::Warn)));
    assert_eq!((value(&summary, 1, "output_tok_s"), value(&summary, 1, "server_running")), (None, None));
    assert!(value(&summary, 2, "output_tok_s").is_some(), "{:?}", summary.levels[1].flags);
    assert_eq!(summary.levels[0].bottleneck.kind, BottleneckKind::CannotJudge);
}

#[test]
fn a_record_that_stands_twice_is_no_second_request() {
    let mut run = run(&[1, 2], 0);
    let measured = run.requests.iter().find(|record| record.phase == Phase::Measure).unwrap().clone();
    run.requests.push(measured);
    run.samples.clear();
    let summary = summarize(&run);
    assert!(has(&summary, "duplicate_records"));
    assert_eq!(value(&summary, 1, "ttft_p50"), None);
}

#[test]
fn a_line_lost_after_the_end_voids_the_rates() {
    let mut run = run(&[1, 2], 0);
    run.bad_lines = 1;
    let summary = summarize(&run);
    let flag = summary.flags.iter().find(|flag| flag.id == "bad_lines").unwrap();
    assert_eq!(flag.class, FlagClass::Invalid);
    assert_eq!(value(&summary, 1, "output_tok_s"), None);
    assert!(value(&summary, 1, "ttft_p50").is_some());
}
