use crate::{Cohort, Control, LevelPlan, Load, Marks, OpenLoop, control::Ended};
use plimsoll_record::{Arrivals, Nanos, Outcome, Phase, PhaseEdge, Rate};
use plimsoll_workload::ArrivalTimes;
use proptest::prelude::*;
use std::{collections::BTreeSet, time::Duration};

const WARMUP: u32 = 3;

/// Ten constant arrivals a second, so that arrival `index` is due at `(index + 1) * 100` ms.
fn control(cohort: Cohort, most_unfinished: u32) -> Control {
    with_arrivals(Arrivals::Constant, cohort, most_unfinished)
}

fn with_arrivals(arrivals: Arrivals, cohort: Cohort, most_unfinished: u32) -> Control {
    let rate = Rate::new(10.0).unwrap();
    let times = ArrivalTimes::new(arrivals, rate, WARMUP, None, 1, 0).unwrap();
    let open = OpenLoop { rate, times, cap: None, connections: 1, most_unfinished };
    let control =
        Control::new(LevelPlan { load: Load::Open(open), repeat: 0, warmup: WARMUP, cohort, retries: 0 });
    assert_eq!(edges(&control.start(Nanos::ZERO)), [(0, PhaseEdge::LevelStart)]);
    assert_eq!(control.start(Nanos(5)), [], "the first call counts");
    control
}

/// Times in nanoseconds.
fn edges(marks: &Marks) -> Vec<(u64, PhaseEdge)> {
    marks.iter().map(|mark| (mark.at_ns.0, mark.edge)).collect()
}

fn due(index: u64) -> Nanos {
    Nanos::from_millis((index + 1) * 100)
}

fn arrive(control: &Control, index: u64) -> (Option<Phase>, Vec<(u64, PhaseEdge)>) {
    let (phase, marks) = control.arrive(index, due(index));
    (phase, edges(&marks))
}

fn end(control: &Control, phase: Phase, at: Nanos, duration: Nanos) -> Vec<(u64, PhaseEdge)> {
    let ended = Ended { outcome: &Outcome::Ok, duration, ttft: None, output_tokens: None };
    edges(&control.end(phase, at, &ended))
}

const MS: u64 = 1_000_000;

#[test]
fn a_cohort_of_requests_spans_as_many_gaps_and_is_followed_by_filler() {
    let control = control(Cohort::Requests(2), 100);
    assert_eq!(arrive(&control, 0), (Some(Phase::Warmup), vec![]));
    assert_eq!(arrive(&control, 1), (Some(Phase::Warmup), vec![]));
    assert_eq!(arrive(&control, 2), (Some(Phase::Warmup), vec![(300 * MS + 1, PhaseEdge::WindowOpen)]));
    assert_eq!(arrive(&control, 3), (Some(Phase::Measure), vec![]));
    assert_eq!(arrive(&control, 4), (Some(Phase::Measure), vec![(500 * MS + 1, PhaseEdge::WindowClose)]));
    assert_eq!(arrive(&control, 5), (Some(Phase::Filler), vec![]));
    let tenth = Nanos::from_millis(100);
    assert_eq!(end(&control, Phase::Measure, due(6), tenth), []);
    assert_eq!(end(&control, Phase::Filler, due(6), tenth), []);
    assert_eq!(end(&control, Phase::Measure, due(7), tenth), [(800 * MS, PhaseEdge::Drain)]);
    assert_eq!(arrive(&control, 8), (None, vec![]));
    assert_eq!(control.progress().measured, 2);
}

/// The worker of the later arrival may be the first to ask.
#[test]
fn a_worker_that_lags_behind_changes_nothing() {
    let control = control(Cohort::Requests(2), 100);
    for index in [0, 1] {
        arrive(&control, index);
    }
    let at = due(5);
    let (phase, marks) = control.arrive(5, at);
    let both = [(300 * MS + 1, PhaseEdge::WindowOpen), (500 * MS + 1, PhaseEdge::WindowClose)];
    assert_eq!((phase, edges(&marks)), (Some(Phase::Filler), both.to_vec()));
    assert_eq!(control.arrive(3, at).0, Some(Phase::Measure));
    assert_eq!(end(&control, Phase::Measure, at, Nanos(1)), [], "arrival 4 is still to come");
    assert_eq!(control.arrive(2, at).0, Some(Phase::Warmup));
    assert_eq!(control.arrive(4, at).0, Some(Phase::Measure));
    assert_eq!(end(&control, Phase::Measure, at, Nanos(1)), [(600 * MS, PhaseEdge::Drain)]);
}

