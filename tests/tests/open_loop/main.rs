//! Open loops in paused time: each response time is exactly what the schedule and a queue of one server say.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod real;

use plimsoll_mock::{Fault, FaultKind, Faults, Mock, MockConfig};
use plimsoll_record::{
    Arrivals, FailureKind, FinishReason, LengthLaw, Level, MockEngine, Nanos, Phase, PhaseEdge, PhaseMark,
    Plan, Rate, RequestRecord, SCRAPE_OFF, Span, files,
};
use plimsoll_sweep::{Done, Link, MemoryDial, Setup, Silent, Stop, WallStamp, demo_plan, resolve, sweep};
use plimsoll_workload::ArrivalTimes;
use std::{cell::RefCell, fs, num::NonZeroU32, path::PathBuf, rc::Rc, time::Duration};
use tokio::{sync::mpsc, task::LocalSet, time::Instant};

const SEED: u64 = 7;
/// Service time of [`one_slot`]: 12 ms of prefill and 8 tokens of 1 ms.
const SERVICE: u64 = 20_000_000;
const MS: u64 = 1_000_000;

/// What happens to the run meanwhile, in virtual time.
#[derive(Clone, Copy, Default)]
struct Trouble {
    /// The whole process stands still for so long, this long after the start.
    frozen: Option<(Duration, Duration)>,
    /// The server goes away.
    dies_after: Option<Duration>,
    fault: Option<(u32, u16)>,
}

fn run(plan: Plan, trouble: Trouble) -> Done {
    let resolved = resolve(plan, SEED).unwrap();
    let engine = resolved.plan.mock.clone().unwrap();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(LocalSet::new().run_until(async move {
        let every = |(every, status)| Fault {
            every: NonZeroU32::new(every).unwrap(),
            kind: FaultKind::Status(status),
        };
        let faults = Faults { requests: trouble.fault.map(every).into_iter().collect(), ..Faults::default() };
        let config = MockConfig { faults, ..MockConfig::of_engine(engine) };
        let mock = Mock::new(config, Instant::now()).unwrap();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let serving = Rc::new(RefCell::new(Vec::new()));
        let tasks = Rc::clone(&serving);
        let accept = tokio::task::spawn_local(async move {
            while let Some(pipe) = receiver.recv().await {
                let mock = mock.clone();
                let task = tokio::task::spawn_local(async move { mock.serve_stream(pipe).await });
                tasks.borrow_mut().push(task);
            }
        });
        let dial = MemoryDial::new(move || {
            let (client, server) = tokio::io::duplex(1 << 16);
            // A server that is gone closes the pipe.
            let _ = sender.send(server);
            client
        });
        if let Some((after, pause)) = trouble.frozen {
            tokio::task::spawn_local(async move {
                tokio::time::sleep(after).await;
                tokio::time::advance(pause).await;
            });
        }
        if let Some(after) = trouble.dies_after {
            tokio::task::spawn_local(async move {
                tokio::time::sleep(after).await;
                accept.abort();
                serving.borrow_mut().drain(..).for_each(|task| task.abort());
            });
        }
        let setup = Setup {
            resolved,
            link: Link::Memory(dial),
            key: None,
            stop: Stop::new(),
            wall: WallStamp::now(),
            client: "test".to_owned(),
            argv: Vec::new(),
        };
        sweep(setup, &mut Silent).await.unwrap()
    }))
}

fn plan(name: &str, rates: &[f64], arrivals: &str) -> Plan {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("open").join(name);
    let _ = fs::remove_dir_all(&out);
    Plan {
        out,
        concurrency: Vec::new(),
        rate: rates.iter().map(|rate| Rate::new(*rate).unwrap()).collect(),
        arrivals: arrivals.parse().unwrap(),
        requests: Some(300),
        scrape: Some(SCRAPE_OFF.to_owned()),
        ..demo_plan()
    }
}

/// One request at a time, each in 20 ms.
fn one_slot(plan: Plan) -> Plan {
    let mock = MockEngine {
        max_num_seqs: 1,
        prefill_base: Span::from_millis(12),
        prefill_per_token: Span::from_millis(0),
        decode_base: Span::from_millis(1),
        decode_per_seq: Span::from_millis(0),
        ..MockEngine::default()
    };
    Plan { output_tokens: LengthLaw::Fixed(8), mock: Some(mock), ..plan }
}

