//! What takes threads and sockets: several workers, and this process's limits.

use super::{SEED, at, plan, records};
use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_record::{FinishReason, Nanos, Phase, PhaseEdge, Plan};
use plimsoll_sweep::{Done, Link, RunFolder, Setup, Silent, Stop, WallStamp, resolve, sweep};
use plimsoll_tests::{Program, TempDir};
use std::fs;
use tokio::time::Instant;

/// What each request is, and when it is due after the level's start.
fn dealt(done: &Done, rate: f64) -> Vec<(Phase, u64, Nanos)> {
    let start = at(done, PhaseEdge::LevelStart);
    let records = records(done, rate).into_iter().filter(|record| record.phase != Phase::Filler);
    records.map(|record| (record.phase, record.id, record.due_ns - start)).collect()
}

#[test]
fn two_workers_send_the_schedule_of_one() {
    let made = |workers: u32| {
        let plan = plan(&format!("workers-{workers}"), &[200.0], "gamma:0.5");
        let resolved = resolve(Plan { workers, requests: Some(60), warmup: Some(7), ..plan }, SEED).unwrap();
        let engine = resolved.plan.mock.clone().unwrap();
        let mock = spawn_thread(MockConfig::of_engine(engine), Instant::now()).unwrap();
        let setup = Setup {
            resolved,
            link: Link::Embedded(mock.url()),
            key: None,
            stop: Stop::new(),
            wall: WallStamp::now(),
            client: "test".to_owned(),
            argv: Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(sweep(setup, &mut Silent)).unwrap()
    };
    let (one, two) = (made(1), made(2));
    assert_eq!(dealt(&one, 200.0).len(), 67);
    assert_eq!(dealt(&one, 200.0), dealt(&two, 200.0));
    let both = records(&two, 200.0);
    assert!(both.iter().all(|record| u64::from(record.worker) == record.id % 2), "dealt by number");
}

#[test]
fn a_cap_that_this_process_cannot_hold_is_refused_before_the_start() {
    let out = TempDir::new("cap");
    let swept = |cap: &str| {
        let load = ["--rate", "5", "--requests", "5", "--warmup", "0", "--output-tokens", "4", "--cap", cap];
        let args = [&["sweep", "--out", out.str()][..], &load].concat();
        Program::in_shell("ulimit -n 160", &args).run()
    };
    let room = (160 - 64 - 8) / 2;
    let refused = swept(&(room + 1).to_string());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in [format!("--cap: {} requests", room + 1), format!("can hold {room} (160 open files")] {
        assert!(refused.stderr.contains(&part), "{}", refused.stderr);
    }
    let held = swept(&room.to_string());
    assert_eq!(held.code, Some(0), "{held:?}");
}

/// The limit on open files leaves room for few connections, and the server is far too slow for either rate.
#[test]
fn a_server_that_does_not_keep_up_ends_the_level_with_an_explanation() {
    let out = TempDir::new("backlog");
    let file = out.path().join("slow.toml");
    let text = "rate = [100, 200]\nrequests = 500\nwarmup = 4\noutput-tokens = \"8\"\n\
                [mock]\nmax-num-seqs = 1\ndecode-base = \"5ms\"\n";
    fs::write(&file, text).unwrap();
    let runs = out.path().join("runs");
    let args = ["sweep", "--plan", file.to_str().unwrap(), "--out", runs.to_str().unwrap()];
    let ended = Program::in_shell("ulimit -n 160", &args).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let folder = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let run = RunFolder::open(&folder).unwrap().read().unwrap();
    let drains: Vec<_> = run.phases.iter().filter(|mark| mark.edge == PhaseEdge::Drain).collect();
    assert_eq!(drains.len(), 2, "the run goes on after the first");
    // 160 files without 64 and 8, each connection with both its ends.
    let room = (160 - 64 - 8) / 2;
    for drain in drains {
        let message = drain.message.clone().unwrap_or_default();
        assert!(message.contains(&format!("does not keep up: {room} requests")), "{message}");
        // Every request that was due stands in the records, was followed to its end, and none came after.
        let of_level: Vec<_> =
            run.requests.iter().filter(|record| Some(record.level) == drain.level).collect();
        assert!(of_level.len() >= room && of_level.iter().all(|record| record.outcome.is_ok()));
        assert!(of_level.iter().all(|record| record.due_ns <= drain.at_ns));
        let measured = of_level.iter().filter(|record| record.phase == Phase::Measure).count();
        assert!(message.contains(&format!("{measured} measured requests had been due")), "{message}");
    }
    let last = run.phases.last().unwrap();
    assert_eq!((last.edge, last.reason), (PhaseEdge::RunEnd, Some(FinishReason::Complete)));
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("The level ended before its time: the server does not keep up"),
        "{}",
        ended.stdout
    );
}
