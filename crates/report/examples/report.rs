//! Prints a made-up run: the terminal table, then `report.md`.
//!
//! `cargo run -p plimsoll-report --example report`

#[path = "../tests/sample/mod.rs"]
mod sample;

use plimsoll_report::{ReportInput, markdown, table};

fn main() {
    let (plan, conditions, summary) = (sample::plan(), sample::conditions(), sample::summary());
    let input = ReportInput { plan: &plan, conditions: &conditions, summary: &summary };
    println!("{}\n{}", table(&input, Some(120)), markdown(&input));
}
