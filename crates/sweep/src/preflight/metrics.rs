use super::server::{Server, resolve_host};
use crate::SweepError;
use plimsoll_record::{Conditions, Gauge, Plan, SCRAPE_OFF, Sample, SampleOutcome, SampleTrigger};
use plimsoll_scrape::{Notes, Scrape, Scraper, Settings, Target};
use plimsoll_transport::{Clock, Dial, Secret};
use plimsoll_wire::url::BaseUrl;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a server must be seen idle: its gauges may lag behind its load.
const IDLE_FOR: Duration = Duration::from_secs(2);
/// How long a server may take to become so.
const IDLE_WAIT: Duration = Duration::from_secs(6);

/// Finds the metrics page and what it shows, and whether the server is idle. A page that the user named must be there;
/// one that was only guessed may be missing.
pub async fn find(
    plan: &Plan,
    server: &Server,
    key: Option<&Secret>,
    clock: Clock,
    conditions: &mut Conditions,
) -> Result<Option<Scraper>, SweepError> {
    let named = match plan.scrape.as_deref() {
        Some(SCRAPE_OFF) => {
            conditions
                .notes
                .push("the server was not scraped (--scrape off): no verdict on the server".to_owned());
            return Ok(None);
        }
        named => named,
    };
    let target = match named {
        Some(url) => named_page(url, server, key).await?,
        None => Target::new(server.dial.clone(), server.base(), key).map_err(SweepError::usage)?,
    };
    let settings = Settings {
        interval: plan.scrape_interval.duration(),
        seed: plan.seed.unwrap_or_default(),
        model: Some(conditions.server.model.clone()),
        ..Settings::default()
    };
    let shown = target.address().to_owned();
    let scraper = Scraper::new(target, settings, clock);
    let problem = match scraper.scrape(SampleTrigger::Edge).await {
        Scrape { sample, notes: Some(notes) } if !notes.sources.is_empty() => {
            describe(notes, conditions);
            conditions.server.idle_before = idle(&scraper, sample, conditions).await;
            return Ok(Some(scraper));
        }
        Scrape { sample: Sample { outcome: SampleOutcome::Failed { message }, .. }, .. } => {
            format!("{shown}: {message}")
        }
        _ => format!("{shown} shows no metric of a known server"),
    };
    if named.is_some() {
        return Err(SweepError::target(format!("--scrape: {problem}")));
    }
    conditions.notes.push(format!("no server metrics, hence no verdict on the server: {problem}"));
    Ok(None)
}

/// The key goes to the server that it is for, and to no other.
async fn named_page(url: &str, server: &Server, key: Option<&Secret>) -> Result<Target, SweepError> {
    let base: BaseUrl = url.parse().map_err(|error| SweepError::usage(format!("--scrape: {error}")))?;
    let dial = match &server.dial {
        Dial::Memory(dial) => Dial::Memory(dial.clone()),
        _ => resolve_host(&base, "--scrape").await?,
    };
    let key = key.filter(|_| base.authority() == server.base().authority());
    Target::new(dial, &base, key).map_err(SweepError::usage)
}

fn describe(notes: Notes, conditions: &mut Conditions) {
    let server = &mut conditions.server;
    server.concepts = notes.sources.into_iter().map(|(id, name)| (id.to_owned(), name)).collect();
    server.missing_concepts = notes.missing.iter().map(|id| (*id).to_owned()).collect();
    server.cache_config = notes.cache_config;
    if !notes.other_models.is_empty() {
        let others: Vec<_> = notes.other_models.into_iter().take(10).collect();
        conditions
            .notes
            .push(format!("the metrics page also shows other models, left out: {}", others.join(", ")));
    }
}

/// Is the server idle, or does it become so within a moment? Absent when its gauges do not say.
async fn idle(scraper: &Scraper, mut sample: Sample, conditions: &mut Conditions) -> Option<bool> {
    let mut quiet_since = Instant::now();
    let until = quiet_since + IDLE_WAIT;
    loop {
        let running = *sample.gauges.get(&Gauge::Running)?;
        let waiting = sample.gauges.get(&Gauge::Waiting).copied().unwrap_or(0.0);
        let now = Instant::now();
        if running != 0.0 || waiting != 0.0 {
            quiet_since = now;
        } else if now - quiet_since >= IDLE_FOR {
            return Some(true);
        }
        if now >= until {
            let shown = |value: f64| if value < 1e9 { format!("{value}") } else { format!("{value:e}") };
            conditions.notes.push(format!(
                "other load was present before the start; last seen: {} requests running and {} waiting",
                shown(running),
                shown(waiting)
            ));
            return Some(false);
        }
        sleep(IDLE_FOR / 4).await;
        sample = scraper.scrape_once(SampleTrigger::Edge).await;
    }
}
