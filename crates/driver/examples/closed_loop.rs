//! A closed loop of four slots against the mock: `cargo run -p plimsoll-driver --example closed_loop`.

use plimsoll_driver::{
    Cohort, Control, Event, LevelPlan, Load, Prepared, Sink, Stop, Stream, Supply, Target, Worker, run_level,
};
use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_transport::{Clock, Dial, Head, Limits};
use plimsoll_wire::request::{Input, RequestBody};
use std::{sync::Arc, time::Duration};

/// The same short prompt again and again.
struct Same(u64);

impl Supply for Same {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        self.0 += 1;
        let prompt = format!("{} ships in the harbour", self.0);
        let body = RequestBody::new("mock", Input::Prompt(&prompt), 16).to_bytes();
        Some(Prepared { id: self.0, body, asked_input_tokens: None, max_tokens: 16 })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::start();
    let mock = spawn_thread(MockConfig::default(), clock.epoch())?;
    let targets = vec![Target {
        dial: Dial::Tcp(vec![mock.addr()]),
        head: Head::new("example", None)?,
        path: "/v1/completions".to_owned(),
        limits: Limits::default(),
    }];
    let control = Arc::new(Control::new(LevelPlan {
        load: Load::Closed { slots: 4, ramp: Duration::from_millis(80) },
        repeat: 0,
        warmup: 4,
        cohort: Cohort::Requests(20),
        retries: 0,
    }));
    let sink: Sink = Arc::new(|event| match event {
        Event::Request(record) => println!(
            "{:?} {}: first token {:?}, end {:?}",
            record.phase, record.id, record.first_token_ns, record.end_ns
        ),
        Event::Mark(mark) => println!("-- {:?} at {:?}", mark.edge, mark.at_ns),
        Event::Client(_) => {}
    });
    let stop = Stop::new();
    let make = |number, ready| Worker {
        number,
        of: 1,
        targets: targets.clone(),
        clock,
        control: Arc::clone(&control),
        sink: Arc::clone(&sink),
        stop: stop.clone(),
        ready,
    };
    run_level(1, &stop, make, |_worker| Same(0))?;
    println!("the mock emitted {} tokens", mock.stop().emitted_tokens());
    Ok(())
}
