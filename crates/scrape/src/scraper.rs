use crate::Target;
use plimsoll_record::{Nanos, RECORD_SCHEMA, Sample, SampleOutcome, SampleTrigger};
use plimsoll_transport::{Clock, FetchLimits, Reply, TransportError, fetch};
use plimsoll_wire::{chat::error_message, concepts::Concepts, prometheus::Page};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// How a page is read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time between two ticks.
    pub interval: Duration,
    /// For one scrape, the connection included. More than [`Settings::MAX_TIMEOUT`] is taken as that.
    pub timeout: Duration,
    /// Largest page, bytes.
    pub page_limit: usize,
    /// Decides by how much each tick is late.
    pub seed: u64,
    /// Where the page shows several models: the one whose series count.
    pub model: Option<String>,
}

impl Settings {
    /// A page that takes longer tells of another moment than the one it was asked at.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(2);
}

impl Default for Settings {
    /// Twice a second.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(500),
            timeout: Self::MAX_TIMEOUT,
            page_limit: 16 << 20,
            seed: 0,
            model: None,
        }
    }
}

/// Reads one page.
#[derive(Clone, Debug)]
pub struct Scraper {
    pub(crate) target: Target,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
}

/// A sample and what else its page told.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// The sample.
    pub sample: Sample,
    /// Absent when the scrape failed.
    pub notes: Option<Notes>,
}

/// What a page told beside the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The metric that each concept was read from.
    pub sources: BTreeMap<&'static str, String>,
    /// Concepts that the page does not show.
    pub missing: Vec<&'static str>,
    /// Labels of the server's cache configuration.
    pub cache_config: BTreeMap<String, String>,
    /// Other models on the page, whose series were left out.
    pub other_models: BTreeSet<String>,
    /// The first line that could not be read.
    pub first_bad_line: Option<String>,
    /// Samples that a later one of the same series replaced.
    pub duplicates: u32,
    /// True when the page ended within a line.
    pub truncated: bool,
}

impl Scraper {
    /// Times of samples are `clock`'s.
    pub const fn new(target: Target, settings: Settings, clock: Clock) -> Self {
        Self { target, settings, clock }
    }

    /// One scrape, as a sample.
    pub async fn scrape_once(&self, trigger: SampleTrigger) -> Sample {
        self.scrape(trigger).await.sample
    }

    /// One scrape, with notes.
    pub async fn scrape(&self, trigger: SampleTrigger) -> Scrape {
        let asked = Instant::now();
        let reply = match self.reply(asked).await {
            Ok(reply) => reply,
            Err(message) => {
                let now = Instant::now();
                return Scrape { sample: self.failed(trigger, now, now - asked, message), notes: None };
            }
        };
        let took = reply.ended.saturating_duration_since(reply.sent);
        let read = match reply.status {
            200 => Page::parse(&reply.body).map_err(|error| error.to_string()),
            status => Err(self.refused(status, &reply)),
        };
        match read {
            Ok(page) => self.read(trigger, &reply, took, page),
            Err(message) => {
                Scrape { sample: self.failed(trigger, reply.first_byte, took, message), notes: None }
            }
        }
    }

    /// The reply, one redirect followed, all within the time limit.
    async fn reply(&self, asked: Instant) -> Result<Reply, String> {
        let Target { dial, head, path, shown, .. } = &self.target;
        // A query may hold a key.
        let told = |error: &TransportError, path: &str| error.to_string().replace(path, shown);
        let end = asked + self.settings.timeout.min(Settings::MAX_TIMEOUT);
        let limits = || FetchLimits {
            body: self.settings.page_limit,
            time: end.saturating_duration_since(Instant::now()),
            ..FetchLimits::default()
        };
        let reply = fetch(dial, head, path, None, limits()).await.map_err(|error| told(&error, path))?;
        let Some(location) = reply.header("location").filter(|_| (300..400).contains(&reply.status)) else {
            return Ok(reply);
        };
        match self.target.path_of(location) {
            Some(path) => fetch(dial, head, path, None, limits()).await.map_err(|error| told(&error, path)),
            None => Err(format!(
                "status {}: redirected to {}, another server, which is not followed; if the page is there, name it with \
                 --scrape",
                reply.status,
                reply.redirected_to().unwrap_or_else(|| "an address that cannot be read".to_owned())
            )),
        }
    }

    fn read(&self, trigger: SampleTrigger, reply: &Reply, took: Duration, page: Page<'_>) -> Scrape {
        let concepts = Concepts::read(&page, self.settings.model.as_deref());
        let sample = Sample {
            bad_lines: page.bad_lines,
            gauges: concepts.gauges,
            counters: concepts.counters,
            finished: concepts.finished,
            histograms: concepts.histograms,
            ..self.sample(trigger, reply.first_byte, took, SampleOutcome::Ok)
        };
        let notes = Notes {
            sources: concepts.sources,
            missing: concepts.missing,
            cache_config: concepts.cache_config,
            other_models: concepts.other_models,
            first_bad_line: page.first_bad_line,
            duplicates: page.duplicates,
            truncated: page.truncated,
        };
        Scrape { sample, notes: Some(notes) }
    }

    fn refused(&self, status: u16, reply: &Reply) -> String {
        let hint = match status {
            401 | 403 => "; the page asks for an API key",
            404 => "; SGLang shows metrics only with --enable-metrics",
            501 => "; llama.cpp shows metrics only with --metrics",
            _ => "",
        };
        let message = error_message(&reply.body);
        format!("status {status} from {}: {message}{hint}", self.target.shown)
    }

    fn failed(&self, trigger: SampleTrigger, at: Instant, took: Duration, message: String) -> Sample {
        self.sample(trigger, at, took, SampleOutcome::Failed { message })
    }

    fn sample(&self, trigger: SampleTrigger, at: Instant, took: Duration, outcome: SampleOutcome) -> Sample {
        Sample {
            schema: RECORD_SCHEMA,
            at_ns: self.clock.nanos(at),
            duration_ns: Nanos(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
            target: self.target.shown.clone(),
            trigger,
            outcome,
            bad_lines: 0,
            gauges: BTreeMap::new(),
            counters: BTreeMap::new(),
            finished: BTreeMap::new(),
            histograms: BTreeMap::new(),
        }
    }
}
