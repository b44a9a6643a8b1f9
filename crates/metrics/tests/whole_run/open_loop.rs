//! Open loops on a server whose capacity is known: four requests per second.

use crate::server::{TOKENS, has, ms, near, open, run, value};
use plimsoll_metrics::{BottleneckKind, ClientVerdict, FlagClass, KneeState, RunState, Verdict, summarize};
use plimsoll_record::{Ceiling, ClientLimits, ClientSample, Level, Nanos, PhaseEdge, RECORD_SCHEMA, Rate};

fn rate(per_second: f64) -> Level {
    Level::Rate(Rate::new(per_second).unwrap())
}

#[test]
fn a_server_of_four_requests_per_second() {
    let mut run = open(&[1.0, 2.0, 3.5, 5.0], None);
    run.plan.slo = Some("at 3.5/s: ttft p95 < 100ms; at 5/s: ttft p95 < 1s".to_owned());
    let summary = summarize(&run);
    assert_eq!(summary.state, RunState::Complete);
    for (level, achieved, in_flight) in [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (3.5, 3.5, 3.5)] {
        let level = rate(level);
        assert!(near(value(&summary, level, "offered_req_s"), level.value(), 0.011), "{level}");
        assert!(near(value(&summary, level, "req_s"), achieved, 0.011), "{level}");
        assert!(near(value(&summary, level, "output_tok_s"), achieved * f64::from(TOKENS), 0.3), "{level}");
        assert!(near(value(&summary, level, "in_flight"), in_flight, 0.02), "{level}");
        assert!(near(value(&summary, level, "backlog_growth"), 0.0, 1.0), "{level}");
        assert!(near(value(&summary, level, "ttft_p50"), 0.05, 0.001), "{level}");
        assert!(near(value(&summary, level, "response_p50"), 1.0, 0.001), "{level}");
        assert!(value(&summary, level, "cycle_client").is_none());
    }
    // A hundred seconds at one more per second than the server serves.
    assert!(near(value(&summary, rate(5.0), "backlog_growth"), 100.0, 1.0));
    assert!(near(value(&summary, rate(5.0), "req_s"), 4.0, 0.02));
    assert_eq!(value(&summary, rate(5.0), "ttft_p50"), None);
    assert_eq!(value(&summary, rate(5.0), "response_p50"), None);
    // After t seconds 5 t requests have come and 4 t have begun: t wait, from 40 at the window's start to 140 at its end.
    assert_eq!(value(&summary, rate(5.0), "server_waiting"), None);
    assert!(near(summary.bottleneck.figures.get("queue").copied(), 90.0, 1.0), "{}", summary.bottleneck.text);
    assert!(
        near(summary.bottleneck.figures.get("network").copied(), 0.0, 0.5),
        "{}",
        summary.bottleneck.text
    );
    assert!(value(&summary, rate(5.0), "tpot_p50").is_some());
    let flagged: Vec<Level> = summary
        .levels
        .iter()
        .filter(|l| l.flags.iter().any(|f| f.id == "not_steady"))
        .map(|l| l.level)
        .collect();
    assert_eq!(flagged, [rate(5.0)]);
    for id in ["in_flight_low", "not_open_loop", "send_delay", "window_not_stationary"] {
        assert!(!has(&summary, id), "{id}");
    }
    assert_eq!(summary.knee.state, KneeState::Bracket { low: rate(3.5), high: rate(5.0) });
    assert_eq!(summary.operating_point.level, Some(rate(3.5)), "{}", summary.operating_point.text);
    assert_eq!(summary.bottleneck.kind, BottleneckKind::ServerSlots, "{}", summary.bottleneck.text);
    assert_eq!(summary.levels[1].bottleneck.kind, BottleneckKind::UnderLoaded);
    // Waiting grows with the window: what fails in it fails for good.
    let verdicts: Vec<_> =
        summary.slo.iter().flat_map(|slo| &slo.levels).map(|l| (l.level, l.verdict)).collect();
    assert_eq!(verdicts, [(rate(3.5), Verdict::Pass), (rate(5.0), Verdict::Fail)]);
}

/// Four slots, a cap of four and 5 arrivals per second: every request after the first four waits for the cap.
#[test]
fn a_cap_makes_it_no_open_loop() {
    let summary = summarize(&open(&[2.0, 5.0], Some(4)));
    let flag = |level: usize| summary.levels[level].flags.iter().find(|flag| flag.id == "not_open_loop");
    assert!(flag(0).is_none());
    assert_eq!(flag(1).map(|flag| flag.class), Some(FlagClass::Invalid));
    assert_eq!(value(&summary, rate(2.0), "capped_share"), Some(0.0));
    assert_eq!(value(&summary, rate(5.0), "capped_share"), Some(1.0));
    // The wait for the cap is the load's, not the sender's lateness; service times hide it.
    assert!(!has(&summary, "send_delay"));
    assert_eq!(value(&summary, rate(5.0), "service_ttft_p50"), None);
    assert!(near(value(&summary, rate(2.0), "service_ttft_p50"), 0.05, 1e-9));
    assert_eq!(summary.levels[1].bottleneck.kind, BottleneckKind::Client, "{}", summary.bottleneck.text);
    assert!(near(value(&summary, rate(5.0), "in_flight"), 4.0, 0.01));
}

