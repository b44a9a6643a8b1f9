//! A plan and a seed mean the same requests in every release; see `fingerprint` for when these may change.
#![expect(clippy::unwrap_used, reason = "what tests share")]

use plimsoll_record::{LengthLaw, Level, Plan};
use plimsoll_workload::{Calibration, PromptFile, Workload, fingerprint};
use std::fmt::Write;

fn actual() -> String {
    let levels = [1, 8, 32].map(Level::Concurrency);
    let plan = Plan {
        repeats: 2,
        input_tokens: LengthLaw::Normal { mean: 256, sd: 50 },
        output_tokens: LengthLaw::Uniform { low: 80, high: 120 },
        ..Plan::default()
    };
    let calibration = Calibration { tokens_per_word: 1.31, overhead_tokens: 9.0, system_tokens: Some(4) };
    let file = || PromptFile::parse(b"one\ntwo\nthree\nfour\nfive\n", "five.txt").unwrap();
    let system = || Some("Be brief.".to_owned());
    let workloads = [
        ("default plan", Workload::new(&Plan::default(), 7, None, None, None, Calibration::default())),
        ("drawn lengths", Workload::new(&plan, 7, None, None, None, Calibration::default())),
        ("drawn lengths, seed 8", Workload::new(&plan, 8, None, None, None, Calibration::default())),
        ("calibrated, system prompt", Workload::new(&plan, 7, None, system(), None, calibration)),
        ("prompts from a file", Workload::new(&plan, 7, Some(file()), system(), None, calibration)),
    ];
    let mut text = String::new();
    for (name, workload) in workloads {
        writeln!(text, "{}  {name}", fingerprint(&workload.unwrap(), &levels, 20)).unwrap();
    }
    text
}

#[test]
fn schedules_are_those_of_every_release() {
    let committed = include_str!("../../../fixtures/fingerprints/workload.txt");
    assert_eq!(
        actual(),
        committed,
        "requests changed: results before and after this are of different prompts"
    );
}

#[test]
fn different_workloads_have_different_fingerprints() {
    let text = actual();
    let mut hashes: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 5);
}
