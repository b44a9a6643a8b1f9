//! A run folder: complete, cut off in every way, read again.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use plimsoll_record::{FailureKind, Plan, RequestRecord, files, read_lines};
use plimsoll_tests::{Ended, Program, TempDir};
use rustix::process::Signal;
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

const WRITTEN: [&str; 9] = [
    files::PLAN,
    files::CONDITIONS,
    files::REQUESTS,
    files::PHASES,
    files::SAMPLES,
    files::CLIENT,
    files::SUMMARY,
    files::LEVELS,
    files::REPORT,
];

/// A sweep of the embedded mock that takes a second.
fn quick(out: &TempDir, more: &[&str]) -> Program {
    let args = [
        "sweep",
        "--concurrency",
        "1,2",
        "--requests",
        "8",
        "--input-tokens",
        "16",
        "--output-tokens",
        "4",
        "--out",
        out.str(),
    ];
    Program::new(&[&args, more].concat())
}

/// One that goes on for minutes.
fn long(out: &TempDir) -> Vec<String> {
    let args = [
        "sweep",
        "--concurrency",
        "4",
        "--duration",
        "10m",
        "--input-tokens",
        "16",
        "--output-tokens",
        "4",
        "--out",
        out.str(),
    ];
    args.map(str::to_owned).to_vec()
}

fn only_folder(out: &TempDir) -> Option<PathBuf> {
    let mut folders = fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.next();
    assert!(folders.next().is_none(), "more than one run folder");
    folder
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect()
}

fn report(folder: &Path) -> Ended {
    Program::new(&["report", folder.to_str().unwrap()]).run()
}

fn requests(folder: &Path) -> Vec<RequestRecord> {
    let lines = read_lines(&fs::read(folder.join(files::REQUESTS)).unwrap_or_default());
    assert!(lines.bad.len() <= 1, "torn lines: {:?}", lines.bad);
    lines.records
}

#[test]
fn a_report_is_a_function_of_its_folder() {
    let out = TempDir::new("report");
    let swept = quick(&out, &["--slo", "at 3: e2e p50 < 10s"]).run();
    assert_eq!(swept.code, Some(0), "{swept:?}");
    let folder = only_folder(&out).unwrap();
    let before = contents(&folder);
    assert_eq!(before.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>(), WRITTEN.into());
    assert!(before.values().all(|bytes| !bytes.is_empty()));
    let table = swept.stdout.split("\nrun folder: ").next().unwrap().to_owned();
    let told = swept.stdout.split("run folder: ").nth(1).unwrap().trim();
    assert_eq!(fs::canonicalize(told).unwrap(), fs::canonicalize(&folder).unwrap());
    for name in [files::SUMMARY, files::LEVELS, files::REPORT] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let again = report(&folder);
    assert_eq!((again.code, again.stdout.as_str(), again.stderr.as_str()), (Some(0), table.as_str(), ""));
    assert!(contents(&folder) == before, "the files differ");
    let moved = out.path().join("moved");
    fs::rename(&folder, &moved).unwrap();
    assert_eq!(report(&moved).stdout, table);
    assert!(contents(&moved) == before, "the files differ after a move");
}

#[test]
fn the_plan_of_a_folder_runs_again_as_the_same_plan() {
    let (first, second) = (TempDir::new("first"), TempDir::new("second"));
    let ended = quick(&first, &["--slo", "at 3: e2e p50 < 10s", "--input-tokens", "10-30"]).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let folder = only_folder(&first).unwrap();
    let plan_file = folder.join(files::PLAN);
    let again = Program::new(&["sweep", "--plan", plan_file.to_str().unwrap(), "--out", second.str()]).run();
    assert_eq!(again.code, Some(0), "{again:?}");
    let read = |folder: &Path| -> Plan {
        toml::from_str(&fs::read_to_string(folder.join(files::PLAN)).unwrap()).unwrap()
    };
    let (one, two) = (read(&folder), read(&only_folder(&second).unwrap()));
    assert_eq!(Plan { out: one.out.clone(), ..two }, one);
    assert_eq!(one.concurrency, [1, 2, 3]);
    let asked = |folder: &Path| -> BTreeMap<(plimsoll_record::Level, u64, String), Option<u32>> {
        let key = |record: &RequestRecord| (record.level, record.id, format!("{:?}", record.phase));
        requests(folder)
            .iter()
            .filter(|record| record.id < 4)
            .map(|record| (key(record), record.asked_input_tokens))
            .collect()
    };
    let (one, two) = (asked(&folder), asked(&only_folder(&second).unwrap()));
    let same = one.iter().filter(|(key, _)| two.contains_key(*key)).collect::<Vec<_>>();
    assert!(same.len() > 5 && same.iter().all(|(key, tokens)| two[*key] == **tokens), "{one:?} {two:?}");
}

/// Ends a long sweep by a signal once some requests have ended.
fn cut_off(out: &TempDir, signal: Signal) -> Ended {
    let args = long(out);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut started = Program::new(&args).start();
    started.wait_until("30 requests have ended", || {
        only_folder(out).is_some_and(|folder| requests(&folder).len() > 30)
    });
    started.signal(signal);
    started.wait()
}

