//! Bytes per second of the parsers on the hot path: an event stream of chat chunks, and a metrics page.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_wire::{chat, concepts::Concepts, prometheus::Page, sse::SseDecoder};
use std::hint::black_box;

/// One event as vLLM 0.32.0 sends it.
const EVENT: &str = concat!(
    r#"data: {"id":"chatcmpl-9bfc23e006446d37","object":"chat.completion.chunk","created":1796079115,"model":"tiny","#,
    r#""choices":[{"index":0,"delta":{"content":" keycapenominator"},"logprobs":null,"finish_reason":null,"#,
    r#""token_ids":null}]}"#,
    "\n\n"
);
const PAGE: &[u8] = include_bytes!("../../../fixtures/vllm-0.32.0/metrics_after_load.txt");

fn stream(c: &mut Criterion) {
    let mut group = c.benchmark_group("stream");
    group.throughput(Throughput::Bytes(EVENT.len() as u64));
    group.bench_function("sse", |b| {
        let mut decoder = SseDecoder::new();
        b.iter(|| {
            decoder.push(black_box(EVENT.as_bytes()));
            while let Some(Ok(event)) = decoder.next_event() {
                black_box(event);
            }
        });
    });
    group.bench_function("sse_and_chunk", |b| {
        let mut decoder = SseDecoder::new();
        b.iter(|| {
            decoder.push(black_box(EVENT.as_bytes()));
            while let Some(Ok(event)) = decoder.next_event() {
                let _ = black_box(chat::parse_event(event.name, event.data));
            }
        });
    });
    group.bench_function("sse_and_reader", |b| {
        let mut decoder = SseDecoder::new();
        let mut reader = chat::ChunkReader::new();
        b.iter(|| {
            decoder.push(black_box(EVENT.as_bytes()));
            while let Some(Ok(event)) = decoder.next_event() {
                let _ = black_box(reader.event(event.name, event.data));
            }
        });
    });
    group.finish();
}

fn metrics(c: &mut Criterion) {
    let mut group = c.benchmark_group("metrics");
    group.throughput(Throughput::Bytes(PAGE.len() as u64));
    group.bench_function("page", |b| b.iter(|| black_box(Page::parse(black_box(PAGE)))));
    group.bench_function("page_and_concepts", |b| {
        b.iter(|| Page::parse(black_box(PAGE)).map(|page| black_box(Concepts::read(&page, Some("tiny")))));
    });
    group.finish();
}

criterion_group!(benches, stream, metrics);
criterion_main!(benches);
