//! Before the load: can the servers be used, as what, and does this client have what it needs?

mod files;
mod form;
mod limits;
mod metrics;
mod probe;
mod server;
mod targets;
mod way;

pub use files::Files;
pub use form::describe as describe_form;
pub use limits::open_files;
pub use probe::Prober;
pub use server::{Server, advice, refusal, without_credentials};
pub use way::Way;

use crate::{
    Link, Observer, Resolved, SweepError, SweepEvent,
    host::Ports,
    open_loop::Room,
    template::{Form, Template},
};
use plimsoll_driver::Target;
use plimsoll_record::{ClientLimits, Conditions, PromptConditions, RECORD_SCHEMA, Span, TargetConditions};
use plimsoll_scrape::Scraper;
use plimsoll_transport::{Clock, Limits, Secret, TimeLimits};
use plimsoll_workload::{Calibration, Workload};
use std::time::Duration;

/// Servers that are ready for the load.
pub struct Ready {
    /// The first target.
    pub target: Target,
    /// All targets, in the order of their numbers in the records.
    pub targets: Vec<Target>,
    pub template: Template,
    /// Read the metrics pages, if there are some.
    pub metrics: Vec<Scraper>,
    pub conditions: Conditions,
    /// The ways to the servers, in the order of `targets`.
    pub ways: Vec<TargetConditions>,
    pub limits: ClientLimits,
    /// How long one request of the mean length took.
    pub probe_duration: Duration,
    calibration: Calibration,
}

/// Looks at the servers: reachable, which model, which version, streaming with usage, metrics, idle; and at the limits of
/// this client.
pub async fn look(
    resolved: &Resolved,
    link: &Link,
    key: Option<&Secret>,
    files: &Files,
    clock: Clock,
    observer: &mut dyn Observer,
) -> Result<Ready, SweepError> {
    let plan = &resolved.plan;
    let way = Way::of_plan(plan, key)?;
    let servers = targets::reach(plan, link, &way, observer).await?;
    let mut conditions = Conditions {
        schema: RECORD_SCHEMA,
        seed: plan.seed.unwrap_or_default(),
        levels: plan.levels(),
        added_levels: resolved.added_levels.clone(),
        ..Conditions::default()
    };
    targets::describe(plan, &servers, &mut conditions).await?;
    let metrics = metrics::find(plan, &servers, &way, clock, &mut conditions).await?;
    let template = Template {
        endpoint: plan.endpoint,
        model: conditions.server.model.clone(),
        temperature: plan.temperature,
        form: Form::usual(plan.endpoint, plan.ignore_eos),
    };
    let time = TimeLimits {
        connect: plan.connect_timeout.duration(),
        first_token: plan.first_token_timeout.map(Span::duration),
        idle: plan.idle_timeout.duration(),
        total: plan.timeout.duration(),
    };
    let limits = Limits { redirects: plan.redirects, time, ..Limits::default() };
    let mut targets: Vec<Target> = servers
        .iter()
        .map(|server| Target {
            dial: server.dial.clone(),
            head: server.head.clone(),
            path: server.path(plan.endpoint.path()),
            limits,
        })
        .collect();
    let found = probe::probe(plan, &mut targets, template, files, &mut conditions).await?;
    let Some(target) = targets.first().cloned() else {
        return Err(SweepError::usage("--url: no address given"));
    };
    let limits = if target.dial.is_memory() {
        ClientLimits::default()
    } else {
        let limits = limits::Need::of(resolved, link, &servers, found.duration).ensure(&Ports::now())?;
        Room::of(&limits, plan.url.is_empty(), targets.len(), plan.workers).hold(plan.cap, &limits)?;
        limits
    };
    if plan.insecure {
        let note =
            "--insecure: no certificate is checked, so anybody in between can read the key and the prompts";
        observer.event(SweepEvent::Note(note.to_owned()));
    }
    for note in &conditions.notes {
        observer.event(SweepEvent::Note(note.clone()));
    }
    Ok(Ready {
        target,
        targets,
        template: found.template,
        metrics,
        conditions,
        ways: servers.into_iter().map(|server| server.conditions).collect(),
        limits,
        probe_duration: found.duration,
        calibration: found.calibration,
    })
}
impl Ready {
    /// The requests of the run; tells the conditions where they come from.
    pub fn workload(&mut self, resolved: &Resolved, files: Files) -> Result<Workload, SweepError> {
        let plan = &resolved.plan;
        let Files { prompts, system, tokenizer } = files;
        let workload =
            Workload::new(plan, plan.seed.unwrap_or_default(), prompts, system, tokenizer, self.calibration)
                .map_err(SweepError::usage)?;
        let file = workload.file();
        self.conditions.prompts = PromptConditions {
            source: file.map_or_else(|| "generated".to_owned(), |file| file.name().to_owned()),
            regime: workload.regime().name().to_owned(),
            usable: file.map(|file| file.len() as u64),
            skipped: file.map(|file| file.skipped().clone()).unwrap_or_default(),
        };
        let warmup = |level| u64::from(resolved.warmup(level, self.probe_duration));
        let each = |level| warmup(level) + u64::from(plan.requests.unwrap_or(1));
        let requests = u64::from(plan.repeats) * plan.levels().into_iter().map(each).sum::<u64>();
        self.conditions.notes.extend(workload.notes(requests));
        Ok(workload)
    }
}
