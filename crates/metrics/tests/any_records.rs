//! Whatever a run folder holds, there is a summary, it can be written as JSON, and every formula is known.

use plimsoll_metrics::{RunData, formula, summarize};
use plimsoll_record::{
    Ceiling, ClientLimits, ClientSample, Conditions, Connection, Counter, EventKind, FailureKind,
    FinishReason, Gauge, Histogram, HistogramName, Level, Nanos, Outcome, Phase, PhaseEdge, PhaseMark, Plan,
    RECORD_SCHEMA, Rate, RequestRecord, Sample, SampleOutcome, SampleTrigger, StreamEvent, TokenSource,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

/// Mostly near each other, sometimes anywhere.
fn stamp() -> impl Strategy<Value = Nanos> {
    prop_oneof![9 => 0_u64..2_000, 1 => any::<u64>()].prop_map(Nanos)
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![8 => 0.0_f64..1e4, 1 => any::<f64>(), 1 => select(vec![f64::NAN, f64::INFINITY, -0.0, 1e308])]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![9 => 0_u32..20, 1 => any::<u32>()]
}

fn level() -> impl Strategy<Value = Level> {
    let rates =
        [1e-6, 0.5, 2.0, 1e6].map(|rate| Level::Rate(Rate::new(rate).unwrap_or_else(|| unreachable!())));
    select([0, 1, 2, 4, u32::MAX].map(Level::from).into_iter().chain(rates).collect::<Vec<_>>())
}

fn event() -> impl Strategy<Value = StreamEvent> {
    use EventKind::{Content, Done, Empty, Error, Finish, Malformed, Reasoning, Role, ToolCall, Usage};
    let kind = select(vec![
        Content, Content, Content, Reasoning, ToolCall, Role, Empty, Finish, Usage, Done, Error, Malformed,
    ]);
    (stamp(), kind, of(count()), any::<bool>()).prop_map(|(at_ns, kind, tokens, coalesced)| StreamEvent {
        at_ns,
        kind,
        tokens,
        coalesced,
    })
}

prop_compose! {
    fn request()(
        (level, repeat, id, slot) in (level(), 0_u32..2, any::<u64>(), any::<u32>()),
        (target, capped, kernel_lag_ns, retries, unsent_retries, retry_after_s) in (of(0_u32..3), any::<bool>(), of(stamp()), count(), count(), of(count())),
        (tls_ns, redirects, http_status) in (of(stamp()), count(), of(any::<u16>())),
        phase in select(vec![Phase::Measure, Phase::Measure, Phase::Warmup, Phase::Filler]),
        (due_ns, sent_ns, first_token_ns, last_token_ns) in (stamp(), of(stamp()), of(stamp()), of(stamp())),
        (end_ns, client_lag_ns) in (stamp(), stamp()),
        events in vec(event(), 0..8),
        (input_tokens, output_tokens, asked_input_tokens) in (of(count()), of(count()), of(count())),
        token_source in select(vec![TokenSource::Usage, TokenSource::TokenIds, TokenSource::Tokenizer, TokenSource::Unknown]),
        outcome in prop_oneof![
            4 => Just(Outcome::Ok),
            1 => Just(Outcome::Failed { kind: FailureKind::HttpStatus, message: String::new() }),
        ],
        (connect_ns, malformed) in (of(stamp()), count()),
    ) -> RequestRecord {
        RequestRecord {
            schema: RECORD_SCHEMA, id, level, repeat, phase, worker: 0, slot, due_ns, sent_ns, head_ns: None,
            first_event_ns: first_token_ns, first_token_ns, last_token_ns, end_ns, events, input_tokens,
            cached_tokens: None, output_tokens, token_source, asked_input_tokens, max_tokens: 10,
            finish_reason: None, http_status, target, capped, retry_after_s, retries, unsent_retries, redirects, kernel_lag_ns, encoding: None, conn: Connection { reused: false, connect_ns, tls_ns }, client_lag_ns,
            malformed, outcome, time_limit: None, text: String::new(), text_cut: false,
        }
    }
}

prop_compose! {
    fn sample()(
        at_ns in stamp(),
        target in select(vec!["a", "b"]),
        ok in prop::bool::weighted(0.9),
        gauges in vec(value(), 3),
        counters in vec(value(), 5),
        finished in vec(value(), 0..2),
        sums in vec((value(), value(), vec((value(), value()), 0..3)), 7),
    ) -> Sample {
        use HistogramName::{Decode, E2e, Inference, Itl, Prefill, Queue, Ttft};
        let names = [Ttft, Itl, E2e, Queue, Prefill, Decode, Inference];
        let histograms = names.into_iter().zip(sums)
            .map(|(name, (sum, count, buckets))| (name, Histogram { sum, count, buckets }));
        let counter_names = [
            Counter::PromptTokens, Counter::GenerationTokens, Counter::Preemptions, Counter::PrefixQueries,
            Counter::PrefixHits,
        ];
        Sample {
            schema: RECORD_SCHEMA, at_ns, duration_ns: Nanos(1), target: target.to_owned(),
            trigger: SampleTrigger::Tick,
            outcome: if ok { SampleOutcome::Ok } else { SampleOutcome::Failed { message: String::new() } },
            bad_lines: 0,
            gauges: [Gauge::Running, Gauge::Waiting, Gauge::KvUsage].into_iter().zip(gauges).collect(),
            counters: counter_names.into_iter().zip(counters).collect(),
            finished: ["stop", "length"].map(str::to_owned).into_iter().zip(finished).collect(),
            histograms: histograms.collect(),
        }
    }
}

prop_compose! {
    fn mark()(
        at_ns in stamp(),
        edge in select(vec![PhaseEdge::WindowOpen, PhaseEdge::WindowOpen, PhaseEdge::WindowClose, PhaseEdge::RunEnd]),
        level in of(level()),
        repeat in of(0_u32..2),
        reason in of(select(vec![FinishReason::Complete, FinishReason::Interrupted, FinishReason::Failed])),
    ) -> PhaseMark {
        PhaseMark { schema: RECORD_SCHEMA, at_ns, edge, level, repeat, reason, message: None }
    }
}

prop_compose! {
    fn client_sample()(
        (at_ns, interval_ns, worker) in (stamp(), stamp(), of(0_u32..2)),
        (cpu_ns, throttled_ns, steal_ns) in (of(stamp()), of(stamp()), of(stamp())),
        lag_us in vec(any::<u32>(), 0..4),
        (throttled, retransmits) in (of(any::<u64>()), of(any::<u64>())),
        (connects, starved) in (of(any::<u32>()), of(any::<u32>())),
    ) -> ClientSample {
        ClientSample {
            schema: RECORD_SCHEMA, at_ns, interval_ns, level: None, repeat: None, worker, cpu_ns, lag_us, connects, starved,
            throttled, throttled_ns, retransmits, steal_ns,
        }
    }
}

prop_compose! {
    fn environment()(
        needed in of(any::<u64>()), allowed in of(any::<u64>()),
        ceiling in of((value(), value())),
    ) -> plimsoll_record::Environment {
        plimsoll_record::Environment {
            limits: ClientLimits { files_needed: needed, files_allowed: allowed, ..ClientLimits::default() },
            ceiling: ceiling.map(|(events_s, requests_s)| Ceiling { events_s, requests_s, ..Ceiling::default() }),
            ..plimsoll_record::Environment::default()
        }
    }
}

prop_compose! {
    fn run()(
        phases in vec(mark(), 0..16),
        requests in vec(request(), 0..16),
        samples in vec(sample(), 0..12),
        client in vec(client_sample(), 0..8),
        environment in environment(),
        arrivals in select(vec!["poisson", "constant", "ramp:1"]),
        bad_lines in 0_usize..2,
        warmup in of(0_u32..2),
        cold in any::<bool>(),
        slo in of(select(vec![
            "ttft p95 < 1us", "at 2: tpot p50 < 1us, itl p90 <= 2us; e2e p99 < 1s", "at 2/s: e2e p50 < 1us", "nonsense",
        ])),
    ) -> RunData {
        let mut conditions = Conditions { environment, ..Conditions::default() };
        if cold {
            "cold".clone_into(&mut conditions.prompts.regime);
        }
        let plan = Plan { slo: slo.map(str::to_owned), warmup, arrivals: arrivals.parse().unwrap_or_else(|_| unreachable!()), ..Plan::default() };
        RunData { plan, conditions, phases, requests, samples, client, bad_lines }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn there_is_always_a_summary(run in run()) {
        let summary = summarize(&run);
        for level in &summary.levels {
            for number in &level.numbers {
                prop_assert!(formula::get(&number.formula).is_some(), "{}", number.formula);
                prop_assert!(number.value.is_some() || number.reason.is_some(), "{number:?}");
                prop_assert!(number.value.is_none_or(f64::is_finite), "{number:?}");
                prop_assert!(number.interval.is_some() || number.interval_reason.is_some(), "{number:?}");
                for end in number.interval.iter().flat_map(|i| [Some(i.low), i.high]).flatten() {
                    prop_assert!(end.is_finite(), "{number:?}");
                }
            }
        }
        for number in summary.levels.iter().flat_map(|level| &level.targets).flat_map(|target| &target.numbers) {
            prop_assert!(formula::get(&number.formula).is_some(), "{}", number.formula);
        }
        for criterion in summary.levels.iter().flat_map(|level| &level.client.criteria) {
            prop_assert!(criterion.value.is_none_or(f64::is_finite) && !criterion.text.is_empty(), "{criterion:?}");
        }
        let text = serde_json::to_string(&summary).unwrap();
        let back: plimsoll_metrics::Summary = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.levels.len(), summary.levels.len());
        prop_assert_eq!(back.levels.iter().map(|l| l.level).collect::<Vec<_>>(), summary.levels.iter().map(|l| l.level).collect::<Vec<_>>());
        prop_assert_eq!(back.knee.state, summary.knee.state);
        // The order of the lines in the folder changes nothing.
        let mut turned = run.clone();
        turned.requests.reverse();
        let again = summarize(&turned);
        prop_assert_eq!(again.knee, summary.knee);
        prop_assert_eq!(again.client, summary.client);
        prop_assert_eq!(again.slo.len(), summary.slo.len());
    }
}
