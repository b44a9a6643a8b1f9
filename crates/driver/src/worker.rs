use crate::{
    Control, DriverError, Load, Pacer, Sink, Stop, Supply,
    beat::Beat,
    open::{self, Pool},
    site::Site,
    user::User,
};
use plimsoll_transport::{Clock, Dial, Head, Limits};
use std::{
    cell::RefCell, convert::Infallible, future::Future, mem, rc::Rc, sync::Arc, thread, time::Duration,
};
use tokio::{
    runtime::{Builder, LocalOptions},
    sync::Barrier,
    task::{JoinSet, LocalSet, spawn_local},
    time::Instant,
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
    /// Bounds of a response, and how long it may take.
    pub limits: Limits,
}

/// One worker's part in a level.
pub struct Worker {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are: slot k is worker k mod this.
    pub of: u32,
    /// Where to, at least one: request k of a stream goes to target k mod their number. A slot keeps a connection to each.
    pub targets: Vec<Target>,
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

/// Connections of one worker that are being opened at once.
const CONNECTING: usize = 32;

/// Runs one worker's share of a level on the current runtime, which must be a current-thread one. Connections are
/// opened before the first request is due; one that cannot be opened is tried again, and counted, by its first request.
pub async fn run_slots<S: Supply + 'static>(
    worker: Worker,
    supply: S,
    mut pacer: Pacer,
) -> Result<(), DriverError> {
    let site = Site::new(worker, supply);
    LocalSet::new().run_until(share(&site, &mut pacer)).await
}

/// The worker's share of the level. Must run where local tasks can be spawned.
async fn share<S: Supply + 'static>(site: &Rc<Site<S>>, pacer: &mut Pacer) -> Result<(), DriverError> {
    let stop = site.worker.stop.clone();
    let reaper = async {
        stop.wait().await;
        site.brake.pull();
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        biased;
        never = reaper => match never {},
        result = level(site, pacer) => result,
    }
}

async fn level<S: Supply + 'static>(site: &Rc<Site<S>>, pacer: &mut Pacer) -> Result<(), DriverError> {
    let Worker { number, of, clock, control, stop, ready, .. } = &site.worker;
    let plan = control.plan();
    let numbers = (*number..plan.connections()).step_by((*of).max(1) as usize);
    let users: Vec<User<S>> = numbers.map(|number| site.user(number)).collect::<Result<_, _>>()?;
    site.supply.borrow_mut().prepare(users.len().min(plan.warmup as usize), users.len());
    let users = unless(stop, connect(users)).await.transpose()?;
    let Some(users) = users else { return Ok(()) };
    if unless(stop, ready.wait()).await.is_none() {
        return Ok(());
    }
    site.tell(control.start(clock.now()));
    match plan.load {
        Load::Closed { slots, ramp } => closed_loop(stop, users, slots, ramp, pacer).await,
        Load::Open(_) => open_loop(site, users, pacer).await,
    }
}

/// The output of `future`; `None` when stopped before.
async fn unless<F: Future>(stop: &Stop, future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        () = stop.wait() => None,
        output = future => Some(output),
    }
}

/// Opens the connections of all users, several at once: where each takes some round trips, thousands in a row take minutes.
async fn connect<S: Supply + 'static>(users: Vec<User<S>>) -> Result<Vec<User<S>>, DriverError> {
    let mut connected = Vec::with_capacity(users.len());
    let mut connecting = JoinSet::new();
    let mut waiting = users.into_iter();
    loop {
        while connecting.len() < CONNECTING
            && let Some(mut user) = waiting.next()
        {
            connecting.spawn_local(async move {
                user.connect().await;
                user
            });
        }
        let Some(user) = connecting.join_next().await else { break };
        connected.push(user.map_err(|error| DriverError::new(format!("a slot ended abnormally: {error}")))?);
    }
    connected.sort_by_key(|user| user.number);
    Ok(connected)
}

/// Starts the slots one after another over the time of the ramp, and waits for their end.
async fn closed_loop<S: Supply + 'static>(
    stop: &Stop,
    users: Vec<User<S>>,
    slots: u32,
    ramp: Duration,
    pacer: &mut Pacer,
) -> Result<(), DriverError> {
    let start = Instant::now();
    let mut tasks = Vec::new();
    for user in users {
        let share = ramp.mul_f64(f64::from(user.number) / f64::from(slots.max(1)));
        let paced = unless(stop, pacer.sleep_until(start + share)).await;
        paced.transpose().map_err(|error| DriverError::new(format!("the timer failed: {error}")))?;
        tasks.push(spawn_local(user.run()));
    }
    for task in tasks {
        task.await.map_err(|error| DriverError::new(format!("a slot ended abnormally: {error}")))?;
    }
    Ok(())
}

async fn open_loop<S: Supply + 'static>(
    site: &Rc<Site<S>>,
    users: Vec<User<S>>,
    pacer: &mut Pacer,
) -> Result<(), DriverError> {
    let maker = Rc::clone(site);
    let Worker { number, of, .. } = site.worker;
    let pool = Pool::new(users, number, of.max(1), move |number| maker.user(number));
    open::run(Rc::clone(site), Rc::new(RefCell::new(pool)), pacer).await
}

/// Stops the others when a worker fails or panics.
struct Alarm<'a>(&'a Stop);

impl Alarm<'_> {
    /// What `work` gives; sets the stop unless it is Ok.
    fn watch(self, work: impl FnOnce() -> Result<(), DriverError>) -> Result<(), DriverError> {
        work().inspect(|()| mem::forget(self))
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs a whole level on `workers` threads, each with a runtime of its own. `supply` makes the supply of each.
/// A worker that fails or panics sets `stop`, so that the others do not wait for it.
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
            let run = move || work(make(number, ready), supply(number));
            let body = move || Alarm(stop).watch(run);
            let thread = thread::Builder::new()
                .name(format!("plimsoll-worker-{number}"))
                .spawn_scoped(scope, body)
                .inspect_err(|_| stop.set())
                .map_err(|error| DriverError::new(format!("no thread for worker {number}: {error}")))?;
            threads.push(thread);
        }
        // Every thread is joined whatever the others gave: the scope panics over a panic that nobody has taken.
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(DriverError::new("a worker ended abnormally")))
        });
        ended.fold(Ok(()), Result::and)
    })
}

/// One worker on this thread, in real time, with a heartbeat.
fn work<S: Supply + 'static>(worker: Worker, supply: S) -> Result<(), DriverError> {
    let number = worker.number;
    // Tasks stay on this thread without a `LocalSet` around them, which would be one more queue for each wake.
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|error| DriverError::new(format!("no runtime for worker {number}: {error}")))?;
    runtime.block_on(async {
        let mut pacer = Pacer::exact().map_err(|error| DriverError::new(format!("no timer: {error}")))?;
        let site = Site::new(worker, supply);
        let beat = Beat::new(&site);
        let ticking = spawn_local(Rc::clone(&beat).run());
        let result = share(&site, &mut pacer).await;
        ticking.abort();
        beat.tell();
        result
    })
}
