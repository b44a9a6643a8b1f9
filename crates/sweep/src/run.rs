//! The load itself: level after level, the server scraped meanwhile, everything appended to the folder.

use crate::{
    Observer, Resolved, SweepError, SweepEvent,
    folder::RunFolder,
    open_loop::{Room, ahead, open_loop},
    preflight::Ready,
    supply::{Ahead, Inline, Share},
    watch::Watch,
    writer::{Finish, Line, Writer},
};
use plimsoll_driver::{
    Control, Event, LevelPlan, Load, Pacer, Sink, Stop, Target, Worker, run_level, run_slots,
};
use plimsoll_record::{FailureKind, FinishReason, Level, PhaseEdge, PhaseMark};
use plimsoll_transport::{Clock, Dial};
use plimsoll_workload::Workload;
use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};
use tokio::{
    sync::{Barrier, oneshot},
    time::{Instant, interval},
};

/// Longest time over which the first starts of a level are spread.
const LONGEST_RAMP: Duration = Duration::from_secs(30);
/// A level's requests are expected to take at most this many times as long as one alone.
const SLOWER: u32 = 8;
/// How often the observer hears of a level.
const TICK: Duration = Duration::from_millis(250);

/// Everything a run needs.
pub struct Run<'a> {
    pub resolved: &'a Resolved,
    pub ready: &'a Ready,
    pub workload: Arc<Workload>,
    pub clock: Clock,
    pub stop: Stop,
    pub finish: Finish,
}

/// How the load ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// As planned, interrupted, or given up.
    pub reason: FinishReason,
    /// With a run that was given up: why.
    pub message: Option<String>,
}

impl Run<'_> {
    /// Runs all levels. The folder holds every request that has ended, whatever happens.
    pub async fn go(self, folder: &RunFolder, observer: &mut dyn Observer) -> Result<Ending, SweepError> {
        let Self { resolved, ready, workload, clock, stop, finish } = self;
        let writer = Writer::start(folder, stop.clone(), finish)?;
        let lines = writer.sender();
        let watch = Watch::start(ready, clock, &lines)?;
        watch.settle().await;
        let levels = Levels { resolved, ready, workload, clock, stop: stop.clone(), lines, watch: &watch };
        levels.mark(PhaseMark::of_run(clock.now(), PhaseEdge::RunStart));
        let ending = levels.run(observer).await;
        watch.settle().await;
        let mut mark = PhaseMark::of_run(clock.now(), PhaseEdge::RunEnd);
        mark.reason = Some(ending.reason);
        mark.message.clone_from(&ending.message);
        levels.mark(mark);
        drop(levels);
        watch.stop().await?;
        writer.close()?;
        observer.event(SweepEvent::Finished);
        Ok(ending)
    }
}

struct Levels<'a> {
    resolved: &'a Resolved,
    ready: &'a Ready,
    workload: Arc<Workload>,
    clock: Clock,
    stop: Stop,
    lines: Sender<Line>,
    watch: &'a Watch,
}

