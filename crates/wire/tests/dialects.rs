//! Streams and bodies of the responses and messages dialects, as their API references describe them, and reasoning
//! under all its names.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use plimsoll_record::EventKind;
use plimsoll_wire::{
    chat::{self, Chunk, ChunkReader},
    sse::SseDecoder,
};

/// The chunks of a stream, each read in both ways.
fn chunks(stream: &str) -> Vec<Chunk<'static>> {
    let mut decoder = SseDecoder::new();
    decoder.push(stream.as_bytes());
    let mut reader = ChunkReader::new();
    let mut chunks = Vec::new();
    while let Some(event) = decoder.next_event() {
        let event = event.unwrap();
        let chunk = chat::parse_event(event.name, event.data).unwrap().into_owned();
        assert_eq!(reader.event(event.name, event.data).unwrap(), chunk, "{}", event.data);
        chunks.push(chunk);
    }
    chunks
}

fn named(events: &[&str]) -> String {
    let event = |json: &&str| {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        format!("event: {}\ndata: {json}\n\n", value["type"].as_str().unwrap())
    };
    events.iter().map(event).collect()
}

fn all(chunks: &[Chunk<'_>]) -> [String; 3] {
    let mut all = <[String; 3]>::default();
    for chunk in chunks {
        all[0].push_str(&chunk.content);
        all[1].push_str(&chunk.reasoning);
        all[2].push_str(&chunk.tool_call);
    }
    all
}

fn kinds(chunks: &[Chunk<'_>]) -> Vec<EventKind> {
    chunks.iter().map(|chunk| chunk.kind).collect()
}

fn counts(chunk: &Chunk<'_>) -> (Option<u32>, Option<u32>, Option<u32>) {
    let usage = chunk.usage.unwrap();
    (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
}

const RESPONSES: [&str; 20] = [
    r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"output":[],"usage":null}}"#,
    r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","status":"in_progress"}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
    r#"{"type":"response.reasoning_summary_part.added","part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_text.delta","item_id":"rs_1","delta":"Tides"}"#,
    r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","delta":" rise"}"#,
    r#"{"type":"response.reasoning_text.done","item_id":"rs_1","text":"Tides rise"}"#,
    r#"{"type":"response.output_item.done","item":{"type":"reasoning","content":[{"type":"reasoning_text","text":"Tides rise"}]}}"#,
    r#"{"type":"response.output_item.added","item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}"#,
    r#"{"type":"response.content_part.added","part":{"type":"output_text","text":"","annotations":[]}}"#,
    // As vLLM orders the fields.
    r#"{"content_index":0,"delta":"At","item_id":"msg_1","logprobs":[],"output_index":1,"sequence_number":9,"type":"response.output_text.delta"}"#,
    r#"{"type":"response.output_text.delta","item_id":"msg_1","delta":" \"noon\""}"#,
    r#"{"type":"response.refusal.delta","item_id":"msg_1","delta":", no"}"#,
    r#"{"type":"response.output_text.done","item_id":"msg_1","text":"At \"noon\""}"#,
    r#"{"type":"response.content_part.done","part":{"type":"output_text","text":"At \"noon\""}}"#,
    r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"At \"noon\""}]}}"#,
    r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"tide","arguments":"","call_id":"c"}}"#,
    r#"{"type":"response.function_call_arguments.delta","delta":"{\"p\":1}"}"#,
    r#"{"type":"response.function_call_arguments.done","arguments":"{\"p\":1}"}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"At \"noon\""}]}],"error":null,"incomplete_details":null,"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":16},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":45}}}"#,
];

#[test]
fn a_responses_stream() {
    use EventKind::{Content, Empty, Finish, Reasoning, Role, ToolCall};
    let chunks = chunks(&named(&RESPONSES));
    assert_eq!(all(&chunks), ["At \"noon\", no", "Tides rise", "tide{\"p\":1}"]);
    assert_eq!(
        kinds(&chunks),
        [
            Role, Empty, Empty, Empty, Reasoning, Reasoning, Empty, Empty, Role, Empty, Content, Content,
            Content, Empty, Empty, Empty, ToolCall, ToolCall, Empty, Finish
        ]
    );
    let last = chunks.last().unwrap();
    assert_eq!(counts(last), (Some(36), Some(9), Some(16)));
    assert_eq!(last.finish_reason.as_deref(), Some("completed"));
    assert!(last.complete && !chunks[..19].iter().any(|chunk| chunk.complete));
    // The payload's own name is enough.
    let bare = RESPONSES.map(|json| format!("data: {json}\n\n")).concat();
    assert_eq!(self::chunks(&bare), chunks);
}

