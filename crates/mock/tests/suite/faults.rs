//! Faults, seen by a client.

use crate::common::{Client, capture, mock_with, payload, tiny};
use plimsoll_mock::engine::FinishReason;
use plimsoll_mock::{Fault, FaultKind, Faults, RoleChunk, StreamShape};
use std::num::NonZeroU32;
use tokio::time::{Duration, Instant};

const CHAT: &str = "/v1/chat/completions";
const BODY: &str = r#"{"messages":[{"role":"user","content":"one"}],"max_tokens":10,"stream":true,"stream_options":{"include_usage":true}}"#;

fn some(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

fn every(n: u32, kind: FaultKind) -> Faults {
    Faults { requests: vec![Fault { every: some(n), kind }], ..Faults::default() }
}

fn shaped(stream: StreamShape) -> Faults {
    Faults { stream, ..Faults::default() }
}

#[tokio::test(start_paused = true)]
async fn every_second_request_is_refused() {
    let server = mock_with(tiny(), every(2, FaultKind::Status(503)));
    let mut client = Client::connect(&server);
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(client.post(CHAT, BODY).await.status);
    }
    assert_eq!(statuses, [200, 503, 200, 503]);
    let ledger = server.ledger();
    assert_eq!((ledger.requests.len(), ledger.refused.len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_cut_ends_the_connection_in_mid_body() {
    let server = mock_with(tiny(), every(1, FaultKind::Cut { after_tokens: 3 }));
    let response = Client::connect(&server).post(CHAT, BODY).await;
    assert!(!response.complete);
    // The role, then the tokens.
    assert_eq!(response.chunks.len(), 4);
    let ledger = server.ledger();
    assert_eq!((ledger.requests[0].tokens.len(), ledger.requests[0].reason), (3, Some(FinishReason::Error)));
}

#[tokio::test(start_paused = true)]
async fn an_error_event_is_the_captured_one() {
    let server = mock_with(tiny(), every(1, FaultKind::ErrorEvent { after_tokens: 2 }));
    let mut client = Client::connect(&server);
    let events = client.post(CHAT, BODY).await.events();
    let real = capture("engine_killed_midstream.raw").body;
    let real: Vec<String> = real.split_inclusive("\n\n").map(payload).collect();
    assert_eq!(events.len(), 5);
    assert_eq!(events[3..], real[real.len() - 2..]);

    let response = client.post(CHAT, &BODY.replace("true", "false")).await;
    let real = capture("engine_killed_nonstream.raw");
    assert_eq!((response.status, response.body()), (real.status, real.body));
}

#[tokio::test(start_paused = true)]
async fn a_stall_holds_tokens_back_and_the_ledger_knows() {
    let pause = Duration::from_secs(3);
    let server = mock_with(tiny(), every(1, FaultKind::Stall { after_tokens: 2, pause }));
    let epoch = Instant::now();
    let response = Client::connect(&server).post(CHAT, BODY).await;
    assert!(response.complete);
    let tokens = &server.ledger().requests[0].tokens;
    assert_eq!((tokens[2].actual - tokens[1].actual).0, 3_000_000_000);
    assert!(tokens[2].planned < tokens[2].actual);
    // The role stands before the first token.
    assert_eq!((response.chunks[3].0 - epoch).as_nanos(), u128::from(tokens[2].actual.0));
}

#[tokio::test(start_paused = true)]
async fn an_early_role_comes_before_the_prefill() {
    let early = shaped(StreamShape { role: RoleChunk::Early, ..StreamShape::default() });
    let epoch = Instant::now();
    let response = Client::connect(&mock_with(tiny(), early)).post(CHAT, BODY).await;
    assert_eq!(response.chunks[0].0, epoch);
    assert!(response.chunks[1].0 > epoch);
    let absent = shaped(StreamShape { role: RoleChunk::Absent, ..StreamShape::default() });
    let events = Client::connect(&mock_with(tiny(), absent)).post(CHAT, BODY).await.json_events();
    assert!(events.iter().all(|event| event["choices"][0]["delta"]["role"].is_null()));
}

#[tokio::test(start_paused = true)]
async fn an_interval_puts_several_tokens_into_an_event() {
    // As captured with an interval of 4 and 18 tokens: 1 + 4 * 4 tokens, then the last with its reason.
    let shape = StreamShape { interval: some(4), ..StreamShape::default() };
    let body = BODY.replace(":10,", ":18,");
    let events = Client::connect(&mock_with(tiny(), shaped(shape))).post(CHAT, &body).await.json_events();
    let words: Vec<usize> = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .map(|text| text.split_whitespace().count())
        .collect();
    assert_eq!(words, [0, 1, 4, 4, 4, 4, 1]);
    let usage = &events.last().unwrap()["usage"];
    assert_eq!((usage["completion_tokens"].as_u64(), usage["prompt_tokens"].as_u64()), (Some(18), Some(6)));
}

#[tokio::test(start_paused = true)]
async fn empty_events_lose_no_text() {
    let shape = StreamShape { empty_every: Some(some(3)), no_usage: true, ..StreamShape::default() };
    let events = Client::connect(&mock_with(tiny(), shaped(shape))).post(CHAT, BODY).await.json_events();
    let words: Vec<usize> = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .map(|text| text.split_whitespace().count())
        .collect();
    assert_eq!(words, [0, 1, 1, 0, 2, 1, 0, 2, 1, 0, 2]);
    assert!(events.iter().all(|event| event["usage"].is_null()));
}

#[tokio::test(start_paused = true)]
async fn ids_come_when_asked_for_and_do_not_wait_for_text() {
    let shape = StreamShape { empty_every: Some(some(3)), no_usage: true, ..StreamShape::default() };
    let asking = BODY.replace("{\"messages", "{\"return_token_ids\":true,\"messages");
    let mut client = Client::connect(&mock_with(tiny(), shaped(shape)));
    let events = client.post(CHAT, &asking).await.json_events();
    let ids = |value: &serde_json::Value| -> Vec<u32> { serde_json::from_value(value.clone()).unwrap() };
    assert_eq!(ids(&events[0]["prompt_token_ids"]).len(), 6);
    let of_events: Vec<Vec<u32>> =
        events[1..].iter().map(|event| ids(&event["choices"][0]["token_ids"])).collect();
    assert_eq!(of_events.iter().map(Vec::len).collect::<Vec<_>>(), [1; 10]);
    let text: String =
        events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(of_events.concat(), plimsoll_mock::tokenizer::encode(&text));
    let whole = client.post(CHAT, &asking.replace("\"stream\":true", "\"stream\":false")).await;
    let whole = whole.json();
    assert_eq!(ids(&whole["choices"][0]["token_ids"]), of_events.concat());
    let events = client.post(CHAT, BODY).await.json_events();
    assert!(events.iter().all(|event| event["choices"][0]["token_ids"].is_null()));
}

#[tokio::test(start_paused = true)]
async fn the_model_ends_by_itself_unless_told_not_to() {
    let faults = Faults { eos_after: Some(some(4)), ..Faults::default() };
    let mut client = Client::connect(&mock_with(tiny(), faults));
    let reason_and_tokens = async |client: &mut Client, body: &str| {
        let events = client.post(CHAT, body).await.json_events();
        let reasons: Vec<_> =
            events.iter().filter_map(|event| event["choices"][0]["finish_reason"].as_str()).collect();
        (reasons.join(","), events.last().unwrap()["usage"]["completion_tokens"].as_u64())
    };
    assert_eq!(reason_and_tokens(&mut client, BODY).await, ("stop".to_owned(), Some(4)));
    let ignoring = BODY.replace("{\"messages", "{\"ignore_eos\":true,\"messages");
    assert_eq!(reason_and_tokens(&mut client, &ignoring).await, ("length".to_owned(), Some(10)));
}

#[tokio::test(start_paused = true)]
async fn a_request_id_stands_in_the_answer_and_the_ledger() {
    let server = mock_with(tiny(), Faults::default());
    let mut client = Client::connect(&server);
    let headers = "content-type: application/json\r\nx-request-id: my-req-42\r\n";
    client.send("POST", CHAT, headers, BODY).await;
    let response = client.receive().await;
    assert_eq!(response.headers["x-request-id"], "my-req-42");
    assert_eq!(response.json_events()[0]["id"], "chatcmpl-my-req-42");
    assert_eq!(server.ledger().requests[0].response_id, "chatcmpl-my-req-42");
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_the_bound_is_refused() {
    let server = mock_with(tiny(), Faults::default());
    let mut client = Client::connect(&server);
    let body = format!(r#"{{"prompt":"{}"}}"#, "a".repeat(17 << 20));
    // The server answers without reading it all, so the body is only announced.
    let headers = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    client.send_raw(&format!("POST /v1/completions HTTP/1.1\r\nhost: mock\r\n{headers}\r\n")).await;
    assert_eq!(client.receive().await.status, 413);
}
