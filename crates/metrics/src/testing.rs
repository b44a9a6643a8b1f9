//! Records made by hand, for the tests.

use plimsoll_record::{
    ClientSample, Connection, Counter, EventKind, Gauge, Histogram, HistogramName, Nanos, Outcome, Phase,
    RECORD_SCHEMA, RequestRecord, Sample, SampleOutcome, SampleTrigger, StreamEvent, TokenSource,
};

pub const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// A complete request, in milliseconds.
pub struct Request(RequestRecord);

impl Request {
    pub fn new(due_ms: u64) -> Self {
        Self(RequestRecord {
            schema: RECORD_SCHEMA,
            id: 0,
            level: 1.into(),
            repeat: 0,
            phase: Phase::Measure,
            worker: 0,
            slot: 0,
            due_ns: ms(due_ms),
            sent_ns: Some(ms(due_ms)),
            head_ns: None,
            first_event_ns: None,
            first_token_ns: None,
            last_token_ns: None,
            end_ns: ms(due_ms),
            events: Vec::new(),
            input_tokens: Some(10),
            cached_tokens: None,
            output_tokens: None,
            token_source: TokenSource::Usage,
            asked_input_tokens: Some(10),
            max_tokens: 100,
            finish_reason: Some("length".to_owned()),
            http_status: Some(200),
            target: None,
            capped: false,
            retry_after_s: None,
            retries: 0,
            unsent_retries: 0,
            redirects: 0,
            kernel_lag_ns: None,
            encoding: None,
            conn: Connection { reused: true, connect_ns: None, tls_ns: None },
            client_lag_ns: Nanos::ZERO,
            malformed: 0,
            outcome: Outcome::Ok,
            time_limit: None,
            text: String::new(),
            text_cut: false,
        })
    }

    pub fn event(at_ms: u64, kind: EventKind) -> StreamEvent {
        StreamEvent { at_ns: ms(at_ms), kind, tokens: None, coalesced: false }
    }

    /// One text event with one token at each stamp.
    pub fn tokens_at(mut self, stamps_ms: &[u64]) -> Self {
        self.0.events = stamps_ms.iter().map(|at| Self::event(*at, EventKind::Content)).collect();
        self.0.first_token_ns = stamps_ms.first().copied().map(ms);
        self.0.last_token_ns = stamps_ms.last().copied().map(ms);
        self.0.first_event_ns = self.0.first_token_ns;
        self.0.output_tokens = Some(stamps_ms.len() as u32);
        self.0.end_ns = self.0.last_token_ns.unwrap_or(self.0.end_ns);
        self
    }

    pub fn output_tokens(mut self, n: u32) -> Self {
        self.0.output_tokens = Some(n);
        self
    }

    pub fn end(mut self, end_ms: u64) -> Self {
        self.0.end_ns = ms(end_ms);
        self
    }

    pub fn of(mut self, level: u32, phase: Phase) -> Self {
        self.0.level = level.into();
        self.0.phase = phase;
        self
    }

    pub fn build(self) -> RequestRecord {
        self.0
    }
}

/// A scrape that worked, in milliseconds.
pub fn sample(at_ms: u64) -> Sample {
    Sample {
        schema: RECORD_SCHEMA,
        at_ns: ms(at_ms),
        duration_ns: ms(1),
        target: "http://server/metrics".to_owned(),
        trigger: SampleTrigger::Tick,
        outcome: SampleOutcome::Ok,
        bad_lines: 0,
        gauges: [(Gauge::Running, 0.0), (Gauge::Waiting, 0.0)].into(),
        counters: [(Counter::GenerationTokens, 0.0), (Counter::PromptTokens, 0.0)].into(),
        finished: [("length".to_owned(), 0.0)].into(),
        histograms: [HistogramName::Inference, HistogramName::Queue]
            .map(|name| (name, Histogram::default()))
            .into(),
    }
}

/// A second of this client, that tells nothing yet.
pub fn client_sample(end_ms: u64, worker: Option<u32>) -> ClientSample {
    ClientSample {
        schema: RECORD_SCHEMA,
        at_ns: ms(end_ms),
        interval_ns: ms(1000),
        level: None,
        repeat: None,
        worker,
        cpu_ns: None,
        lag_us: Vec::new(),
        connects: None,
        starved: None,
        throttled: None,
        throttled_ns: None,
        retransmits: None,
        steal_ns: None,
    }
}
