//! A worker that panics before the level begins ends the level for the others, which wait for it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use bytes::Bytes;
use plimsoll_driver::{
    Cohort, Control, DriverError, LevelPlan, Load, Prepared, Stop, Stream, Supply, Target, Worker, run_level,
};
use plimsoll_transport::{Clock, Dial, Head, Limits};
use std::{
    net::TcpListener,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

const WORKERS: u32 = 3;

/// Where one of the workers panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Make,
    Supply,
    Prepare,
}

struct Broken(Place);

impl Supply for Broken {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        Some(Prepared { id: 0, body: Bytes::from_static(b"{}"), asked_input_tokens: None, max_tokens: 1 })
    }

    fn prepare(&mut self, _warmups: usize, _loads: usize) {
        assert!(self.0 != Place::Prepare, "meant");
    }
}

fn level(worker: u32, place: Place, stop: &Stop) -> Result<(), DriverError> {
    // Connections stand in its backlog; nothing is sent.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target {
        dial: Dial::Tcp(vec![server.local_addr().unwrap()]),
        head: Head::new("example", None).unwrap(),
        path: "/v1/completions".to_owned(),
        limits: Limits::default(),
    };
    let control = Arc::new(Control::new(LevelPlan {
        load: Load::Closed { slots: 2 * WORKERS, ramp: Duration::ZERO },
        repeat: 0,
        warmup: 0,
        cohort: Cohort::Requests(1),
        retries: 0,
    }));
    let clock = Clock::start();
    let make = |number, ready| {
        assert!((number, place) != (worker, Place::Make), "meant");
        Worker {
            number,
            of: WORKERS,
            targets: vec![target.clone()],
            clock,
            control: Arc::clone(&control),
            sink: Arc::new(|_| ()),
            stop: stop.clone(),
            ready,
        }
    };
    let supply = |number| {
        assert!((number, place) != (worker, Place::Supply), "meant");
        Broken(if number == worker { place } else { Place::Make })
    };
    run_level(WORKERS, stop, make, supply)
}

#[test]
fn a_worker_that_panics_before_the_start_leaves_none_waiting() {
    for place in [Place::Make, Place::Supply, Place::Prepare] {
        for worker in 0..WORKERS {
            let (ended, wait) = mpsc::channel();
            thread::spawn(move || {
                let stop = Stop::new();
                let result = level(worker, place, &stop);
                ended.send((result.map_err(|error| error.to_string()), stop.is_set()))
            });
            // The limit only turns a hang into a failure.
            let (result, stopped) = wait.recv_timeout(Duration::from_mins(1)).expect("the level ends");
            assert!(stopped, "{worker} {place:?}");
            assert!(result.unwrap_err().contains("abnormally"), "{worker} {place:?}");
        }
    }
}

#[test]
fn workers_that_all_panic_are_one_error() {
    let stop = Stop::new();
    let make = |_, _| panic!("meant");
    assert!(run_level(WORKERS, &stop, make, |_| Broken(Place::Make)).is_err());
    assert!(stop.is_set());
}