#[test]
fn a_window_of_fixed_length_closes_although_nothing_is_due() {
    let control = control(Cohort::Duration(Duration::from_millis(250)), 100);
    for index in 0..5 {
        arrive(&control, index);
    }
    let close = 550 * MS + 1;
    assert_eq!(control.next_edge(), Some(Nanos(close)));
    assert_eq!(edges(&control.tick(Nanos(540 * MS))), []);
    assert_eq!(edges(&control.tick(Nanos(560 * MS))), [(close, PhaseEdge::WindowClose)]);
    assert_eq!(control.next_edge(), None);
    assert_eq!(arrive(&control, 5).0, Some(Phase::Filler));
    assert_eq!(end(&control, Phase::Measure, due(5), Nanos(1)), []);
    assert_eq!(end(&control, Phase::Measure, due(5), Nanos(1)), [(600 * MS, PhaseEdge::Drain)]);
}

/// A level without warm-up and without an arrival in its window comes to its end all the same.
#[test]
fn a_window_in_which_nothing_is_due_is_empty() {
    let control = control(Cohort::Duration(Duration::from_millis(50)), 100);
    for index in 0..WARMUP {
        arrive(&control, u64::from(index));
    }
    let marks = edges(&control.tick(Nanos(360 * MS)));
    assert_eq!(marks, [(350 * MS + 1, PhaseEdge::WindowClose), (360 * MS, PhaseEdge::Drain)]);
}

/// Each arrival ends before the next, after a time of the caller's; returns the number measured.
fn measured_by_rule(duration_of: impl Fn(u64) -> u64) -> u64 {
    let rule = Cohort::Rule { floor: Duration::from_secs(1), requests: 5, durations: 10 };
    let control = control(rule, 100);
    for index in 0..10_000 {
        let (phase, _) = arrive(&control, index);
        let Some(phase @ (Phase::Warmup | Phase::Measure)) = phase else {
            return index - u64::from(WARMUP);
        };
        end(&control, phase, due(index), Nanos::from_millis(duration_of(index)));
    }
    panic!("the window never closed");
}

#[test]
fn the_rule_waits_for_floor_and_durations_but_not_for_a_growing_queue() {
    assert_eq!(measured_by_rule(|_| 10), 10, "the floor of 1 s");
    assert_eq!(measured_by_rule(|_| 300), 30, "ten durations");
    // The durations at the opening were 300 ms; four times ten of these is the most.
    assert_eq!(measured_by_rule(|index| if index < 3 { 300 } else { 300 * index }), 120);
}

#[test]
fn a_backlog_that_reaches_its_bound_ends_the_level_and_is_explained() {
    let control = control(Cohort::Requests(100), 6);
    for index in 0..6 {
        assert!(arrive(&control, index).0.is_some());
    }
    let (phase, marks) = control.arrive(6, due(6));
    assert_eq!(phase, None);
    assert_eq!(edges(&marks), [(700 * MS, PhaseEdge::WindowClose), (700 * MS, PhaseEdge::Drain)]);
    let message = marks.last().and_then(|mark| mark.message.clone()).unwrap();
    assert!(message.contains("does not keep up: 6 requests in flight or in line after 0.7 s"), "{message}");
    assert!(message.contains("3 measured requests had been due"), "{message}");
    assert_eq!(arrive(&control, 7), (None, vec![]), "once");
    // What is in flight is followed to its end.
    for _ in 0..3 {
        assert_eq!(end(&control, Phase::Measure, due(9), Nanos(1)), []);
    }
    assert_eq!(control.progress().ended, 3);
}

#[test]
fn a_backlog_in_the_warm_up_leaves_no_window() {
    let control = control(Cohort::Requests(100), 1);
    arrive(&control, 0);
    let (_, marks) = control.arrive(1, due(1));
    assert_eq!(edges(&marks), [(200 * MS, PhaseEdge::Drain)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_number_of_workers_has_the_same_schedule(of in 1_u32..9) {
        let control = with_arrivals(Arrivals::Poisson, Cohort::Requests(50), 1000);
        let alone: Vec<_> = (0..60).filter_map(|index| control.next_of(0, 1, index)).collect();
        let mut dealt = BTreeSet::new();
        for worker in 0..of {
            let mut index = 0;
            while let Some((next, due)) = control.next_of(worker, of, index).filter(|(next, _)| *next < 60) {
                let number = if next < u64::from(WARMUP) { next } else { next - u64::from(WARMUP) };
                prop_assert_eq!(number % u64::from(of), u64::from(worker));
                prop_assert!(dealt.insert((next, due)), "twice");
                index = next + 1;
            }
        }
        prop_assert_eq!(dealt.into_iter().collect::<Vec<_>>(), alone);
    }
}
