//! What the encoders of the responses and messages dialects write reads back as it was meant.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use bytes::Bytes;
use plimsoll_record::EventKind;
use plimsoll_wire::{
    chat::{self, Chunk},
    encode::{
        Answer, MessagesEncoder, ResponsesEncoder, TokenIds, UsageCounts, messages_body, messages_error,
        responses_body,
    },
    sse::SseDecoder,
};

const USAGE: UsageCounts = UsageCounts { prompt: 7, completion: 3 };
const TEXTS: [&str; 3] = [" one", "\n\"two\"", " \u{6e2f}"];

fn chunks(events: &[Bytes]) -> Vec<Chunk<'static>> {
    let mut decoder = SseDecoder::new();
    let mut chunks = Vec::new();
    for event in events {
        decoder.push(event);
        let event = decoder.next_event().unwrap().unwrap();
        chunks.push(chat::parse_event(event.name, event.data).unwrap().into_owned());
    }
    chunks
}

/// Text, finish reason, prompt tokens, completion tokens.
fn whole(chunks: &[Chunk<'_>]) -> (String, Option<String>, Option<u32>, Option<u32>) {
    let usages = || chunks.iter().filter_map(|chunk| chunk.usage);
    (
        chunks.iter().flat_map(Chunk::texts).collect(),
        chunks.iter().rev().find_map(|chunk| chunk.finish_reason.as_deref().map(str::to_owned)),
        usages().filter_map(|usage| usage.prompt_tokens).next_back(),
        usages().filter_map(|usage| usage.completion_tokens).next_back(),
    )
}

fn texts(chunks: &[Chunk<'_>]) -> usize {
    chunks.iter().filter(|chunk| chunk.kind.is_text()).count()
}

#[test]
fn responses() {
    for (reason, word) in [("stop", "completed"), ("length", "max_output_tokens")] {
        let mut encoder = ResponsesEncoder::new("resp_1", 1, "m");
        let mut events = encoder.opening();
        events.extend(TEXTS.map(|text| encoder.delta(text)));
        events.extend(encoder.closing(reason, Some(USAGE)));
        let chunks = chunks(&events);
        assert_eq!(whole(&chunks), (TEXTS.concat(), Some(word.to_owned()), Some(7), Some(3)));
        assert_eq!((texts(&chunks), chunks.iter().filter(|chunk| chunk.complete).count()), (3, 1));
        assert!(chunks.last().unwrap().complete);
    }
    let failed = &chunks(&[ResponsesEncoder::new("resp_1", 1, "m").failed("dead")])[0];
    assert_eq!((failed.error.as_ref().unwrap().message.as_str(), failed.complete), ("dead", true));
}

#[test]
fn messages() {
    for (reason, word) in [("stop", "end_turn"), ("length", "max_tokens")] {
        let encoder = MessagesEncoder::new("msg_1", "m");
        let mut events = encoder.opening(Some(7));
        events.extend(TEXTS.map(|text| encoder.delta(text)));
        events.extend(encoder.closing(reason, Some(USAGE)));
        let chunks = chunks(&events);
        assert_eq!(whole(&chunks), (TEXTS.concat(), Some(word.to_owned()), Some(7), Some(3)));
        assert_eq!((texts(&chunks), chunks.last().unwrap().kind), (3, EventKind::Done));
    }
    let failed = &chunks(&[MessagesEncoder::new("msg_1", "m").failed("dead")])[0];
    assert_eq!(failed.error.as_ref().unwrap().message, "dead");
}

#[test]
fn bodies() {
    let mut answer = Answer {
        id: "a",
        created: 1,
        model: "m",
        text: "one",
        finish_reason: "length",
        usage: Some(USAGE),
        ids: TokenIds::default(),
    };
    for (write, word) in
        [(responses_body as fn(&Answer<'_>) -> String, "max_output_tokens"), (messages_body, "max_tokens")]
    {
        answer.usage = Some(USAGE);
        let text = write(&answer);
        let body = chat::parse_body(text.as_bytes()).unwrap();
        let usage = body.usage.unwrap();
        assert_eq!((&*body.content, body.finish_reason.as_deref()), ("one", Some(word)));
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(7), Some(3)));
        answer.usage = None;
        assert_eq!(chat::parse_body(write(&answer).as_bytes()).unwrap().usage, None);
    }
    assert_eq!(chat::error_message(messages_error("not_found_error", "gone").as_bytes()), "gone");
}
