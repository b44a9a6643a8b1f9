use super::*;
use plimsoll_record::FailureKind;

type Edges = Vec<(Nanos, PhaseEdge)>;

fn edges(marks: Marks) -> Edges {
    marks.into_iter().map(|mark| (mark.at_ns, mark.edge)).collect()
}

fn control(warmup: u32, cohort: Cohort) -> Control {
    let control = not_entered(warmup, cohort);
    control.enter();
    control.enter();
    control
}

fn not_entered(warmup: u32, cohort: Cohort) -> Control {
    Control::new(LevelPlan {
        load: Load::Closed { slots: 2, ramp: Duration::ZERO },
        repeat: 0,
        warmup,
        cohort,
        retries: 0,
    })
}

fn end(control: &Control, phase: Phase, ms: u64) -> Edges {
    let ended = Ended {
        outcome: &Outcome::Ok,
        duration: Nanos::from_millis(100),
        ttft: None,
        output_tokens: Some(1),
    };
    edges(control.end(phase, Nanos::from_millis(ms), &ended))
}

fn begin(control: &Control, ms: u64) -> Option<Phase> {
    control.begin(Nanos::from_millis(ms)).0
}

#[test]
fn a_cohort_of_requests_is_followed_by_filler_until_its_last_has_ended() {
    let control = control(2, Cohort::Requests(2));
    assert_eq!(begin(&control, 0), Some(Phase::Warmup));
    assert_eq!(begin(&control, 50), Some(Phase::Warmup));
    end(&control, Phase::Warmup, 100);
    let (phase, marks) = control.begin(Nanos::from_millis(100));
    assert_eq!(
        (phase, edges(marks)),
        (Some(Phase::Measure), vec![(Nanos::from_millis(100), PhaseEdge::WindowOpen)])
    );
    end(&control, Phase::Warmup, 150);
    assert_eq!(begin(&control, 150), Some(Phase::Measure));
    end(&control, Phase::Measure, 200);
    let (phase, marks) = control.begin(Nanos::from_millis(200));
    assert_eq!(
        (phase, edges(marks)),
        (Some(Phase::Filler), vec![(Nanos::from_millis(200), PhaseEdge::WindowClose)])
    );
    assert_eq!(end(&control, Phase::Measure, 250), [(Nanos::from_millis(250), PhaseEdge::Drain)]);
    assert_eq!(begin(&control, 250), None);
    assert_eq!(begin(&control, 300), None);
}

#[test]
fn the_window_opens_when_all_slots_have_begun() {
    let control = not_entered(1, Cohort::Requests(2));
    control.enter();
    for ms in [0, 100, 200] {
        assert_eq!(begin(&control, ms), Some(Phase::Warmup));
        end(&control, Phase::Warmup, ms + 100);
    }
    control.enter();
    assert_eq!(begin(&control, 250), Some(Phase::Measure));
    // Without a warm-up the user has asked for the first wave.
    assert_eq!(begin(&not_entered(0, Cohort::Requests(2)), 0), Some(Phase::Measure));
}

#[test]
fn a_window_closes_on_time_even_when_no_request_is_due() {
    let control = control(0, Cohort::Duration(Duration::from_millis(100)));
    assert_eq!(begin(&control, 0), Some(Phase::Measure));
    let edges = end(&control, Phase::Measure, 500);
    assert_eq!(
        edges,
        [(Nanos::from_millis(100), PhaseEdge::WindowClose), (Nanos::from_millis(500), PhaseEdge::Drain)]
    );
}

#[test]
fn the_rule_waits_for_each_of_its_bounds() {
    let rule = Cohort::Rule { floor: Duration::from_millis(300), requests: 3, durations: 10 };
    let control = control(0, rule);
    let mut now = 0;
    let mut measured = 0;
    while begin(&control, now) == Some(Phase::Measure) {
        measured += 1;
        now += 100;
        end(&control, Phase::Measure, now);
    }
    // Ten times 100 ms is the longest of the three.
    assert_eq!((measured, now), (10, 1000));
}

#[test]
fn the_live_view_has_a_median_to_a_hundredth() {
    let control = control(0, Cohort::Requests(99));
    assert_eq!(control.progress().ttft_p50, None);
    for ms in 1..=100 {
        let ended = Ended {
            outcome: &Outcome::Ok,
            duration: Nanos::from_millis(ms),
            ttft: Some(Nanos::from_millis(ms)),
            output_tokens: None,
        };
        control.begin(Nanos::ZERO);
        control.end(Phase::Measure, Nanos::ZERO, &ended);
    }
    let median = control.progress().ttft_p50.unwrap();
    assert!((median.as_secs_f64() * 1e3 / 50.0 - 1.0).abs() < 0.01, "{median:?} for 50 ms");
}

#[test]
fn a_success_ends_a_row_of_failures() {
    let control = control(0, Cohort::Requests(9));
    let outcome = Outcome::Failed { kind: FailureKind::Connect, message: "no".into() };
    let ended = Ended { outcome: &outcome, duration: Nanos(1), ttft: None, output_tokens: None };
    for _ in 0..3 {
        control.begin(Nanos::ZERO);
        control.end(Phase::Measure, Nanos(1), &ended);
    }
    let row = control.failures_in_a_row();
    assert_eq!((row.count, row.last.as_deref()), (3, Some("connect: no")));
    end(&control, Phase::Measure, 1);
    assert_eq!(control.failures_in_a_row(), FailureRow::default());
    assert_eq!(control.progress().failed, 3);
}
