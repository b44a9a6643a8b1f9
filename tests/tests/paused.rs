//! Whole sweeps in paused time over in-memory pipes: exact, and the same in every process.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at what it did not expect")]

use plimsoll_metrics::{BottleneckKind, KneeState, ReconciliationState, RunState};
use plimsoll_mock::{Ledger, Mock, MockConfig};
use plimsoll_record::{EventKind, Level, Nanos, Phase, PhaseEdge, Plan, RequestRecord, files};
use plimsoll_sweep::{
    Done, Link, MemoryDial, RunFolder, Setup, Silent, Stop, WallStamp, demo_plan, render, resolve, sweep,
};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use tokio::{sync::mpsc, task::LocalSet, time::Instant};

const SEED: u64 = 7;

/// Runs a plan against a mock of its own engine; time is virtual.
fn run(plan: Plan) -> (Done, Ledger) {
    let resolved = resolve(plan, SEED).unwrap();
    let engine = resolved.plan.mock.clone().unwrap();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(LocalSet::new().run_until(async move {
        let mock = Mock::new(MockConfig::of_engine(engine), Instant::now()).unwrap();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let server = mock.clone();
        tokio::task::spawn_local(async move {
            while let Some(pipe) = receiver.recv().await {
                let server = server.clone();
                tokio::task::spawn_local(async move { server.serve_stream(pipe).await });
            }
        });
        let dial = MemoryDial::new(move || {
            let (client, server) = tokio::io::duplex(1 << 16);
            sender.send(server).expect("the mock lives");
            client
        });
        let setup = Setup {
            resolved,
            link: Link::Memory(dial),
            key: None,
            stop: Stop::new(),
            wall: WallStamp::now(),
            client: "test".to_owned(),
            argv: Vec::new(),
        };
        let done = sweep(setup, &mut Silent).await.unwrap();
        (done, mock.ledger())
    }))
}

fn plan(name: &str) -> Plan {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&out);
    Plan { out, ..demo_plan() }
}

fn read(folder: &RunFolder, name: &str) -> Vec<u8> {
    fs::read(folder.file(name)).unwrap()
}

/// The files that are a function of plan, seed and server.
const EXACT: [&str; 4] = [files::REQUESTS, files::PHASES, files::SAMPLES, files::SUMMARY];

#[test]
fn the_same_plan_and_seed_give_the_same_folder() {
    let first = run(plan("same-1")).0;
    let second = run(plan("same-2")).0;
    for name in EXACT.into_iter().chain([files::LEVELS]) {
        assert!(read(&first.folder, name) == read(&second.folder, name), "{name} differs");
    }
}

/// The fingerprint changes only on purpose: when what is sent, drawn, recorded or computed changes. Then say so in the
/// commit that changes it. `PLIMSOLL_BLESS=1` writes it anew.
#[test]
fn the_golden_run_has_its_fingerprint() {
    let (done, _) = run(plan("golden"));
    let mut text = String::new();
    for name in EXACT {
        let hash = xxhash_rust::xxh3::xxh3_128(&read(&done.folder, name));
        writeln!(text, "{hash:032x}  {name}").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fingerprints/golden-run.txt");
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap());
}

#[test]
fn every_latency_is_the_ledgers_to_the_nanosecond() {
    let (done, ledger) = run(plan("ledger"));
    let run = done.folder.read().unwrap();
    assert_eq!(run.bad_lines, 0);
    let start = run.phases.iter().find(|mark| mark.edge == PhaseEdge::RunStart).unwrap().at_ns;
    let mut seen: Vec<(Nanos, Vec<Nanos>)> =
        run.requests.iter().map(|record| (record.sent_ns.unwrap(), tokens(record))).collect();
    let mut true_ones: Vec<(Nanos, Vec<Nanos>)> = ledger
        .requests
        .iter()
        .filter(|entry| entry.arrival >= start)
        .map(|entry| (entry.arrival, entry.tokens.iter().map(|token| token.actual).collect()))
        .collect();
    seen.sort();
    true_ones.sort();
    assert_eq!(seen.len(), true_ones.len());
    assert!(seen == true_ones, "stamps differ from the ledger's");
    for record in &run.requests {
        assert!(record.outcome.is_ok(), "{record:?}");
        assert_eq!(record.due_ns, record.sent_ns.unwrap(), "a free slot sends at once");
        assert_eq!(record.client_lag_ns, Nanos::ZERO);
        assert_eq!(
            (record.output_tokens, record.events.len()),
            (Some(32), 32 + 3),
            "role, text, usage, done"
        );
        assert_eq!(record.asked_input_tokens, record.input_tokens);
    }
}