/// D/D/1 by hand: 40 arrivals per second on one server of 33 ms; request k waits k (33 - 25) ms.
#[test]
fn response_time_counts_from_the_schedule() {
    let mut run = open(&[2.0], None);
    let measured = run.requests.iter_mut().filter(|record| record.phase == plimsoll_record::Phase::Measure);
    for (k, record) in measured.enumerate() {
        record.sent_ns = Some(record.due_ns + Nanos(8_000_000 * k as u64));
        record.end_ns = record.due_ns + Nanos(8_000_000 * k as u64 + 33_000_000);
        record.first_token_ns = Some(record.end_ns);
        record.last_token_ns = Some(record.end_ns);
    }
    let summary = summarize(&run);
    let n = summary.levels[0].n as f64;
    let response = |name: &str| {
        let number = summary.levels[0].number(name).unwrap();
        number.value.or(number.withheld).unwrap()
    };
    assert!((response("response_mean") - (0.033 + 0.008 * (n - 1.0) / 2.0)).abs() < 1e-9);
    assert!((response("response_max") - (0.033 + 0.008 * (n - 1.0))).abs() < 1e-9);
    assert!((response("service_e2e_p50") - 0.033).abs() < 1e-9);
}

#[test]
fn a_late_sender_proves_no_response_time() {
    let mut run = open(&[2.0], None);
    run.requests.iter_mut().for_each(|request| request.sent_ns = Some(request.due_ns + ms(30)));
    let summary = summarize(&run);
    assert!(has(&summary, "send_delay") && !has(&summary, "not_open_loop"));
    assert_eq!(
        (value(&summary, rate(2.0), "response_p50"), value(&summary, rate(2.0), "ttft_p50")),
        (None, None)
    );
    assert!(near(value(&summary, rate(2.0), "service_ttft_p50"), 0.02, 1e-9));
}

fn sound_client(run: &mut plimsoll_metrics::RunData) {
    run.conditions.environment.limits =
        ClientLimits { files_needed: Some(8), files_allowed: Some(99), ..ClientLimits::default() };
    run.conditions.environment.ceiling =
        Some(Ceiling { events_s: 50_000.0, requests_s: 1000.0, ..Ceiling::default() });
    for request in &mut run.requests {
        request.kernel_lag_ns = Some(Nanos(50_000));
    }
    let end = run.phases.iter().map(|mark| mark.at_ns.0).max().unwrap() / 1_000_000_000;
    for second in 1..=end {
        let sample = |worker| ClientSample {
            schema: RECORD_SCHEMA,
            at_ns: ms(1000 * second),
            interval_ns: ms(1000),
            level: None,
            repeat: None,
            worker,
            cpu_ns: Some(ms(100)),
            lag_us: if worker.is_some() { vec![80; 100] } else { Vec::new() },
            connects: worker.map(|_| 0),
            starved: worker.map(|_| 0),
            throttled: None,
            throttled_ns: None,
            retransmits: worker.is_none().then_some(0),
            steal_ns: worker.is_none().then_some(ms(10)),
        };
        run.client.extend([sample(Some(0)), sample(None)]);
    }
}

#[test]
fn a_proof_of_the_client_at_each_level() {
    let mut run = run(&[1, 2, 8], 0);
    assert_eq!(summarize(&run).client.verdict, ClientVerdict::NotProven);
    sound_client(&mut run);
    let clear = summarize(&run);
    assert_eq!(clear.client.verdict, ClientVerdict::Clear, "{}", clear.client.reasons);
    assert!(clear.client.text().starts_with("clear (local ports needed and allowed not known"));
    assert!(
        near(value(&clear, 8, "busiest_thread"), 0.1, 1e-9) && near(value(&clear, 8, "steal"), 0.01, 1e-9)
    );
    assert!(near(value(&clear, 8, "runtime_lag_p99"), 80e-6, 1e-12));
    assert!(near(value(&clear, 8, "events_s"), 4.0 * f64::from(TOKENS), 0.3));
    // The last level alone: a thread at its limit.
    for sample in run.client.iter_mut().filter(|s| s.worker.is_some() && s.at_ns > ms(405_000)) {
        sample.cpu_ns = Some(ms(950));
    }
    let limited = summarize(&run);
    assert_eq!(limited.client.verdict, ClientVerdict::Limited);
    assert_eq!(
        limited.levels.iter().map(|l| l.client.verdict).collect::<Vec<_>>()[..2],
        [ClientVerdict::Clear; 2]
    );
    assert!(limited.client.text().contains("busiest thread 95 %"), "{}", limited.client.text());
    assert!(
        limited.bottleneck.text.contains("This client was at its own limit"),
        "{}",
        limited.bottleneck.text
    );
}

#[test]
fn a_level_that_ended_before_its_time_says_why() {
    let mut run = open(&[2.0, 5.0], None);
    let level = Some(rate(5.0));
    let close = run.phases.iter().position(|mark| mark.level == level && mark.edge == PhaseEdge::WindowClose);
    let mut drain = run.phases[close.unwrap()].clone();
    drain.edge = PhaseEdge::Drain;
    drain.message = Some("the server does not keep up".to_owned());
    run.phases.retain(|mark| mark.edge != PhaseEdge::Drain);
    run.phases.insert(close.unwrap() + 1, drain);
    let summary = summarize(&run);
    let early = |level: usize| summary.levels[level].flags.iter().find(|flag| flag.id == "ended_early");
    assert!(early(0).is_none());
    assert!(early(1).is_some_and(|flag| flag.text.contains("its time: the server does not keep up.")));
}
