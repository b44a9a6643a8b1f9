//! The engine model against its documented schedule.

use plimsoll_mock::engine::{Engine, EngineEvent, EngineRequest, EventKind, FinishReason, RequestId};
use plimsoll_record::{MockEngine, Nanos, Span};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn config() -> MockEngine {
    MockEngine {
        max_num_seqs: 4,
        prefill_base: Span::from_millis(10),
        prefill_per_token: Span::from_millis(1),
        decode_base: Span::from_millis(4),
        decode_per_seq: Span::from_millis(1),
        block_size: 4,
        num_blocks: 100,
        ..MockEngine::default()
    }
}

/// A prompt that shares nothing with another seed's.
fn request(seed: u32, prompt: u32, max_tokens: u32) -> EngineRequest {
    let prompt = (0..prompt).map(|index| seed * 10_000 + index).collect();
    EngineRequest { prompt, max_tokens, eos_after: None }
}

/// Runs to the end.
fn drain(engine: &mut Engine) -> Vec<EngineEvent> {
    let mut events = Vec::new();
    while let Some(at) = engine.next_event_time() {
        events.extend(engine.advance(at));
    }
    events
}

fn token_times(events: &[EngineEvent], id: RequestId) -> Vec<Nanos> {
    let of_id = events.iter().filter(|event| event.id == id);
    of_id.filter(|event| matches!(event.kind, EventKind::Token { .. })).map(|event| event.at).collect()
}

#[test]
fn a_request_alone_follows_the_formula() {
    let mut engine = Engine::new(&config()).unwrap();
    let id = engine.submit(ms(7), &request(1, 20, 3)).unwrap();
    let events = drain(&mut engine);
    // Arrival 7, prefill 10 + 20, then a decode step of 4 + 1 for every token.
    assert_eq!(token_times(&events, id), [ms(42), ms(47), ms(52)]);
    assert_eq!(events.first().map(|event| event.kind), Some(EventKind::Admitted { cached: 0 }));
    let end = events.last().unwrap();
    assert_eq!((end.at, end.kind), (ms(52), EventKind::Finished { reason: FinishReason::Length }));
}

#[test]
fn a_prefill_delays_the_others_and_a_step_begun_is_not_joined() {
    let mut engine = Engine::new(&config()).unwrap();
    let a = engine.submit(ms(0), &request(1, 5, 3)).unwrap();
    // Within a's first step [0, 20): b waits for the next one.
    let b = engine.submit(ms(1), &request(2, 7, 1)).unwrap();
    let events = drain(&mut engine);
    // Second step: 4 + 2 * 1 for the batch, 10 + 7 for b's prefill.
    assert_eq!(token_times(&events, a), [ms(20), ms(43), ms(48)]);
    assert_eq!(token_times(&events, b), [ms(43)]);
}

#[test]
fn requests_of_one_instant_share_a_step() {
    let mut engine = Engine::new(&config()).unwrap();
    let a = engine.submit(ms(0), &request(1, 5, 1)).unwrap();
    let b = engine.submit(ms(0), &request(2, 5, 1)).unwrap();
    let events = drain(&mut engine);
    assert_eq!(token_times(&events, a), [ms(36)]);
    assert_eq!(token_times(&events, b), [ms(36)]);
}

#[test]
fn shared_first_blocks_are_hits_and_shorten_the_prefill() {
    let mut engine = Engine::new(&config()).unwrap();
    engine.submit(ms(0), &request(1, 8, 1)).unwrap();
    drain(&mut engine);
    let mut longer = request(1, 8, 1);
    longer.prompt.extend([1, 2]);
    let id = engine.submit(ms(100), &longer).unwrap();
    let events = drain(&mut engine);
    // 8 of 10 tokens are cached: prefill 10 + 2, step 4 + 1.
    assert_eq!(token_times(&events, id), [ms(117)]);
    assert_eq!((engine.counters().prefix_queries, engine.counters().prefix_hits), (18, 8));
    // A repeat of the same prompt must still compute its last token, so its last block is no hit.
    engine.submit(ms(200), &request(1, 8, 1)).unwrap();
    drain(&mut engine);
    assert_eq!((engine.counters().prefix_queries, engine.counters().prefix_hits), (26, 12));
}

