//! Reads the `requests.jsonl` of a run folder and counts outcomes: `cargo run -p plimsoll-record --example lines -- FILE`.

use plimsoll_record::{RequestRecord, read_lines};
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: lines FILE, a requests.jsonl");
        return Ok(());
    };
    let lines = read_lines::<RequestRecord>(&std::fs::read(path)?);
    let mut outcomes = BTreeMap::new();
    for record in &lines.records {
        let name = record.outcome.failure().map_or("ok", plimsoll_record::FailureKind::name);
        *outcomes.entry((record.level, name)).or_insert(0_u32) += 1;
    }
    for ((level, name), count) in outcomes {
        println!("concurrency {level}: {count} {name}");
    }
    println!("{} lines could not be read", lines.bad.len());
    Ok(())
}
