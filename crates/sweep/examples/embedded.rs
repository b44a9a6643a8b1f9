//! A small sweep of the mock server, from the plan to the table.
//!
//! `cargo run -p plimsoll-sweep --example embedded`

use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_record::Plan;
use plimsoll_sweep::{Link, Setup, Silent, Stop, WallStamp, demo_plan, resolve, sweep};
use std::error::Error;
use tokio::{runtime::Builder, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::temp_dir().join("plimsoll-example");
    let slo = Some("at 4: ttft p50 < 1s".to_owned());
    let plan = Plan { concurrency: vec![1, 8, 16], requests: Some(40), slo, out, ..demo_plan() };
    let resolved = resolve(plan, 1)?;
    println!("levels {:?}, of which {:?} for the SLO", resolved.plan.concurrency, resolved.added_levels);
    let mock = spawn_thread(MockConfig::default(), Instant::now())?;
    let setup = Setup {
        resolved,
        link: Link::Embedded(mock.url()),
        key: None,
        stop: Stop::new(),
        wall: WallStamp::now(),
        client: "example".to_owned(),
        argv: Vec::new(),
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(sweep(setup, &mut Silent))?;
    println!("{}\n{}", done.rendered.table, done.folder.path().display());
    Ok(())
}
