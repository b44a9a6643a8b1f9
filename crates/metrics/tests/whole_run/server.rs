//! Records of a made-up server of four slots, each request a second long, and what its metrics page shows.

use plimsoll_metrics::{RunData, Summary};
use plimsoll_record::{
    Connection, Counter, EventKind, FinishReason, Gauge, Histogram, HistogramName, Level, Nanos, Outcome,
    Phase, PhaseEdge, PhaseMark, Plan, RECORD_SCHEMA, Rate, RequestRecord, Sample, SampleOutcome,
    SampleTrigger, StreamEvent, TokenSource,
};

pub const SLOTS: u32 = 4;
pub const SERVICE_MS: u64 = 1000;
pub const TOKENS: u32 = 20;
/// From one level's start to the next one's.
const LEVEL_MS: u64 = 200_000;
const WINDOW_MS: (u64, u64) = (40_000, 140_000);

pub fn ms(at: u64) -> Nanos {
    Nanos::from_millis(at)
}

/// A closed loop at each level, in turn; the client leaves `gap_ms` between a slot's requests, outside of them.
pub fn run(levels: &[u32], gap_ms: u64) -> RunData {
    let mut run = RunData {
        plan: Plan {
            concurrency: levels.to_vec(),
            scrape_interval: "500ms".parse().unwrap(),
            ..Plan::default()
        },
        ..RunData::default()
    };
    "cold".clone_into(&mut run.conditions.prompts.regime);
    for (index, level) in levels.iter().enumerate() {
        simulate(&mut run, *level, 5000 + index as u64 * LEVEL_MS, gap_ms);
    }
    finish(&mut run, levels.len());
    run
}

fn finish(run: &mut RunData, levels: usize) {
    let end = 5000 + levels as u64 * LEVEL_MS;
    let mut mark = PhaseMark::of_run(ms(end), PhaseEdge::RunEnd);
    mark.reason = Some(FinishReason::Complete);
    run.phases.push(mark);
    run.samples = (0..=end / 500).map(|tick| sample(&run.requests, tick * 500)).collect();
}

/// An open loop at each rate, in turn, with equal gaps; `cap` bounds the requests in flight.
pub fn open(rates: &[f64], cap: Option<usize>) -> RunData {
    let levels: Vec<Rate> = rates.iter().map(|rate| Rate::new(*rate).unwrap()).collect();
    let mut run = RunData {
        plan: Plan {
            concurrency: Vec::new(),
            rate: levels.clone(),
            arrivals: "constant".parse().unwrap(),
            cap: cap.map(|cap| cap as u32),
            ..Plan::default()
        },
        ..RunData::default()
    };
    for (index, rate) in levels.iter().enumerate() {
        arrive(&mut run, *rate, 5000 + index as u64 * LEVEL_MS, cap);
    }
    finish(&mut run, levels.len());
    run
}

fn arrive(run: &mut RunData, rate: Rate, start: u64, cap: Option<usize>) {
    let level = Level::Rate(rate);
    let (open, close) = (start + WINDOW_MS.0, start + WINDOW_MS.1);
    for (at, edge) in
        [(open, PhaseEdge::WindowOpen), (close, PhaseEdge::WindowClose), (close + 10_000, PhaseEdge::Drain)]
    {
        run.phases.push(PhaseMark::of_level(ms(at), edge, level, 0));
    }
    let mut free = vec![start; SLOTS as usize];
    let mut ends: Vec<u64> = Vec::new();
    for id in 0_u64.. {
        let due = start + (id as f64 * 1000.0 / rate.per_second()) as u64;
        if due > close {
            break;
        }
        // With a cap, a request is sent when the one `cap` places before it has ended: all are equally long.
        let sent =
            cap.and_then(|cap| ends.get(ends.len().checked_sub(cap)?)).map_or(due, |end| due.max(*end));
        let server = free.iter_mut().min_by_key(|free| **free).unwrap();
        let begins = sent.max(*server);
        *server = begins + SERVICE_MS;
        ends.push(begins + SERVICE_MS);
        let phase = if due < open { Phase::Warmup } else { Phase::Measure };
        let mut record = request(level, 0, id, phase, due, begins);
        (record.sent_ns, record.capped) = (Some(ms(sent)), sent > due);
        run.requests.push(record);
    }
}

