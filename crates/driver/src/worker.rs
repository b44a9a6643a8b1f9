use crate::{Control, DriverError, Event, Pacer, Sink, Supply, user::User};
use plimsoll_record::{PhaseEdge, PhaseMark};
use plimsoll_transport::{Clock, Dial, Head, Limits, Slot};
use std::{cell::RefCell, rc::Rc, sync::Arc, thread};
use tokio::{
    sync::{Barrier, watch},
    task::LocalSet,
};

/// Where the requests go.
#[derive(Clone, Debug)]
pub struct Target {
    /// How to connect.
    pub dial: Dial,
    /// Headers of every request.
    pub head: Head,
    /// Path of the route.
    pub path: String,
    /// Bounds of a response.
    pub limits: Limits,
}

/// Stops a run early: the requests in flight are recorded as cancelled.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Not stopped.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Stops.
    pub fn set(&self) {
        self.0.send_replace(true);
    }

    /// True once stopped.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when stopped.
    pub async fn wait(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|stopped| *stopped).await;
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

/// One worker's part in a level.
pub struct Worker {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are: slot k is worker k mod this.
    pub of: u32,
    /// Where to.
    pub target: Target,
    /// The run's clock.
    pub clock: Clock,
    /// The level.
    pub control: Arc<Control>,
    /// Where events go.
    pub sink: Sink,
    /// When to stop early.
    pub stop: Stop,
    /// All workers wait here until all connections are open.
    pub ready: Arc<Barrier>,
}

/// Runs one worker's slots on the current runtime, which must be a current-thread one. Connections are opened before
/// the first request is due; one that cannot be opened is tried again, and counted, by its first request.
pub async fn run_slots<S: Supply + 'static>(
    worker: Worker,
    supply: S,
    mut pacer: Pacer,
) -> Result<(), DriverError> {
    let plan = worker.control.plan().clone();
    let supply = Rc::new(RefCell::new(supply));
    let mut users = Vec::new();
    for number in (worker.number..plan.level).step_by(worker.of.max(1) as usize) {
        let target = &worker.target;
        let mut slot = Slot::new(target.dial.clone(), target.head.clone(), &target.path, target.limits)
            .map_err(|error| DriverError::new(error.to_string()))?;
        let _ = tokio::time::timeout(plan.timeout, slot.connect()).await;
        users.push(User {
            number,
            worker: worker.number,
            slot,
            clock: worker.clock,
            control: Arc::clone(&worker.control),
            supply: Rc::clone(&supply),
            sink: Arc::clone(&worker.sink),
            stop: worker.stop.clone(),
        });
    }
    let leader = tokio::select! {
        biased;
        () = worker.stop.wait() => return Ok(()),
        ready = worker.ready.wait() => ready.is_leader(),
    };
    if leader {
        let mark =
            PhaseMark::of_level(worker.clock.now(), PhaseEdge::LevelStart, plan.level.into(), plan.repeat);
        (worker.sink)(Event::Mark(mark));
    }
    let start = tokio::time::Instant::now();
    let local = LocalSet::new();
    local
        .run_until(async {
            let mut tasks = Vec::new();
            for user in users {
                let share = plan.ramp.mul_f64(f64::from(user.number) / f64::from(plan.level.max(1)));
                let paced = tokio::select! {
                    biased;
                    () = worker.stop.wait() => Ok(()),
                    paced = pacer.sleep_until(start + share) => paced,
                };
                paced.map_err(|error| DriverError::new(format!("the timer failed: {error}")))?;
                tasks.push(tokio::task::spawn_local(user.run()));
            }
            for task in tasks {
                task.await.map_err(|error| DriverError::new(format!("a slot ended abnormally: {error}")))?;
            }
            Ok(())
        })
        .await
}

/// Runs a whole level on `workers` threads, each with a runtime of its own. `supply` makes the supply of each.
/// A worker that fails sets `stop`, so that the others do not wait for it.
pub fn run_level<S: Supply + 'static>(
    workers: u32,
    stop: &Stop,
    make: impl Fn(u32, Arc<Barrier>) -> Worker + Sync,
    supply: impl Fn(u32) -> S + Sync,
) -> Result<(), DriverError> {
    let workers = workers.max(1);
    let ready = Arc::new(Barrier::new(workers as usize));
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..workers {
            let (make, supply, ready) = (&make, &supply, Arc::clone(&ready));
            let run = move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| DriverError::new(format!("no runtime for worker {number}: {error}")))?;
                runtime.block_on(async {
                    let pacer =
                        Pacer::exact().map_err(|error| DriverError::new(format!("no timer: {error}")))?;
                    run_slots(make(number, ready), supply(number), pacer).await
                })
            };
            let body = move || run().inspect_err(|_| stop.set());
            let thread = thread::Builder::new()
                .name(format!("plimsoll-worker-{number}"))
                .spawn_scoped(scope, body)
                .inspect_err(|_| stop.set())
                .map_err(|error| DriverError::new(format!("no thread for worker {number}: {error}")))?;
            threads.push(thread);
        }
        for thread in threads {
            thread.join().map_err(|_| DriverError::new("a worker ended abnormally"))??;
        }
        Ok(())
    })
}
