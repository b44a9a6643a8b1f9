use super::engine;
use crate::SweepError;
use bytes::Bytes;
use plimsoll_driver::{
    Cohort, Control, Event, LevelPlan, Load, Prepared, Sink, Stop, Stream, Supply, Target, Worker, run_level,
};
use plimsoll_record::{ClientSample, Endpoint, MockEngine, Nanos, Phase, PhaseEdge, RequestRecord};
use plimsoll_transport::{Clock, Dial, Head, Limits, TimeLimits};
use plimsoll_wire::request::{Input, RequestBody};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// One closed loop.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub slots: u32,
    /// Of each stream.
    pub tokens: u32,
    /// Time between two tokens.
    pub step: Duration,
    pub window: Duration,
}

/// What a loop saw.
#[derive(Debug, Default)]
pub struct Measured {
    open: Nanos,
    close: Nanos,
    requests: Vec<RequestRecord>,
    clients: Vec<ClientSample>,
}

/// Limit for one stream, beyond the time that it takes.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Part {
    /// The engine of its server.
    pub fn engine(&self) -> MockEngine {
        engine(self.slots, self.step)
    }

    /// Runs it.
    pub fn run(&self, address: SocketAddr, workers: u32, stop: &Stop) -> Result<Measured, SweepError> {
        let workers = workers.clamp(1, self.slots);
        let spread = (self.step * self.tokens).min(Duration::from_secs(1));
        let control = Arc::new(Control::new(LevelPlan {
            load: Load::Closed { slots: self.slots, ramp: spread },
            repeat: 0,
            warmup: self.slots,
            cohort: Cohort::Duration(self.window),
            retries: 0,
        }));
        let target = Target {
            dial: Dial::Tcp(vec![address]),
            head: Head::new(&address.to_string(), None).map_err(SweepError::other)?,
            path: Endpoint::Completions.path().to_owned(),
            limits: Limits {
                time: TimeLimits { total: TIMEOUT + self.step * self.tokens, ..TimeLimits::default() },
                ..Limits::default()
            },
        };
        let seen = Arc::new(Mutex::new(Measured::default()));
        let sink: Sink = Arc::new({
            let seen = Arc::clone(&seen);
            move |event| seen.lock().unwrap_or_else(PoisonError::into_inner).take(event)
        });
        let clock = Clock::start();
        let make = |number, ready| Worker {
            number,
            of: workers,
            targets: vec![target.clone()],
            clock,
            control: Arc::clone(&control),
            sink: Arc::clone(&sink),
            stop: stop.clone(),
            ready,
        };
        let supply =
            |number| Same { body: self.body(), next: u64::from(number), of: workers, tokens: self.tokens };
        run_level(workers, stop, make, supply).map_err(SweepError::other)?;
        drop(sink);
        Ok(std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn body(&self) -> Bytes {
        let model = MockEngine::default().model;
        let mut body = RequestBody::new(&model, Input::Prompt("How deep may a ship be loaded?"), self.tokens);
        body.ignore_eos = true;
        body.to_bytes()
    }
}

/// The same request again and again.
struct Same {
    body: Bytes,
    next: u64,
    of: u32,
    tokens: u32,
}

impl Supply for Same {
    fn next(&mut self, _stream: Stream) -> Option<Prepared> {
        let id = self.next;
        self.next += u64::from(self.of);
        Some(Prepared { id, body: self.body.clone(), asked_input_tokens: None, max_tokens: self.tokens })
    }
}

impl Measured {
    fn take(&mut self, event: Event) {
        match event {
            Event::Request(record) => self.requests.push(*record),
            Event::Client(sample) => self.clients.push(*sample),
            Event::Mark(mark) => match mark.edge {
                PhaseEdge::WindowOpen => self.open = mark.at_ns,
                PhaseEdge::WindowClose => self.close = mark.at_ns,
                _ => {}
            },
        }
    }

    fn in_window(&self, at: Nanos) -> bool {
        self.open <= at && at < self.close
    }

    fn per_second(&self, count: usize) -> f64 {
        let window = (self.close - self.open).as_secs_f64();
        if window > 0.0 { count as f64 / window } else { 0.0 }
    }

    /// Events that were read in the window, each in a read of its own: those that came together with one before them cost
    /// next to nothing, which a server with gaps between its events does not grant.
    pub fn events_s(&self) -> f64 {
        let events = self.requests.iter().flat_map(|record| &record.events);
        self.per_second(events.filter(|event| !event.coalesced && self.in_window(event.at_ns)).count())
    }

    /// Requests that were answered in the window.
    pub fn requests_s(&self) -> f64 {
        let whole = self.requests.iter().filter(|record| is_whole(record) && self.in_window(record.end_ns));
        self.per_second(whole.count())
    }

    pub fn complete(&self) -> usize {
        self.requests.iter().filter(|record| is_whole(record)).count()
    }

    /// Requests that failed or lack an event.
    pub fn lost(&self) -> usize {
        self.requests.len() - self.complete()
    }

    /// The first of them, in words.
    pub fn first_loss(&self) -> String {
        self.requests.iter().find(|record| !is_whole(record)).map_or_else(String::new, |record| {
            format!("{:?}, {} of {} tokens", record.outcome, texts(record), record.max_tokens)
        })
    }

    /// Whole streams in flight at the same instant, at most.
    pub fn most_in_flight(&self) -> u32 {
        let whole = self.requests.iter().filter(|record| is_whole(record) && record.phase != Phase::Warmup);
        let mut edges: Vec<(Nanos, i32)> =
            whole.filter_map(|record| Some([(record.sent_ns?, 1), (record.end_ns, -1)])).flatten().collect();
        // One that ends as another begins leaves first.
        edges.sort_unstable();
        let (mut now, mut most) = (0_i32, 0_i32);
        for (_, step) in edges {
            now += step;
            most = most.max(now);
        }
        most.unsigned_abs()
    }

    /// Share of a processor that the busiest worker used in the window; absent where it was not told.
    pub fn busy(&self) -> Option<f64> {
        let inside = self.clients.iter().filter(|sample| self.in_window(sample.at_ns));
        let share = |sample: &ClientSample| {
            sample.worker?;
            let interval = sample.interval_ns.as_secs_f64();
            (interval > 0.0).then_some(sample.cpu_ns?.as_secs_f64() / interval)
        };
        inside.filter_map(share).reduce(f64::max)
    }
}

fn texts(record: &RequestRecord) -> usize {
    record.events.iter().filter(|event| event.kind.is_text()).count()
}

fn is_whole(record: &RequestRecord) -> bool {
    record.outcome.is_ok()
        && texts(record) == record.max_tokens as usize
        && record.output_tokens == Some(record.max_tokens)
}