#[test]
fn responses_end_in_other_ways() {
    let incomplete = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":0}}}"#;
    let chunk = &chunks(&named(&[incomplete]))[0];
    assert_eq!((chunk.finish_reason.as_deref(), chunk.complete), (Some("max_output_tokens"), true));
    assert_eq!(counts(chunk), (Some(1), Some(0), None));
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"out of memory"}}}"#;
    let error =
        r#"{"type":"error","code":"rate_limit","message":"too fast","param":null,"sequence_number":3}"#;
    let bare = r#"{"type":"response.failed"}"#;
    let chunks = chunks(&named(&[failed, error, bare]));
    let told: Vec<_> = chunks.iter().map(|chunk| chunk.error.clone().unwrap()).collect();
    assert_eq!((told[0].message.as_str(), told[0].code.as_deref()), ("out of memory", Some("server_error")));
    assert_eq!((told[1].message.as_str(), told[1].code.as_deref()), ("too fast", Some("rate_limit")));
    assert_eq!(told[2].message, "the response is failed");
    assert_eq!(kinds(&chunks), [EventKind::Error; 3]);
    let bare = chat::parse_chunk(r#"{"type":"response.completed"}"#).unwrap();
    assert_eq!((bare.finish_reason.as_deref(), bare.complete), (Some("completed"), true));
}

const MESSAGES: [&str; 15] = [
    r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":25,"cache_read_input_tokens":8,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Tides"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abcdef"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"At"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" \"noon\""}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"cited_text":"x"}}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"tide","input":{}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"p\":1}"}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}"#,
    r#"{"type":"message_stop"}"#,
];

#[test]
fn a_messages_stream() {
    use EventKind::{Content, Done, Empty, Finish, Reasoning, Role, ToolCall};
    let chunks = chunks(&named(&MESSAGES));
    assert_eq!(all(&chunks), ["At \"noon\"", "Tides", "tide{\"p\":1}"]);
    assert_eq!(
        kinds(&chunks),
        [
            Role, Empty, Empty, Reasoning, Empty, Empty, Content, Content, Empty, Empty, ToolCall, Empty,
            ToolCall, Finish, Done
        ]
    );
    // The output that the first event tells of has not been made yet.
    assert_eq!(counts(&chunks[0]), (Some(33), None, Some(8)));
    assert_eq!(counts(&chunks[13]), (None, Some(15), None));
    assert_eq!(chunks[13].finish_reason.as_deref(), Some("end_turn"));
    assert!(chunks[14].complete && !chunks[..14].iter().any(|chunk| chunk.complete));
}

#[test]
fn an_error_in_a_messages_stream() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let chunk = &chunks(&named(&[error]))[0];
    assert_eq!(
        (chunk.kind, chunk.error.as_ref().unwrap().message.as_str()),
        (EventKind::Error, "Overloaded")
    );
    assert_eq!(chat::parse_chunk(r#"{"type":"error"}"#).unwrap().kind, EventKind::Error);
    let unnamed = format!("data: {error}\n\n");
    assert_eq!(chunks(&unnamed)[0].kind, EventKind::Error);
}

#[test]
fn whole_bodies() {
    let responses = br#"{"id":"resp_1","object":"response","status":"incomplete","error":null,
        "incomplete_details":{"reason":"max_output_tokens"},
        "output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"short"}],"content":[{"type":"reasoning_text","text":"Tides"}]},
          {"type":"message","role":"assistant","content":[{"type":"output_text","text":"At "},{"type":"refusal","refusal":"no"}]},
          {"type":"function_call","arguments":"{}","name":"tide"},7],
        "usage":{"input_tokens":3,"output_tokens":4}}"#;
    let body = chat::parse_body(responses).unwrap();
    assert_eq!((&*body.content, &*body.reasoning, &*body.tool_call), ("At no", "Tides", "tide{}"));
    assert_eq!(body.finish_reason.as_deref(), Some("max_output_tokens"));
    assert_eq!(body.usage.unwrap().completion_tokens, Some(4));
    let messages = br#"{"id":"msg_1","type":"message","role":"assistant",
        "content":[{"type":"thinking","thinking":"Tides","signature":"s"},{"type":"text","text":"At noon"},
          {"type":"tool_use","name":"tide","input":{"p": 1}}],
        "stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#;
    let body = chat::parse_body(messages).unwrap();
    assert_eq!((&*body.content, &*body.reasoning, &*body.tool_call), ("At noon", "Tides", "tide{\"p\": 1}"));
    assert_eq!(
        (body.finish_reason.as_deref(), body.usage.unwrap().prompt_tokens),
        (Some("tool_use"), Some(3))
    );
    let failed = br#"{"object":"response","status":"failed","error":{"message":"dead"},"output":[]}"#;
    assert_eq!(chat::parse_body(failed).unwrap().error.unwrap().message, "dead");
    let error = br#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#;
    assert_eq!(chat::parse_body(error).unwrap().error.unwrap().message, "model: x");
}

