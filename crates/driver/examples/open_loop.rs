//! An open loop against the mock: twenty requests a second come in bursts, whatever the server does, and each response
//! time counts from the instant at which the request was due.
//! `cargo run -p plimsoll-driver --example open_loop`

use plimsoll_driver::{
    Cohort, Control, Event, LevelPlan, Load, OpenLoop, Prepared, Sink, Stop, Stream, Supply, Target, Worker,
    run_level,
};
use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_record::{Arrivals, Rate};
use plimsoll_transport::{Clock, Dial, Head, Limits};
use plimsoll_wire::request::{Input, RequestBody};
use plimsoll_workload::ArrivalTimes;
use std::{sync::Arc, time::Duration};

/// The same short prompt again and again.
struct Same(u64);

impl Supply for Same {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        let prompt = format!("{} ships in the harbour", self.0);
        let body = RequestBody::new("mock", Input::Prompt(&prompt), 16).to_bytes();
        self.0 += 1;
        Some(Prepared { id: self.0 - 1, body, asked_input_tokens: None, max_tokens: 16 })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::start();
    let mock = spawn_thread(MockConfig::default(), clock.epoch())?;
    let target = Target {
        dial: Dial::Tcp(vec![mock.addr()]),
        head: Head::new("example", None)?,
        path: "/v1/completions".to_owned(),
        limits: Limits::default(),
    };
    let rate: Rate = "20".parse()?;
    let arrivals: Arrivals = "gamma:0.5".parse()?;
    let (warmup, seed, repeat) = (4, 7, 0);
    let times = ArrivalTimes::new(arrivals, rate, warmup, None, seed, repeat)?;
    let open = OpenLoop { rate, times, cap: None, connections: 8, most_unfinished: 1000 };
    let control = Arc::new(Control::new(LevelPlan {
        load: Load::Open(open),
        repeat,
        warmup,
        cohort: Cohort::Requests(40),
        retries: 0,
    }));
    let sink: Sink = Arc::new(|event| match event {
        Event::Request(record) => {
            let response = record.end_ns - record.due_ns;
            let late = record.sent_ns.map(|sent| sent - record.due_ns);
            println!(
                "{:?} {}: {:.1} ms, sent {:?} late",
                record.phase,
                record.id,
                response.as_secs_f64() * 1e3,
                late.map(|late| Duration::from_nanos(late.0))
            );
        }
        Event::Mark(mark) => println!("-- {:?} at {:.3} s", mark.edge, mark.at_ns.as_secs_f64()),
        Event::Client(_) => {}
    });
    let stop = Stop::new();
    let make = |number, ready| Worker {
        number,
        of: 1,
        targets: vec![target.clone()],
        clock,
        control: Arc::clone(&control),
        sink: Arc::clone(&sink),
        stop: stop.clone(),
        ready,
    };
    run_level(1, &stop, make, |_worker| Same(0))?;
    println!("{:?}", control.progress());
    Ok(())
}