/// The records of a level in the order of the schedule.
fn records(done: &Done, rate: f64) -> Vec<RequestRecord> {
    let run = done.folder.read().unwrap();
    assert_eq!(run.bad_lines, 0);
    let level = Level::Rate(Rate::new(rate).unwrap());
    let mut records: Vec<_> = run.requests.into_iter().filter(|record| record.level == level).collect();
    records.sort_by_key(|record| (record.phase != Phase::Warmup, record.id));
    assert!(records.is_sorted_by_key(|record| record.due_ns), "numbers follow the schedule");
    records
}

fn marks(done: &Done) -> Vec<PhaseMark> {
    done.folder.read().unwrap().phases
}

fn at(done: &Done, edge: PhaseEdge) -> Nanos {
    marks(done).iter().find(|mark| mark.edge == edge).unwrap().at_ns
}

/// In paused time the clock goes from one whole millisecond to the next, so that a request due between two of them is
/// sent, and arrives, at the second.
fn arrival(record: &RequestRecord) -> u64 {
    record.due_ns.0.next_multiple_of(MS)
}

/// Lindley 1952: the request waits for what the one before it leaves, W(i) = max(0, W(i-1) + S - (a(i) - a(i-1))), and
/// ends W(i) + S after its arrival.
fn assert_lindley(records: &[RequestRecord]) {
    let (mut wait, mut last) = (0, 0);
    for record in records {
        let arrival = arrival(record);
        wait = (wait + SERVICE).saturating_sub(arrival - last);
        if last == 0 {
            wait = 0;
        }
        last = arrival;
        let response = record.end_ns - record.due_ns;
        let (due, rounding) = (record.due_ns.0, arrival - record.due_ns.0);
        assert_eq!(response.0, rounding + wait + SERVICE, "request {} due at {due}", record.id);
    }
}

/// The schedule as the generator makes it, from the level's start on.
fn schedule(arrivals: &str, rate: f64, n: usize) -> Vec<Nanos> {
    let arrivals: Arrivals = arrivals.parse().unwrap();
    ArrivalTimes::new(arrivals, Rate::new(rate).unwrap(), 4, None, SEED, 0).unwrap().take(n).collect()
}

#[test]
fn response_times_are_those_of_lindleys_recursion_on_the_exported_schedule() {
    let arrivals = ["poisson", "gamma:0.25", "on-off:20/1,200ms,300ms", "weibull:0.7"];
    // Loads of 0.5, 0.9 and 1.25 of what the server can do.
    for (index, process) in arrivals.into_iter().enumerate() {
        let rates: &[f64] = if index == 0 { &[25.0, 45.0, 62.5] } else { &[40.0] };
        let done = run(one_slot(plan(&format!("lindley-{index}"), rates, process)), Trouble::default());
        assert_eq!(done.ending.reason, FinishReason::Complete);
        for rate in rates {
            let records = records(&done, *rate);
            assert!(records.iter().all(|record| record.outcome.is_ok() && !record.capped));
            assert_eq!(records.iter().filter(|record| record.phase == Phase::Measure).count(), 300);
            assert!(
                records.iter().all(|record| record.sent_ns == Some(Nanos(arrival(record)))),
                "sent when due"
            );
            assert_lindley(&records);
            let level = Level::Rate(Rate::new(*rate).unwrap());
            let start = marks(&done)
                .into_iter()
                .find(|mark| mark.edge == PhaseEdge::LevelStart && mark.level == Some(level));
            let start = start.unwrap().at_ns;
            let dues: Vec<Nanos> = records.iter().map(|record| record.due_ns - start).collect();
            assert_eq!(dues, schedule(process, *rate, records.len()), "the records hold the schedule");
        }
    }
}

/// A gap of 16 ms for a server that needs 20: on whole milliseconds nothing is rounded, and request k waits k times 4 ms.
#[test]
fn under_a_constant_overload_each_request_waits_longer_than_the_one_before() {
    let done = run(one_slot(plan("overload", &[62.5], "constant")), Trouble::default());
    let records = records(&done, 62.5);
    for (k, record) in records.iter().enumerate() {
        assert_eq!((record.end_ns - record.due_ns).0, SERVICE + k as u64 * 4 * MS);
    }
    let window = at(&done, PhaseEdge::WindowClose) - at(&done, PhaseEdge::WindowOpen);
    assert_eq!(window, Nanos(300 * 16 * MS), "as many gaps as arrivals");
    // Filler came until the last measured request had ended.
    let filler: Vec<_> = records.iter().filter(|record| record.phase == Phase::Filler).collect();
    let drain = at(&done, PhaseEdge::Drain);
    let last =
        records.iter().filter(|record| record.phase == Phase::Measure).map(|record| record.end_ns).max();
    assert_eq!(last, Some(drain));
    assert_eq!(filler.len() as u64, (drain - filler[0].due_ns).0 / (16 * MS) + 1);
}

