//! What a real vLLM 0.32.0 sent, read back. Expected values were read off the captured files.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation fails the test"
)]

use plimsoll_record::{Counter, EventKind, Gauge, HistogramName};
use plimsoll_wire::{
    chat::{self, Chunk},
    concepts::Concepts,
    models,
    prometheus::Page,
    sse::SseDecoder,
};
use std::{fs, path::PathBuf};

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vllm-0.32.0");
    fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The body of a captured response, its chunked coding taken off.
fn body(name: &str) -> Vec<u8> {
    let raw = fixture(name);
    let end = raw.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let (head, mut rest) = raw.split_at(end);
    if !String::from_utf8_lossy(head).contains("transfer-encoding: chunked") {
        return rest.to_vec();
    }
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + size + 4..];
    }
    body
}

fn chunks(name: &str) -> Vec<Chunk<'static>> {
    let mut decoder = SseDecoder::new();
    decoder.push(&body(name));
    let mut chunks = Vec::new();
    while let Some(event) = decoder.next_event() {
        let event = event.unwrap();
        chunks.push(chat::parse_event(event.name, event.data).unwrap().into_owned());
    }
    assert_eq!(decoder.finish(), None);
    chunks
}

fn kinds(chunks: &[Chunk<'_>]) -> String {
    let letter = |chunk: &Chunk<'_>| match chunk.kind {
        EventKind::Role => 'r',
        EventKind::Content => 'c',
        EventKind::Empty => 'e',
        EventKind::Finish => 'f',
        EventKind::Usage => 'u',
        EventKind::Done => 'd',
        EventKind::Error => 'x',
        _ => '?',
    };
    chunks.iter().map(letter).collect()
}

#[test]
fn a_chat_stream_with_usage() {
    let chunks = chunks("chat_stream_usage.raw");
    // Every other token of this model completes no character, and so carries no text; the last comes with the reason.
    assert_eq!(kinds(&chunks), "rcecececececececfud");
    let text: String = chunks.iter().map(|chunk| &*chunk.content).collect();
    assert_eq!(text, "wo\u{fffd}wo\u{fffd}wo\u{fffd}wo\u{fffd}wo\u{fffd}wo\u{fffd}wo\u{fffd}wo");
}

#[test]
fn a_completions_stream_with_usage() {
    let chunks = chunks("comp_stream_usage.raw");
    let last = &chunks[chunks.len() - 3..];
    assert_eq!(kinds(last), "cud");
    assert_eq!((&*last[0].content, last[0].finish_reason.as_deref()), (" inte", Some("length")));
    let usage = last[1].usage.unwrap();
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens),
        (Some(12), Some(16), None)
    );
}

#[test]
fn usage_on_every_chunk_is_cumulative() {
    let chunks = chunks("chat_stream_usage_continuous.raw");
    let counts: Vec<u32> = chunks.iter().filter_map(|chunk| chunk.usage?.completion_tokens).collect();
    assert_eq!(counts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16]);
}

#[test]
fn errors_inside_a_stream() {
    let busy = chunks("over5.raw");
    assert_eq!(kinds(&busy), "xd");
    let error = busy[0].error.as_ref().unwrap();
    assert!(error.message.starts_with("The engine is currently busy"), "{error:?}");
    assert_eq!(error.code.as_deref(), Some("503"));
    let killed = chunks("engine_killed_midstream.raw");
    assert!(kinds(&killed).ends_with("ccccxd"), "{}", kinds(&killed));
}

#[test]
fn whole_bodies() {
    let bytes = body("chat_nonstream.raw");
    let chat = chat::parse_body(&bytes).unwrap();
    assert!(chat.content.starts_with("wo\u{fffd}wo"));
    assert_eq!((chat.finish_reason.as_deref(), chat.error), (Some("length"), None));
    assert_eq!(chat.usage.unwrap().completion_tokens, Some(16));
    let bytes = body("comp_nonstream.raw");
    let completion = chat::parse_body(&bytes).unwrap();
    assert!(completion.content.starts_with(" encodeCHile inte"));
    let bytes = body("engine_killed_nonstream.raw");
    assert_eq!(chat::parse_body(&bytes).unwrap().error.unwrap().code.as_deref(), Some("500"));
}

#[test]
fn refusals_say_why() {
    let cases = [
        ("err_404.raw", "Not Found"),
        ("err_405.raw", "Method Not Allowed"),
        ("err_bad_model.raw", "The model `nope` does not exist. Valid aliases: tiny."),
        ("err_min_gt_max.raw", "min_tokens must be less than or equal to max_tokens=16, got 100."),
        (
            "err_wrong_content_type.raw",
            "1 validation error: Unsupported Media Type: Only 'application/json' is allowed",
        ),
        ("err_max_tokens_zero.raw", "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"),
        ("unauth_bad.raw", "Unauthorized"),
    ];
    for (name, want) in cases {
        assert_eq!(chat::error_message(&body(name)), want, "{name}");
    }
}

#[test]
fn models_and_version() {
    let models = models::parse_models(&body("get_models.raw")).unwrap();
    assert_eq!(models, [models::Model { id: "tiny".to_owned(), max_model_len: Some(2048) }]);
    assert_eq!(models::parse_version(&body("get_version.raw")).as_deref(), Some("0.32.0"));
}

#[test]
#[expect(clippy::float_cmp, reason = "the numbers as the page writes them")]
fn a_metrics_page() {
    let bytes = fixture("metrics_after_load.txt");
    let page = Page::parse(&bytes).unwrap();
    assert_eq!((page.samples.len(), page.bad_lines, page.duplicates, page.truncated), (593, 0, 0, false));
    let concepts = Concepts::read(&page, Some("tiny"));
    assert_eq!(concepts.missing, [""; 0]);
    assert_eq!(concepts.gauges[&Gauge::Running], 0.0);
    assert_eq!(concepts.counters[&Counter::GenerationTokens], 9691.0);
    assert_eq!(concepts.counters[&Counter::PrefixHits], 1920.0);
    assert_eq!(concepts.sources["generation_tokens"], "vllm:generation_tokens_total");
    let finished: Vec<_> = concepts.finished.iter().map(|(reason, n)| (reason.as_str(), *n)).collect();
    assert_eq!(
        finished,
        [("abort", 0.0), ("error", 0.0), ("length", 80.0), ("repetition", 0.0), ("stop", 4.0)]
    );
    let ttft = &concepts.histograms[&HistogramName::Ttft];
    assert_eq!((ttft.sum, ttft.count, ttft.buckets.len()), (42.688_129_186_630_25, 84.0, 22));
    assert_eq!(
        (ttft.buckets[0], ttft.buckets[9], ttft.buckets[21]),
        ((0.001, 0.0), (0.5, 83.0), (2560.0, 84.0))
    );
    let inference = &concepts.histograms[&HistogramName::Inference];
    assert_eq!((inference.sum, inference.count), (109.333_810_434_995_94, 84.0));
    assert_eq!(concepts.histograms.len(), 7);
    let config = |label: &str| concepts.cache_config.get(label).map(String::as_str);
    assert_eq!((config("block_size"), config("num_gpu_blocks")), (Some("128"), Some("8192")));

    let bytes = fixture("metrics_during_load.txt");
    let concepts = Concepts::read(&Page::parse(&bytes).unwrap(), None);
    assert_eq!(concepts.gauges[&Gauge::Running], 48.0);
    assert_eq!(concepts.gauges[&Gauge::KvUsage], 0.011_720_180_686_118_908);
    assert_eq!(concepts.histograms[&HistogramName::Itl].count, 4946.0);
}
