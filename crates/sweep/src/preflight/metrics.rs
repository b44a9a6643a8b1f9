use super::{Server, Way};
use crate::{Link, SweepError};
use plimsoll_record::{Conditions, Gauge, Plan, SCRAPE_OFF, Sample, SampleOutcome, SampleTrigger};
use plimsoll_scrape::{Notes, Scrape, Scraper, Settings, Target};
use plimsoll_transport::{Clock, Dial};
use plimsoll_wire::url::BaseUrl;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a server must be seen idle: its gauges may lag behind its load.
const IDLE_FOR: Duration = Duration::from_secs(2);
/// How long a server may take to become so.
const IDLE_WAIT: Duration = Duration::from_secs(6);

/// Finds the metrics pages and what they show, and whether the servers are idle. A page that the user named must be
/// there; those that were only guessed may be missing. One page for each server, or none: the half of a sum is wrong.
pub async fn find(
    plan: &Plan,
    servers: &[Server],
    way: &Way,
    clock: Clock,
    conditions: &mut Conditions,
) -> Result<Vec<Scraper>, SweepError> {
    let named = match plan.scrape.as_deref() {
        Some(SCRAPE_OFF) => {
            conditions
                .notes
                .push("the server was not scraped (--scrape off): no verdict on the server".to_owned());
            return Ok(Vec::new());
        }
        named => named,
    };
    let targets = match named {
        Some(url) => vec![named_page(url, servers, way).await?],
        None => servers.iter().map(Server::metrics_page).collect(),
    };
    let mut scrapers = Vec::new();
    let mut quiet = Some(true);
    for (target, number) in targets.into_iter().zip(0..) {
        let settings = Settings {
            interval: plan.scrape_interval.duration(),
            seed: plan.seed.unwrap_or_default().wrapping_add(number),
            model: Some(conditions.server.model.clone()),
            ..Settings::default()
        };
        let shown = target.address().to_owned();
        let scraper = Scraper::new(target, settings, clock);
        let problem = match scraper.scrape(SampleTrigger::Edge).await {
            Scrape { sample, notes: Some(notes) } if !notes.sources.is_empty() => {
                describe(notes, conditions);
                let idle = idle(&scraper, sample, conditions).await;
                quiet = quiet.zip(idle).map(|(before, now)| before && now);
                scrapers.push(scraper);
                continue;
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
        return Ok(Vec::new());
    }
    conditions.server.idle_before = quiet;
    Ok(scrapers)
}

/// Key and headers go to the server that they are for, and to no other.
async fn named_page(url: &str, servers: &[Server], way: &Way) -> Result<Target, SweepError> {
    let base: BaseUrl = url.parse().map_err(|error| SweepError::usage(format!("--scrape: {error}")))?;
    if let Some(server) = servers.iter().find(|server| server.base().origin() == base.origin()) {
        return Ok(Target::with_head(server.dial.clone(), &base, server.head.clone()));
    }
    let link = match servers.first().map(|server| &server.dial) {
        Some(Dial::Memory(dial)) => Link::Memory(dial.clone()),
        _ => Link::Url,
    };
    let way = way.elsewhere();
    let (dial, _) = way.resolve(&base, &link, "--scrape").await?;
    Ok(Target::with_head(dial, &base, way.head(&base)?))
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