#[test]
fn a_window_of_fixed_length_opens_and_closes_on_time_and_holds_what_was_due_in_it() {
    for (name, process, rate) in [("fixed", "constant", 20.0), ("fixed-poisson", "poisson", 0.5)] {
        let duration = Some(Span::from_millis(10_000));
        let plan = Plan { requests: None, duration, ..one_slot(plan(name, &[rate], process)) };
        let done = run(plan, Trouble::default());
        let (open, close) = (at(&done, PhaseEdge::WindowOpen), at(&done, PhaseEdge::WindowClose));
        assert_eq!(close - open, Nanos(10_000 * MS), "{process}");
        for record in records(&done, rate) {
            let phase = match record.due_ns {
                due if due < open => Phase::Warmup,
                due if due < close => Phase::Measure,
                _ => Phase::Filler,
            };
            assert_eq!(record.phase, phase);
        }
        if process == "constant" {
            let n = records(&done, rate).iter().filter(|record| record.phase == Phase::Measure).count();
            assert_eq!(n, 200);
        }
    }
}

#[test]
fn a_ramp_begins_with_the_window_and_ends_with_it() {
    let duration = Some(Span::from_millis(20_000));
    let plan = Plan { requests: None, duration, ..plan("ramp", &[40.0], "ramp:4") };
    let done = run(plan, Trouble::default());
    let open = at(&done, PhaseEdge::WindowOpen);
    let count = |from: u64, to: u64| {
        let inside = |record: &&RequestRecord| (from..to).contains(&((record.due_ns - open).0 / (1000 * MS)));
        records(&done, 40.0).iter().filter(|record| record.phase == Phase::Measure).filter(inside).count()
    };
    // The integral of 4 + 1.8 t over each half, give or take four standard deviations.
    for (from, to, expected) in [(0, 10, 130.0_f64), (10, 20, 310.0)] {
        let count = count(from, to) as f64;
        assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{from}..{to}: {count} for {expected}");
    }
}

#[test]
fn the_same_plan_and_seed_give_the_same_folder() {
    let made = |name| {
        run(Plan { cap: Some(6), scrape: None, ..plan(name, &[20.0, 60.0], "poisson") }, Trouble::default())
    };
    let (first, second) = (made("same-1"), made("same-2"));
    for name in [files::REQUESTS, files::PHASES, files::SAMPLES, files::SUMMARY, files::LEVELS] {
        let read = |done: &Done| fs::read(done.folder.file(name)).unwrap();
        assert!(read(&first) == read(&second), "{name} differs");
    }
}

/// With a cap of one, any server is a queue of one, whose line is on this side.
#[test]
fn a_cap_makes_requests_wait_and_their_wait_counts() {
    let capped = Plan { cap: Some(1), ..one_slot(plan("cap", &[45.0], "poisson")) };
    let mock = MockEngine { max_num_seqs: 8, ..capped.mock.clone().unwrap() };
    let done = run(Plan { mock: Some(mock), ..capped }, Trouble::default());
    let records = records(&done, 45.0);
    let (sent, unsent): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.sent_ns.is_some());
    assert_lindley(&sent);
    for record in &sent {
        let waited = record.sent_ns.unwrap().0 > arrival(record);
        assert!(!waited || record.capped, "{record:?}");
    }
    assert!(sent.iter().any(|record| record.capped) && sent.iter().any(|record| !record.capped));
    // Filler that was still in line at the level's end stands in the records, and was not sent.
    for record in unsent {
        assert_eq!((record.phase, record.capped), (Phase::Filler, true));
        assert_eq!(record.outcome.failure(), Some(FailureKind::Cancelled));
    }
    let sizes: Vec<_> = sent.iter().map(|record| (record.sent_ns.unwrap(), record.end_ns)).collect();
    for (at, _) in &sizes {
        let in_flight = sizes.iter().filter(|(sent, end)| sent <= at && at < end).count();
        assert_eq!(in_flight, 1, "never more than the cap");
    }
}