/// First come, first served.
fn simulate(run: &mut RunData, level: u32, start: u64, gap_ms: u64) {
    let (open, close) = (start + WINDOW_MS.0, start + WINDOW_MS.1);
    run.phases.push(PhaseMark::of_level(ms(open), PhaseEdge::WindowOpen, level.into(), 0));
    run.phases.push(PhaseMark::of_level(ms(close), PhaseEdge::WindowClose, level.into(), 0));
    run.phases.push(PhaseMark::of_level(ms(close + 10_000), PhaseEdge::Drain, level.into(), 0));
    let mut users: Vec<u64> =
        (0..u64::from(level)).map(|user| start + user * SERVICE_MS / u64::from(level)).collect();
    let mut free = vec![start; SLOTS as usize];
    for id in 0.. {
        let (slot, &due) = users.iter().enumerate().min_by_key(|(_, due)| **due).unwrap();
        if due > close + 10_000 {
            break;
        }
        let server = free.iter_mut().min_by_key(|free| **free).unwrap();
        let begins = due.max(*server);
        *server = begins + SERVICE_MS;
        users[slot] = begins + SERVICE_MS + gap_ms;
        let phase = if due < open {
            Phase::Warmup
        } else if due < close {
            Phase::Measure
        } else {
            Phase::Filler
        };
        run.requests.push(request(level.into(), slot as u32, id, phase, due, begins));
    }
}

fn request(level: Level, slot: u32, id: u64, phase: Phase, due: u64, begins: u64) -> RequestRecord {
    let at = |token: u32| ms(begins + u64::from(token + 1) * SERVICE_MS / u64::from(TOKENS));
    RequestRecord {
        schema: RECORD_SCHEMA,
        id,
        level,
        repeat: 0,
        phase,
        worker: 0,
        slot,
        due_ns: ms(due),
        sent_ns: Some(ms(due)),
        head_ns: None,
        first_event_ns: Some(at(0)),
        first_token_ns: Some(at(0)),
        last_token_ns: Some(at(TOKENS - 1)),
        end_ns: ms(begins + SERVICE_MS),
        events: (0..TOKENS)
            .map(|token| StreamEvent {
                at_ns: at(token),
                kind: EventKind::Content,
                tokens: None,
                coalesced: false,
            })
            .collect(),
        input_tokens: Some(100),
        cached_tokens: None,
        output_tokens: Some(TOKENS),
        token_source: TokenSource::Usage,
        asked_input_tokens: Some(100),
        max_tokens: TOKENS,
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
        client_lag_ns: Nanos(20_000),
        malformed: 0,
        outcome: Outcome::Ok,
        time_limit: None,
        text: String::new(),
        text_cut: false,
    }
}

/// What such a server shows at an instant.
fn sample(requests: &[RequestRecord], at_ms: u64) -> Sample {
    let at = ms(at_ms);
    let begun = |request: &RequestRecord| request.end_ns - ms(SERVICE_MS);
    let sent = |request: &RequestRecord| request.sent_ns.unwrap_or(request.due_ns);
    let (mut running, mut waiting, mut done, mut queued) = (0.0, 0.0, 0.0, 0.0);
    for request in requests {
        if request.end_ns <= at {
            done += 1.0;
            queued += (begun(request) - sent(request)).as_secs_f64();
        } else if begun(request) <= at {
            running += 1.0;
        } else if sent(request) <= at {
            waiting += 1.0;
        }
    }
    let histogram = |sum| Histogram { sum, count: done, buckets: Vec::new() };
    Sample {
        schema: RECORD_SCHEMA,
        at_ns: at,
        duration_ns: ms(1),
        target: "http://server/metrics".to_owned(),
        trigger: SampleTrigger::Tick,
        outcome: SampleOutcome::Ok,
        bad_lines: 0,
        gauges: [(Gauge::Running, running), (Gauge::Waiting, waiting), (Gauge::KvUsage, 0.2)].into(),
        counters: [
            (Counter::GenerationTokens, done * f64::from(TOKENS)),
            (Counter::PromptTokens, done * 100.0),
            (Counter::PrefixQueries, done * 100.0),
            (Counter::PrefixHits, 0.0),
        ]
        .into(),
        finished: [("length".to_owned(), done)].into(),
        histograms: [(HistogramName::Queue, histogram(queued)), (HistogramName::Inference, histogram(done))]
            .into(),
    }
}

pub fn value(summary: &Summary, level: impl Into<Level>, name: &str) -> Option<f64> {
    let level = level.into();
    summary.levels.iter().find(|l| l.level == level).and_then(|l| l.number(name)).and_then(|n| n.value)
}

pub fn near(value: Option<f64>, expected: f64, tolerance: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= tolerance)
}

pub fn has(summary: &Summary, id: &str) -> bool {
    summary.flags.iter().chain(summary.levels.iter().flat_map(|l| &l.flags)).any(|flag| flag.id == id)
}
