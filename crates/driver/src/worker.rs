use crate::{
    Control, DriverError, Event, Load, Marks, Pacer, Sink, Supply,
    open::{self, Pool},
    user::User,
};
use plimsoll_transport::{Clock, Dial, Head, Limits, Slot};
use std::{cell::RefCell, rc::Rc, sync::Arc, thread, time::Duration};
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

/// Runs one worker's share of a level on the current runtime, which must be a current-thread one. Connections are
/// opened before the first request is due; one that cannot be opened is tried again, and counted, by its first request.
pub async fn run_slots<S: Supply + 'static>(
    worker: Worker,
    supply: S,
    mut pacer: Pacer,
) -> Result<(), DriverError> {
    let plan = worker.control.plan().clone();
    let supply = Rc::new(RefCell::new(supply));
    let mut users = Vec::new();
    for number in (worker.number..plan.connections()).step_by(worker.of.max(1) as usize) {
        let mut user = worker.user(number, &supply)?;
        let _ = tokio::time::timeout(plan.timeout, user.slot.connect()).await;
        users.push(user);
    }
    tokio::select! {
        biased;
        () = worker.stop.wait() => return Ok(()),
        _ = worker.ready.wait() => {}
    }
    worker.tell(worker.control.start(worker.clock.now()));
    let local = LocalSet::new();
    local
        .run_until(async {
            match plan.load {
                Load::Closed { slots, ramp } => closed_loop(&worker, users, slots, ramp, &mut pacer).await,
                Load::Open(_) => open_loop(worker, users, supply, &mut pacer).await,
            }
        })
        .await
}

/// Starts the slots one after another over the time of the ramp, and waits for their end.
async fn closed_loop<S: Supply + 'static>(
    worker: &Worker,
    users: Vec<User<S>>,
    slots: u32,
    ramp: Duration,
    pacer: &mut Pacer,
) -> Result<(), DriverError> {
    let start = tokio::time::Instant::now();
    let mut tasks = Vec::new();
    for user in users {
        let share = ramp.mul_f64(f64::from(user.number) / f64::from(slots.max(1)));
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
}

async fn open_loop<S: Supply + 'static>(
    worker: Worker,
    users: Vec<User<S>>,
    supply: Rc<RefCell<S>>,
    pacer: &mut Pacer,
) -> Result<(), DriverError> {
    let Worker { number, of, clock, .. } = worker;
    let (control, stop) = (Arc::clone(&worker.control), worker.stop.clone());
    let worker = Rc::new(worker);
    let (maker, made_with) = (Rc::clone(&worker), Rc::clone(&supply));
    let pool = Pool::new(users, number, of.max(1), move |number| maker.user(number, &made_with));
    let tell = Box::new(move |marks| worker.tell(marks));
    let pool = Rc::new(RefCell::new(pool));
    open::run(open::Sender { number, of, clock, control, stop, supply, pool, tell }, pacer).await
}

impl Worker {
    /// A virtual user that is not connected yet.
    fn user<S>(&self, number: u32, supply: &Rc<RefCell<S>>) -> Result<User<S>, DriverError> {
        let Target { dial, head, path, limits } = &self.target;
        let slot = Slot::new(dial.clone(), head.clone(), path, *limits)
            .map_err(|error| DriverError::new(error.to_string()))?;
        Ok(User {
            number,
            worker: self.number,
            slot,
            clock: self.clock,
            control: Arc::clone(&self.control),
            supply: Rc::clone(supply),
            sink: Arc::clone(&self.sink),
            stop: self.stop.clone(),
        })
    }

    fn tell(&self, marks: Marks) {
        for mark in marks {
            (self.sink)(Event::Mark(mark));
        }
    }
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