#[test]
fn a_late_client_does_not_move_the_schedule() {
    let frozen = Some((Duration::from_secs(6), Duration::from_millis(400)));
    let made = |name, trouble| run(one_slot(plan(name, &[30.0], "poisson")), trouble);
    let on_time = made("on-time", Trouble::default());
    let late = made("late", Trouble { frozen, ..Trouble::default() });
    let dues = |done: &Done| {
        let records = records(done, 30.0);
        records
            .iter()
            .map(|record| record.due_ns - at(done, PhaseEdge::LevelStart))
            .take(304)
            .collect::<Vec<_>>()
    };
    assert_eq!(dues(&on_time), dues(&late));
    let delays: Vec<u64> =
        records(&late, 30.0).iter().map(|record| (record.sent_ns.unwrap() - record.due_ns).0).collect();
    assert!(delays.iter().any(|delay| *delay > 200 * MS), "the freeze is seen");
    let late_ones = delays.iter().filter(|delay| **delay > MS).count();
    assert!((1..40).contains(&late_ones), "{late_ones} were late: those due while the client stood still");
    for record in records(&late, 30.0) {
        assert!((record.end_ns - record.due_ns).0 >= SERVICE, "the delay counts");
    }
}

#[test]
fn a_server_that_refuses_some_keeps_getting_requests() {
    let trouble = Trouble { fault: Some((5, 503)), ..Trouble::default() };
    let done = run(one_slot(plan("refuses", &[25.0], "constant")), trouble);
    assert_eq!(done.ending.reason, FinishReason::Complete);
    let records = records(&done, 25.0);
    let failed = records.iter().filter(|record| !record.outcome.is_ok()).count();
    assert!(failed.abs_diff(records.len() / 5) <= 1, "{failed} of {}", records.len());
    assert!(records.iter().all(|record| record.sent_ns == Some(Nanos(arrival(record)))), "no back-off");
}

#[test]
fn a_server_that_is_gone_ends_the_run_and_says_so() {
    let trouble = Trouble { dies_after: Some(Duration::from_secs(4)), ..Trouble::default() };
    let done = run(one_slot(plan("gone", &[30.0, 40.0], "poisson")), trouble);
    assert_eq!(done.ending.reason, FinishReason::Failed);
    let message = done.ending.message.clone().unwrap();
    assert!(message.contains("requests failed in a row at 30 req/s"), "{message}");
    let records = records(&done, 30.0);
    let started = records.len();
    assert!(started > 150, "patient for five seconds: {started}");
    assert!(records.iter().all(|record| record.end_ns >= record.due_ns));
}

/// A server whose steps grow with its batch: alone a request takes 84 ms, among many it comes to no end in time.
#[test]
fn requests_that_all_run_into_the_time_limit_end_the_level_and_not_the_run() {
    let plan = one_slot(plan("timeouts", &[2.0, 100.0], "poisson"));
    let decode_per_seq = Span::from_millis(8);
    let mock = MockEngine { max_num_seqs: 64, decode_per_seq, ..plan.mock.clone().unwrap() };
    let timeout = Span::from_millis(300);
    let done = run(
        Plan { mock: Some(mock), timeout, requests: Some(2000), rate: plan.rate[1..].to_vec(), ..plan },
        Trouble::default(),
    );
    assert_eq!(done.ending.reason, FinishReason::Complete, "{:?}", done.ending);
    let drain = marks(&done).into_iter().find(|mark| mark.edge == PhaseEdge::Drain).unwrap();
    let message = drain.message.unwrap();
    assert!(message.contains("requests failed in a row at 100 req/s; the last: timeout"), "{message}");
    assert!(marks(&done).iter().any(|mark| mark.edge == PhaseEdge::LevelEnd), "the level has its end");
    // Every request that was due stands in the records, and none was due after the end.
    let records = records(&done, 100.0);
    assert!(records.iter().all(|record| record.due_ns <= drain.at_ns));
    assert!(records.iter().enumerate().all(|(k, record)| {
        let warmups = records.iter().filter(|record| record.phase == Phase::Warmup).count();
        record.id as usize == if k < warmups { k } else { k - warmups }
    }));
}
