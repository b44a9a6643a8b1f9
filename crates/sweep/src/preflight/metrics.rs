use super::{Server, Way};
use crate::{Link, SweepError, together::together};
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
    let mut firsts = Vec::new();
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
                scrapers.push(scraper);
                firsts.push(sample);
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
    conditions.server.idle_before = all_idle(&scrapers, firsts, conditions).await;
    Ok(scrapers)
}

/// Are all servers idle? They are watched side by side, as each takes seconds. Absent when the gauges of one do not say.
async fn all_idle(scrapers: &[Scraper], firsts: Vec<Sample>, conditions: &mut Conditions) -> Option<bool> {
    let found = together(scrapers.iter().zip(firsts).map(|(scraper, first)| idle(scraper, first))).await;
    let mut quiet = Some(true);
    for found in found {
        let idle = found.map(|seen| match seen {
            Ok(()) => true,
            Err(note) => {
                conditions.notes.push(note);
                false
            }
        });
        quiet = quiet.zip(idle).map(|(before, now)| before && now);
    }
    quiet
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

/// Is the server idle, or does it become so within a moment? An error tells of its load. Absent when its gauges do not say.
async fn idle(scraper: &Scraper, mut sample: Sample) -> Option<Result<(), String>> {
    let mut quiet_since = Instant::now();
    let until = quiet_since + IDLE_WAIT;
    loop {
        let running = *sample.gauges.get(&Gauge::Running)?;
        let waiting = sample.gauges.get(&Gauge::Waiting).copied().unwrap_or(0.0);
        let now = Instant::now();
        if running != 0.0 || waiting != 0.0 {
            quiet_since = now;
        } else if now - quiet_since >= IDLE_FOR {
            return Some(Ok(()));
        }
        if now >= until {
            let shown = |value: f64| if value < 1e9 { format!("{value}") } else { format!("{value:e}") };
            return Some(Err(format!(
                "other load was present before the start; last seen: {} requests running and {} waiting",
                shown(running),
                shown(waiting)
            )));
        }
        sleep(IDLE_FOR / 4).await;
        sample = scraper.scrape_once(SampleTrigger::Edge).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_transport::MemoryDial;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    /// Reads a page of a server that always has so many requests running.
    fn server(running: u32) -> Scraper {
        let dial = Dial::Memory(MemoryDial::new(move || {
            let (client, mut server) = duplex(1 << 16);
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = server.read(&mut request).await;
                let page = format!("vllm:num_requests_running {running}\nvllm:num_requests_waiting 0\n");
                let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len());
                let _ = server.write_all(reply.as_bytes()).await;
            });
            client
        }));
        let target = Target::new(dial, &"http://mock".parse().unwrap(), None).unwrap();
        Scraper::new(target, Settings::default(), Clock::start())
    }

    /// Whether all are idle, after how many milliseconds that is known, and the notes.
    async fn watched(running: &[u32]) -> (Option<bool>, u64, Vec<String>) {
        let scrapers: Vec<_> = running.iter().map(|running| server(*running)).collect();
        let mut firsts = Vec::new();
        for scraper in &scrapers {
            firsts.push(scraper.scrape_once(SampleTrigger::Edge).await);
        }
        let (begun, mut conditions) = (Instant::now(), Conditions::default());
        let idle = all_idle(&scrapers, firsts, &mut conditions).await;
        (idle, begun.elapsed().as_millis() as u64, conditions.notes)
    }

    #[tokio::test(start_paused = true)]
    async fn several_servers_are_watched_as_long_as_one() {
        let one = watched(&[0]).await;
        assert_eq!((one.0, one.1), (Some(true), 2000));
        assert_eq!(watched(&[0, 0, 0, 0]).await, one);
        let (idle, took, notes) = watched(&[0, 3, 0, 5]).await;
        assert_eq!((idle, took), (Some(false), 6000));
        assert!(notes.len() == 2 && notes[0].contains("3 requests running"), "{notes:?}");
        assert!(notes[1].contains("5 requests running"), "{notes:?}");
    }
}