#[test]
fn reasoning_has_many_names() {
    let deltas = [
        r#"{"reasoning_content":"why"}"#,
        r#"{"reasoning":"why"}"#,
        r#"{"reasoning_text":"why"}"#,
        r#"{"thinking":"why"}"#,
        r#"{"thought":"why"}"#,
        r#"{"reasoning":{"text":"why"}}"#,
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"why","index":0}]}"#,
        r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"why"},{"type":"reasoning.encrypted","data":"zz"}]}"#,
        r#"{"thinking_blocks":[{"type":"thinking","thinking":"why","signature":"s"}]}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"why"}]}]}"#,
        r#"{"reasoning":"why","reasoning_content":"why","reasoning_details":[{"text":"why"}],"content":""}"#,
        r#"{"reasoning":null,"reasoning_content":"","thinking":"why","content":null}"#,
    ];
    for delta in deltas {
        let data = format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#);
        let chunk = chat::parse_chunk(&data).unwrap();
        assert_eq!(
            (chunk.kind, &*chunk.reasoning, &*chunk.content),
            (EventKind::Reasoning, "why", ""),
            "{delta}"
        );
    }
}

#[test]
fn token_ids_are_counted() {
    let tokens = |choice: &str, more: &str| {
        let data = format!(r#"{{"choices":[{choice}]{more}}}"#);
        let chunk = chat::parse_chunk(&data).unwrap();
        (chunk.kind, chunk.tokens)
    };
    let chat = r#"{"delta":{"content":"a"},"token_ids":[5,6,7]}"#;
    assert_eq!(tokens(chat, ""), (EventKind::Content, Some(3)));
    // The prompt's ids are no output, wherever they stand.
    let first = r#"{"delta":{"role":"assistant","content":""},"finish_reason":null}"#;
    assert_eq!(tokens(first, r#","prompt_token_ids":[1,2,3]"#), (EventKind::Role, None));
    let completion = r#"{"text":"","token_ids":[9],"prompt_token_ids":[1,2,3]}"#;
    assert_eq!(tokens(completion, ""), (EventKind::Empty, Some(1)));
    assert_eq!(tokens(r#"{"text":"a","token_ids":null}"#, ""), (EventKind::Content, None));
    assert_eq!(tokens(r#"{"text":"a","token_ids":[]}"#, ""), (EventKind::Content, Some(0)));
    let two = r#"{"index":0,"text":"a","token_ids":[1]},{"index":1,"text":"b","token_ids":[2,3]}"#;
    assert_eq!(tokens(two, ""), (EventKind::Content, Some(3)));
}

#[test]
fn usage_stands_in_many_places() {
    for data in [
        r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"completion_tokens":3}}]}"#,
        r#"{"choices":[],"x_groq":{"id":"r","usage":{"completion_tokens":3}}}"#,
        r#"{"choices":[],"usage":{"completion_tokens":3}}"#,
    ] {
        assert_eq!(chat::parse_chunk(data).unwrap().usage.unwrap().completion_tokens, Some(3), "{data}");
    }
}
