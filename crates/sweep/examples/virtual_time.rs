//! A sweep of the mock in virtual time, over in-memory pipes: `cargo run -p plimsoll-sweep --example virtual_time`.
//! Half a minute of load takes a second or two, and the same seed gives the same folder byte for byte, but for what
//! conditions and report say of date and host.

use plimsoll_mock::{Mock, MockConfig};
use plimsoll_sweep::{Link, MemoryDial, Setup, Silent, Stop, WallStamp, demo_plan, resolve, sweep};
use tokio::{sync::mpsc, task::LocalSet, time::Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut plan = demo_plan();
    plan.out = std::env::temp_dir().join("plimsoll-virtual");
    plan.slo = Some("at 10: ttft p95 < 100ms".to_owned());
    let resolved = resolve(plan, 1)?;
    let engine = resolved.plan.mock.clone().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(LocalSet::new().run_until(async move {
        let mock = Mock::new(MockConfig::of_engine(engine), Instant::now())?;
        let (sender, mut receiver) = mpsc::unbounded_channel();
        tokio::task::spawn_local(async move {
            while let Some(pipe) = receiver.recv().await {
                let mock = mock.clone();
                tokio::task::spawn_local(async move { mock.serve_stream(pipe).await });
            }
        });
        let dial = MemoryDial::new(move || {
            let (client, server) = tokio::io::duplex(1 << 16);
            // Without a server the client reads the end of the stream, and says so.
            let _ = sender.send(server);
            client
        });
        let setup = Setup {
            resolved,
            link: Link::Memory(dial),
            key: None,
            stop: Stop::new(),
            wall: WallStamp::now(),
            client: "example".to_owned(),
            argv: Vec::new(),
        };
        let done = sweep(setup, &mut Silent).await?;
        println!("{}\n{}", done.rendered.table, done.folder.path().display());
        Ok(())
    }))
}