#[test]
fn prompts_that_differ_in_the_first_token_never_hit() {
    let mut engine = Engine::new(&config()).unwrap();
    for seed in 0..20_u32 {
        let mut asked = request(99, 16, 1);
        asked.prompt[0] = seed;
        engine.submit(ms(0), &asked).unwrap();
        drain(&mut engine);
    }
    assert_eq!(engine.counters().prefix_hits, 0);
}

#[test]
fn without_blocks_a_request_waits_though_a_slot_is_free() {
    let mut engine = Engine::new(&MockEngine { num_blocks: 4, ..config() }).unwrap();
    let a = engine.submit(ms(0), &request(1, 11, 2)).unwrap();
    let b = engine.submit(ms(0), &request(2, 8, 1)).unwrap();
    assert_eq!((engine.running(), engine.waiting()), (1, 1));
    assert!((engine.kv_usage() - 0.75).abs() < 1e-12);
    let events = drain(&mut engine);
    let admitted = |id| {
        let of_id = |event: &&EngineEvent| event.id == id && matches!(event.kind, EventKind::Admitted { .. });
        events.iter().find(of_id).map(|event| event.at)
    };
    assert_eq!(admitted(b), token_times(&events, a).last().copied());
    assert_eq!(engine.counters().preemptions, 0);
}

#[test]
fn a_growing_batch_preempts_the_last_admitted() {
    let mut engine = Engine::new(&MockEngine { num_blocks: 4, ..config() }).unwrap();
    let a = engine.submit(ms(0), &request(1, 4, 9)).unwrap();
    let b = engine.submit(ms(0), &request(2, 4, 9)).unwrap();
    let events = drain(&mut engine);
    assert!(engine.counters().preemptions > 0);
    assert!(events.iter().all(|event| event.kind != EventKind::Preempted || event.id == b));
    assert_eq!((token_times(&events, a).len(), token_times(&events, b).len()), (9, 9));
    assert!(engine.kv_usage().abs() < 1e-12);
}

#[test]
fn a_cancelled_request_frees_its_slot_and_says_no_more() {
    let mut engine = Engine::new(&MockEngine { max_num_seqs: 1, ..config() }).unwrap();
    let a = engine.submit(ms(0), &request(1, 5, 50)).unwrap();
    let b = engine.submit(ms(0), &request(2, 5, 1)).unwrap();
    engine.cancel(ms(3), a);
    let events = drain(&mut engine);
    assert_eq!(token_times(&events, a), []);
    // The step that had begun ends at 20; then b's own.
    assert_eq!(token_times(&events, b), [ms(40)]);
    let aborted = EventKind::Finished { reason: FinishReason::Abort };
    assert!(events.contains(&EngineEvent { at: ms(3), id: a, kind: aborted }));
    engine.cancel(ms(90), a);
    assert_eq!(engine.next_event_time(), None);
}

#[test]
fn what_can_never_fit_is_refused() {
    let mut engine = Engine::new(&MockEngine { num_blocks: 4, ..config() }).unwrap();
    for (prompt, max_tokens) in [(16, 1), (0, 1), (1, 0)] {
        assert!(engine.submit(ms(0), &request(1, prompt, max_tokens)).is_err());
    }
    assert!(engine.submit(ms(0), &request(1, 15, 1)).is_ok());
    assert!(Engine::new(&MockEngine { max_num_seqs: 0, ..config() }).is_err());
}

/// Four slots, half a second a request: X = min(N, 4) / 0.5 (utilisation law, asymptotic bounds of a closed
/// network with one station of four servers).
#[test]
fn a_closed_loop_has_the_throughput_of_the_asymptotic_bounds() {
    let half_second = MockEngine {
        max_num_seqs: 4,
        prefill_base: Span::from_millis(0),
        prefill_per_token: Span::from_millis(0),
        decode_base: Span::from_millis(50),
        decode_per_seq: Span::from_millis(0),
        ..MockEngine::default()
    };
    for (clients, throughput) in [(1, 2), (2, 4), (4, 8), (5, 8), (8, 8), (16, 8), (32, 8)] {
        let mut engine = Engine::new(&half_second).unwrap();
        let mut seed = 0;
        let mut next = || {
            seed += 1;
            request(seed, 20, 10)
        };
        for _ in 0..clients {
            engine.submit(ms(0), &next()).unwrap();
        }
        let mut finished = 0;
        while let Some(at) = engine.next_event_time().filter(|at| *at < ms(20_000)) {
            for event in engine.advance(at) {
                if let EventKind::Finished { .. } = event.kind {
                    finished += u64::from(at >= ms(10_000));
                    engine.submit(at, &next()).unwrap();
                }
            }
            assert_eq!(engine.running() + engine.waiting(), clients);
        }
        assert_eq!(finished, throughput * 10, "N = {clients}");
    }
}

