//! Before the load: can the server be used, and as what?

mod descriptors;
mod files;
mod metrics;
mod probe;
mod server;

pub use files::Files;
pub use server::{Server, resolve_host, without_credentials};

use crate::{Link, Observer, Resolved, SweepError, SweepEvent, template::Template};
use plimsoll_driver::Target;
use plimsoll_record::{Conditions, PromptConditions, RECORD_SCHEMA};
use plimsoll_scrape::Scraper;
use plimsoll_transport::{Clock, FetchLimits, Limits, Secret};
use plimsoll_workload::{Calibration, Workload};
use std::time::Duration;

/// A server that is ready for the load.
pub struct Ready {
    pub target: Target,
    pub template: Template,
    /// Reads the metrics page, if there is one.
    pub metrics: Option<Scraper>,
    pub conditions: Conditions,
    /// How long one request of the mean length took.
    pub probe_duration: Duration,
    calibration: Calibration,
}

/// Looks at the server: reachable, which model, which version, streaming with usage, metrics, idle.
pub async fn look(
    resolved: &Resolved,
    link: &Link,
    key: Option<&Secret>,
    files: &Files,
    clock: Clock,
    observer: &mut dyn Observer,
) -> Result<Ready, SweepError> {
    let plan = &resolved.plan;
    descriptors::check(plan, link)?;
    let server = Server::reach(link, plan.url.first().map(String::as_str), key).await?;
    observer.event(SweepEvent::Preflight(format!("looking at {}", server.shown())));
    let time = plan.timeout.duration().min(Duration::from_secs(10));
    let about = server.ask(FetchLimits { time, ..FetchLimits::default() }).await?;
    let model = about.choose_model(plan.model.as_deref())?;
    let mut conditions = Conditions {
        schema: RECORD_SCHEMA,
        seed: plan.seed.unwrap_or_default(),
        levels: plan.levels(),
        added_levels: resolved.added_levels.clone(),
        ..Conditions::default()
    };
    about.describe(&model, &mut conditions);
    let metrics = metrics::find(plan, &server, key, clock, &mut conditions).await?;
    let template = Template {
        endpoint: plan.endpoint,
        model,
        temperature: plan.temperature,
        ignore_eos: plan.ignore_eos,
        include_usage: true,
    };
    let target = Target {
        dial: server.dial.clone(),
        head: server.head.clone(),
        path: server.path(plan.endpoint.path()),
        limits: Limits::default(),
    };
    let found = probe::probe(plan, &target, template, files, &mut conditions).await?;
    for note in &conditions.notes {
        observer.event(SweepEvent::Note(note.clone()));
    }
    Ok(Ready {
        target,
        template: found.template,
        metrics,
        conditions,
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