#[test]
fn after_a_kill_the_folder_holds_what_had_ended_and_the_report_says_partial() {
    let out = TempDir::new("killed");
    let ended = cut_off(&out, Signal::KILL);
    assert_eq!(ended.code, None, "{ended:?}");
    let folder = only_folder(&out).unwrap();
    let kept = requests(&folder).len();
    assert!(kept > 30);
    let told = report(&folder);
    assert_eq!(told.code, Some(4), "{told:?}");
    assert!(told.stdout.to_lowercase().contains("partial"), "{}", told.stdout);
    assert_eq!(requests(&folder).len(), kept);
    let first = contents(&folder);
    report(&folder);
    assert!(contents(&folder) == first);
}

#[test]
fn ctrl_c_ends_the_run_with_its_requests_cancelled_and_its_report_written() {
    for signal in [Signal::INT, Signal::TERM] {
        let out = TempDir::new("stopped");
        let ended = cut_off(&out, signal);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        let folder = only_folder(&out).unwrap();
        assert!(
            ended.stdout.contains("run folder: ") && ended.stdout.to_lowercase().contains("partial"),
            "{ended:?}"
        );
        let records = requests(&folder);
        let cancelled =
            records.iter().filter(|record| record.outcome.failure() == Some(FailureKind::Cancelled)).count();
        assert!((1..=4).contains(&cancelled), "{cancelled} of 4 slots");
        assert_eq!(report(&folder).code, Some(4));
    }
}

#[test]
fn a_torn_last_line_is_counted_and_the_rest_is_reported() {
    let out = TempDir::new("torn");
    assert_eq!(quick(&out, &[]).run().code, Some(0));
    let folder = only_folder(&out).unwrap();
    let path = folder.join(files::REQUESTS);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let told = report(&folder);
    assert!(matches!(told.code, Some(0 | 4)), "{told:?}");
    let summary = fs::read_to_string(folder.join(files::SUMMARY)).unwrap();
    assert!(summary.contains("line"), "nothing in the summary tells of the torn line");
}

/// A limit on file sizes fails a write as a full disk does, and needs no rights.
#[test]
fn a_write_that_fails_ends_the_run_with_an_error_and_keeps_what_was_written() {
    let out = TempDir::new("limit");
    let args = long(&out);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ended = Program::in_shell("trap '' XFSZ; ulimit -f 64", &args).run();
    failed_write(&ended, &out);
}

#[test]
fn a_full_disk_ends_the_run_with_an_error_and_keeps_what_was_written() {
    let out = TempDir::new("full");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=128k", "tmpfs", out.str()]).output();
    if !mounted.is_ok_and(|mount| mount.status.success()) {
        // Past the test's capture, so that it is seen.
        let _ = writeln!(std::io::stderr(), "skipped 1 test: no right to mount a small disk to fill");
        return;
    }
    let args = long(&out);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ended = Program::new(&args).run();
    let kept = TempDir::new("full-kept");
    let copied = Command::new("cp").args(["-r", &format!("{}/.", out.str()), kept.str()]).status();
    let unmounted = Command::new("umount").arg(out.str()).status();
    assert!(copied.unwrap().success() && unmounted.unwrap().success());
    failed_write(&ended, &kept);
}

fn failed_write(ended: &Ended, out: &TempDir) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let error = ended.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(error.contains("cannot write") && error.contains(".jsonl"), "{ended:?}");
    let folder = only_folder(out).unwrap();
    assert!(requests(&folder).len() > 5);
    let told = report(&folder);
    assert_eq!(told.code, Some(4), "{told:?}");
    assert!(told.stdout.to_lowercase().contains("partial"), "{}", told.stdout);
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let out = TempDir::new("pipe");
    assert_eq!(quick(&out, &[]).run().code, Some(0));
    let folder = only_folder(&out).unwrap();
    let program = Program::path();
    let script = format!("{} report {} | true", program.display(), folder.display());
    let ended = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn keys_reach_no_file_and_no_output() {
    let key = "sk-plimsoll-very-secret";
    let config =
        plimsoll_mock::MockConfig { api_key: Some(key.to_owned()), ..plimsoll_mock::MockConfig::default() };
    let mock = plimsoll_mock::spawn_thread(config, tokio::time::Instant::now()).unwrap();
    let out = TempDir::new("secret");
    let scrape = format!("{}/metrics?token=abracadabra", mock.url());
    let ended = quick(&out, &["--url", &mock.url(), "--api-key-env", "SECRET", "--scrape", &scrape])
        .env("SECRET", key)
        .run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let folder = only_folder(&out).unwrap();
    for (name, bytes) in contents(&folder) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(key), "{name} holds the key");
        assert!(!text.contains("abracadabra"), "{name} holds the page's token");
    }
    assert!(!ended.stdout.contains(key) && !ended.stderr.contains(key));
}