#[derive(Clone, Debug)]
struct Load {
    config: MockEngine,
    requests: Vec<Arrival>,
}

/// Gap to the one before (ms), prompt, `max_tokens`, `eos_after`, cancelled after (ms).
type Arrival = (u64, u32, u32, Option<u32>, Option<u64>);

fn loads() -> impl Strategy<Value = Load> {
    let request = (
        0..30_u64,
        1..30_u32,
        1..20_u32,
        prop::option::of(1..20_u32),
        prop::option::weighted(0.2, 0..200_u64),
    );
    let engine = (1..6_u32, 0..4_u64, 0..3_u64, 0..6_u64, 0..2_u64, 1..8_u32, 50..80_u32);
    (engine, prop::collection::vec(request, 1..25)).prop_map(|(engine, requests)| {
        let (max_num_seqs, prefill_base, per_token, decode_base, per_seq, block_size, num_blocks) = engine;
        let config = MockEngine {
            max_num_seqs,
            prefill_base: Span::from_millis(prefill_base),
            prefill_per_token: Span::from_millis(per_token),
            decode_base: Span::from_millis(decode_base),
            decode_per_seq: Span::from_millis(per_seq),
            block_size,
            num_blocks,
            ..MockEngine::default()
        };
        Load { config, requests }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_request_gets_exactly_its_tokens(load in loads()) {
        let mut engine = Engine::new(&load.config).unwrap();
        // (time, submission or cancellation of request number), in order of time.
        let mut agenda = Vec::new();
        let mut at = 0;
        for (number, (gap, .., cancelled)) in load.requests.iter().enumerate() {
            at += gap;
            agenda.push((ms(at), 0, number));
            agenda.extend(cancelled.map(|after| (ms(at + after), 1, number)));
        }
        agenda.sort_unstable();
        let mut events = Vec::new();
        let mut ids = BTreeMap::new();
        for (at, what, number) in agenda {
            while let Some(next) = engine.next_event_time().filter(|next| *next <= at) {
                events.extend(engine.advance(next));
                prop_assert!(engine.running() <= load.config.max_num_seqs as usize);
                prop_assert!(engine.kv_usage() <= 1.0);
            }
            let (_, prompt, max_tokens, eos_after, _) = load.requests[number];
            if what == 0 {
                let asked = EngineRequest { eos_after, ..request(number as u32, prompt, max_tokens) };
                ids.insert(number, engine.submit(at, &asked).unwrap());
            } else {
                engine.cancel(at, ids[&number]);
            }
        }
        events.extend(drain(&mut engine));
        prop_assert!(events.is_sorted_by_key(|event| event.at));
        prop_assert_eq!((engine.running(), engine.waiting(), engine.kv_usage()), (0, 0, 0.0));

        let mut admissions: Vec<RequestId> = Vec::new();
        for event in &events {
            if matches!(event.kind, EventKind::Admitted { .. }) && !admissions.contains(&event.id) {
                admissions.push(event.id);
            }
        }
        prop_assert!(admissions.is_sorted(), "admission is first come, first served");

        for (number, (_, _, max_tokens, eos_after, cancelled)) in load.requests.iter().enumerate() {
            let of_id: Vec<_> = events.iter().filter(|event| event.id == ids[&number]).collect();
            let indices: Vec<u32> = of_id.iter().filter_map(|event| match event.kind {
                EventKind::Token { index } => Some(index),
                _ => None,
            }).collect();
            prop_assert!(indices.iter().copied().eq(0..indices.len() as u32));
            let Some(EventKind::Finished { reason }) = of_id.last().map(|event| event.kind) else {
                return Err(TestCaseError::fail("no end"));
            };
            let full = eos_after.unwrap_or(u32::MAX).min(*max_tokens);
            match reason {
                FinishReason::Abort => prop_assert!(cancelled.is_some() && indices.len() < full as usize),
                FinishReason::Stop => prop_assert_eq!((Some(full), indices.len()), (*eos_after, full as usize)),
                FinishReason::Length => prop_assert_eq!((full, indices.len()), (*max_tokens, full as usize)),
                other => prop_assert!(false, "{}", other),
            }
        }
    }
}