impl Levels<'_> {
    async fn run(&self, observer: &mut dyn Observer) -> Ending {
        let plan = &self.resolved.plan;
        let mut typical = self.ready.probe_duration;
        let levels = plan.levels();
        let order = (0..plan.repeats).flat_map(|repeat| levels.iter().map(move |level| (*level, repeat)));
        for (index, (level, repeat)) in order.enumerate() {
            let planned = match self.plan_level(level, repeat, typical) {
                Ok(planned) => planned,
                Err(message) => return Ending { reason: FinishReason::Failed, message: Some(message) },
            };
            let control = Arc::new(Control::new(planned));
            let failed = self.level(&control, index, observer).await;
            self.mark(PhaseMark::of_level(self.clock.now(), PhaseEdge::LevelEnd, level, repeat));
            if let Some(message) = failed {
                return Ending { reason: FinishReason::Failed, message: Some(message) };
            }
            if self.stop.is_set() {
                return Ending { reason: FinishReason::Interrupted, message: None };
            }
            self.watch.settle().await;
            typical = control.typical_duration().unwrap_or(typical);
        }
        Ending { reason: FinishReason::Complete, message: None }
    }

    /// What runs at a level, when one request takes about `typical`.
    fn plan_level(&self, level: Level, repeat: u32, typical: Duration) -> Result<LevelPlan, String> {
        let plan = &self.resolved.plan;
        let warmup = self.resolved.warmup(level, typical);
        let load = match level {
            Level::Concurrency(slots) => Load::Closed { slots, ramp: typical.min(LONGEST_RAMP) },
            Level::Rate(rate) => {
                // A queue of the level before says little of this one's.
                let typical = typical.min(self.ready.probe_duration * SLOWER);
                let limits = &self.ready.limits;
                let room = Room::of(limits, plan.url.is_empty(), self.ready.targets.len(), plan.workers);
                Load::Open(open_loop(plan, rate, repeat, warmup, typical, room).map_err(|e| e.to_string())?)
            }
        };
        Ok(LevelPlan { load, repeat, warmup, cohort: self.resolved.cohort(), retries: plan.retries })
    }

    /// Runs one level; returns why the run cannot go on, if it cannot.
    async fn level(
        &self,
        control: &Arc<Control>,
        index: usize,
        observer: &mut dyn Observer,
    ) -> Option<String> {
        let (level, repeat) = (control.plan().level(), control.plan().repeat);
        let begun = Instant::now();
        let target = match control.plan().cohort {
            plimsoll_driver::Cohort::Requests(n) => Some(n),
            _ => None,
        };
        let mut dead = None;
        let load = self.load(control);
        tokio::pin!(load);
        let mut ticks = interval(TICK);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut load => break result,
                _ = ticks.tick() => {
                    let progress = control.progress();
                    let elapsed_s = begun.elapsed().as_secs_f64();
                    observer.event(SweepEvent::Level { level, repeat, index, progress, elapsed_s, target });
                    if dead.is_none() && !self.stop.is_set() {
                        match given_up(control) {
                            None => {}
                            Some(GivenUp::Level(message)) => {
                                for mark in control.end_early(self.clock.now(), message) {
                                    self.mark(mark);
                                }
                            }
                            Some(GivenUp::Run(message)) => {
                                dead = Some(message);
                                self.stop.set();
                            }
                        }
                    }
                }
            }
        };
        let progress = control.progress();
        let elapsed_s = begun.elapsed().as_secs_f64();
        observer.event(SweepEvent::LevelEnded { level, repeat, index, progress, elapsed_s });
        result.err().or(dead)
    }

    /// The load of one level: on threads of its own in real time, on this runtime under paused time.
    async fn load(&self, control: &Arc<Control>) -> Result<(), String> {
        match &self.ready.target.dial {
            Dial::Memory(_) => {
                let worker = self.parts(control).worker(0, 1, Arc::new(Barrier::new(1)));
                let supply = Inline::new(self.parts(control).share(0, 1));
                run_slots(worker, supply, Pacer::Tokio).await.map_err(|error| error.to_string())
            }
            Dial::Tcp(_) | Dial::Route(_) => {
                // A slot has one worker; arrivals can be dealt to any number.
                let most = control.plan().level().concurrency().unwrap_or(u32::MAX);
                let workers = self.resolved.plan.workers.min(most);
                let parts = self.parts(control);
                let (done, wait) = oneshot::channel();
                let body = move || {
                    let make = |number, ready| parts.worker(number, workers, ready);
                    let supply = |number| Ahead::start(&parts.share(number, workers));
                    let result = run_level(workers, &parts.stop, make, supply);
                    drop(parts);
                    let _ = done.send(result);
                };
                std::thread::Builder::new()
                    .name("plimsoll-level".to_owned())
                    .spawn(body)
                    .map_err(|error| format!("no thread for the level: {error}"))?;
                match wait.await {
                    Ok(result) => result.map_err(|error| error.to_string()),
                    Err(_) => Err("the level ended abnormally".to_owned()),
                }
            }
        }
    }

    fn parts(&self, control: &Arc<Control>) -> Parts {
        let lines = self.lines.clone();
        let edge = self.watch.edge();
        let sink: Sink = Arc::new(move |event| {
            // The receiver goes away only when a write has failed, which stops the run.
            let _ = match event {
                Event::Request(record) => lines.send(Line::Request(record)),
                Event::Client(sample) => lines.send(Line::Client(sample)),
                Event::Mark(mark) => {
                    edge();
                    lines.send(Line::Phase(mark))
                }
            };
        });
        Parts {
            control: Arc::clone(control),
            targets: self.ready.targets.clone(),
            clock: self.clock,
            sink,
            stop: self.stop.clone(),
            workload: Arc::clone(&self.workload),
            template: self.ready.template.clone(),
        }
    }

    fn mark(&self, mark: PhaseMark) {
        let _ = self.lines.send(Line::Phase(mark));
    }
}

/// What the workers of a level are made of.
struct Parts {
    control: Arc<Control>,
    targets: Vec<Target>,
    clock: Clock,
    sink: Sink,
    stop: Stop,
    workload: Arc<Workload>,
    template: crate::template::Template,
}

impl Parts {
    fn worker(&self, number: u32, of: u32, ready: Arc<Barrier>) -> Worker {
        Worker {
            number,
            of,
            targets: self.targets.clone(),
            clock: self.clock,
            control: Arc::clone(&self.control),
            sink: Arc::clone(&self.sink),
            stop: self.stop.clone(),
            ready,
        }
    }

    fn share(&self, worker: u32, of: u32) -> Share {
        let template = self.template.clone();
        Share {
            workload: Arc::clone(&self.workload),
            template: Arc::new(move |planned| template.body(planned)),
            level: self.control.plan().level(),
            repeat: self.control.plan().repeat,
            worker,
            of,
            ahead: ahead(self.control.plan()),
        }
    }
}

/// Why it makes no sense to go on.
enum GivenUp {
    /// At this level.
    Level(String),
    /// At any.
    Run(String),
}

/// An open loop gives a server that fails at once this long to come back, seconds.
const PATIENCE_S: f64 = 5.0;

/// The server has stopped answering: many requests failed in a row. Under a rate that is too high for a server, all of
/// them may run into the time limit, which ends the level and not the run.
fn given_up(control: &Control) -> Option<GivenUp> {
    let level = control.plan().level();
    let row = control.failures_in_a_row();
    let timeouts = row.last_kind == Some(FailureKind::Timeout);
    let most = match level {
        Level::Concurrency(slots) if timeouts => slots.max(3),
        Level::Concurrency(slots) => slots.saturating_mul(4).max(50),
        Level::Rate(rate) => ((rate.per_second() * PATIENCE_S) as u32).max(50),
    };
    if row.count < most {
        return None;
    }
    let last = row.last.unwrap_or_default();
    let message = format!("{} requests failed in a row at {}; the last: {last}", row.count, level.words());
    Some(if level.is_open_loop() && timeouts { GivenUp::Level(message) } else { GivenUp::Run(message) })
}