fn tokens(record: &RequestRecord) -> Vec<Nanos> {
    record.events.iter().filter(|event| event.kind == EventKind::Content).map(|event| event.at_ns).collect()
}

#[test]
fn the_demonstration_finds_its_slot_limit() {
    let (done, ledger) = run(plan("demo"));
    let summary = &done.rendered.summary;
    assert_eq!(summary.state, RunState::Complete);
    assert_eq!(
        summary.levels.iter().map(|level| level.level).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16, 32].map(Level::Concurrency)
    );
    let KneeState::Bracket { low, high } = summary.knee.state else { panic!("{:?}", summary.knee) };
    assert!(low <= 8.into() && high >= 8.into(), "{:?}", summary.knee);
    assert_eq!(summary.bottleneck.kind, BottleneckKind::ServerSlots, "{:?}", summary.bottleneck);
    assert_eq!(summary.reconciliation.state, ReconciliationState::Match, "{:?}", summary.reconciliation);
    assert!(summary.flags.is_empty(), "{:?}", summary.flags);
    assert!(summary.checks > 100, "{}", summary.checks);
    for level in &summary.levels {
        assert!(level.flags.is_empty(), "{}: {:?}", level.level, level.flags);
        assert_eq!(level.n, level.ok);
        let in_flight = level.number("in_flight").and_then(|number| number.value).unwrap();
        assert!((in_flight / level.level.value() - 1.0).abs() < 0.02, "{in_flight} at {}", level.level);
    }
    // No measured prompt's first block had been seen before it: the prefix cache never hits.
    assert!(ledger.requests.iter().skip(2).all(|entry| entry.cached_tokens == 0));
}

#[test]
fn a_level_is_ramp_warmup_window_and_filler_without_a_drain_before_its_end() {
    let (done, _) = run(Plan { requests: Some(20), concurrency: vec![4], ..plan("shape") });
    let run = done.folder.read().unwrap();
    let at = |edge| run.phases.iter().find(|mark| mark.edge == edge).unwrap().at_ns;
    let (open, close, drain) = (at(PhaseEdge::WindowOpen), at(PhaseEdge::WindowClose), at(PhaseEdge::Drain));
    let of = |phase| run.requests.iter().filter(move |record| record.phase == phase);
    assert_eq!((of(Phase::Warmup).count(), of(Phase::Measure).count()), (8, 20));
    assert!(of(Phase::Measure).all(|record| open <= record.due_ns && record.due_ns < close));
    assert_eq!(of(Phase::Measure).map(|record| record.end_ns).max(), Some(drain));
    assert!(of(Phase::Filler).all(|record| close <= record.due_ns && record.due_ns <= drain));
    // From the window's opening to the drain all four slots are busy at every instant.
    let mut instants: Vec<Nanos> = run.requests.iter().map(|record| record.due_ns).collect();
    instants.retain(|instant| (open..drain).contains(instant));
    for instant in instants {
        let busy =
            run.requests.iter().filter(|record| record.due_ns <= instant && instant < record.end_ns).count();
        assert_eq!(busy, 4, "at {instant:?}");
    }
    // The starts are spread, not one wave.
    let mut starts: Vec<Nanos> = run.requests.iter().map(|record| record.due_ns).collect();
    starts.sort();
    starts.truncate(4);
    starts.dedup();
    assert_eq!(starts.len(), 4);
}

#[test]
fn a_report_is_the_same_again_from_the_folder_alone() {
    let (done, _) = run(Plan { requests: Some(10), concurrency: vec![1, 2], ..plan("again") });
    let names = [files::SUMMARY, files::LEVELS, files::REPORT];
    let before = names.map(|name| read(&done.folder, name));
    let moved = done.folder.path().with_file_name("elsewhere");
    fs::rename(done.folder.path(), &moved).unwrap();
    let folder = RunFolder::open(&moved).unwrap();
    assert_eq!(render(&folder).unwrap().table, done.rendered.table);
    assert!(names.map(|name| read(&folder, name)) == before);
}

#[test]
fn a_plan_of_a_run_folder_runs_again() {
    let (done, _) = run(Plan { requests: Some(5), concurrency: vec![2], ..plan("first") });
    let again = plimsoll_sweep::read_plan(&done.folder.file(files::PLAN)).unwrap();
    let (second, _) = run(Plan { out: plan("second").out, ..again });
    assert!(read(&done.folder, files::REQUESTS) == read(&second.folder, files::REQUESTS));
}
