use crate::{Event, Pacer, Supply, site::Site};
use plimsoll_record::{ClientSample, Nanos, RECORD_SCHEMA};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};
use tokio::time::Instant;

/// Time between two ticks.
const TICK: Duration = Duration::from_millis(10);
/// Ticks of one sample.
const TICKS: usize = 100;

/// The heartbeat of a worker: how late its runtime gets to what is ready, which is what any read of a token suffers too.
/// The timer is the kernel's, so that no rounding to milliseconds counts as lateness.
pub struct Beat<S> {
    site: Rc<Site<S>>,
    lag_us: RefCell<Vec<u32>>,
    /// What had been reached when the interval began.
    since: Cell<Since>,
}

#[derive(Clone, Copy)]
struct Since {
    at: Nanos,
    cpu: Option<Duration>,
    connects: u32,
    starved: u32,
}

impl<S: Supply> Beat<S> {
    /// Must be made on the worker's own thread.
    pub fn new(site: &Rc<Site<S>>) -> Rc<Self> {
        let since = Since { at: site.worker.clock.now(), cpu: thread_cpu(), connects: 0, starved: 0 };
        let lag_us = RefCell::new(Vec::with_capacity(TICKS));
        Rc::new(Self { site: Rc::clone(site), lag_us, since: Cell::new(since) })
    }

    /// Ticks until it is dropped. Without a timer there are samples without lateness.
    pub async fn run(self: Rc<Self>) {
        let Ok(mut pacer) = Pacer::exact() else { return };
        let mut next = Instant::now() + TICK;
        while pacer.sleep_until(next).await.is_ok() {
            let late = next.elapsed();
            self.lag_us.borrow_mut().push(u32::try_from(late.as_micros()).unwrap_or(u32::MAX));
            if self.lag_us.borrow().len() >= TICKS {
                self.tell();
            }
            // Ticks that were missed are one late tick, not many.
            next += TICK * (1 + u32::try_from(late.as_nanos() / TICK.as_nanos()).unwrap_or(u32::MAX - 1));
        }
    }

    /// Writes down the interval that ends now.
    pub fn tell(&self) {
        let worker = &self.site.worker;
        let since = self.since.get();
        let starved = self.site.supply.borrow().starved();
        let connects = self.site.connects.get();
        let now = Since { at: worker.clock.now(), cpu: thread_cpu(), connects, starved };
        self.since.set(now);
        let used = now.cpu.zip(since.cpu).map(|(now, then)| now.saturating_sub(then));
        let plan = worker.control.plan();
        (worker.sink)(Event::Client(Box::new(ClientSample {
            schema: RECORD_SCHEMA,
            at_ns: now.at,
            interval_ns: now.at - since.at,
            level: Some(plan.level()),
            repeat: Some(plan.repeat),
            worker: Some(worker.number),
            cpu_ns: used.map(|used| Nanos(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX))),
            lag_us: self.lag_us.replace(Vec::with_capacity(TICKS)),
            connects: Some(now.connects - since.connects),
            starved: Some(now.starved - since.starved),
            throttled: None,
            throttled_ns: None,
            retransmits: None,
            steal_ns: None,
        })));
    }
}

/// Processor time of this thread so far, where the system tells.
#[cfg(target_os = "linux")]
fn thread_cpu() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(target_os = "linux"))]
const fn thread_cpu() -> Option<Duration> {
    None
}
