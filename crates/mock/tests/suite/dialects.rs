//! The responses and messages routes, and fields that are refused, seen by a client.

use crate::common::{Client, Response, mock, mock_with, tiny};
use plimsoll_mock::engine::FinishReason;
use plimsoll_mock::{Fault, FaultKind, Faults, RoleChunk, StreamShape};
use plimsoll_record::{Endpoint, EventKind};
use plimsoll_wire::chat::{self, Chunk};
use plimsoll_wire::request::{Input, Message, RequestBody};
use plimsoll_wire::sse::SseDecoder;
use std::num::NonZeroU32;
use tokio::time::Instant;

const ROUTES: [Endpoint; 4] =
    [Endpoint::Chat, Endpoint::Completions, Endpoint::Responses, Endpoint::Messages];

fn request(endpoint: Endpoint, stream: bool) -> String {
    let messages = vec![
        Message { role: "system", content: "be brief" },
        Message { role: "user", content: "one two three" },
    ];
    let mut body = RequestBody::of(endpoint, "tiny", Input::Messages(messages), 6);
    body.stream = stream;
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

/// The chunks of a stream with the instant of each; one event a read.
fn chunks(response: &Response) -> Vec<(Instant, Chunk<'static>)> {
    let mut decoder = SseDecoder::new();
    let mut chunks = Vec::new();
    for (at, bytes) in &response.chunks {
        decoder.push(bytes.as_bytes());
        let event = decoder.next_event().unwrap().unwrap();
        chunks.push((*at, chat::parse_event(event.name, event.data).unwrap().into_owned()));
    }
    chunks
}

fn text(chunks: &[(Instant, Chunk<'_>)]) -> String {
    chunks.iter().flat_map(|(_, chunk)| chunk.texts()).collect()
}

#[tokio::test(start_paused = true)]
async fn streams_are_what_the_ledger_says() {
    for endpoint in ROUTES {
        let server = mock();
        let epoch = Instant::now();
        let response = Client::connect(&server).post(endpoint.path(), &request(endpoint, true)).await;
        assert_eq!((response.status, response.complete), (200, true));
        let chunks = chunks(&response);
        let ledger = server.ledger();
        let entry = &ledger.requests[0];
        assert_eq!((entry.tokens.len(), entry.reason), (6, Some(FinishReason::Length)), "{endpoint:?}");
        // One event a token, each at the instant of its emission.
        let arrivals: Vec<u128> = chunks
            .iter()
            .filter(|(_, chunk)| chunk.kind.is_text())
            .map(|(at, _)| (*at - epoch).as_nanos())
            .collect();
        let emissions: Vec<u128> = entry.tokens.iter().map(|token| u128::from(token.actual.0)).collect();
        assert_eq!(arrivals, emissions, "{endpoint:?}");
        assert_eq!(text(&chunks).split_whitespace().count(), 6);
        let usages = || chunks.iter().filter_map(|(_, chunk)| chunk.usage);
        assert_eq!(usages().filter_map(|usage| usage.completion_tokens).next_back(), Some(6));
        let prompt = usages().filter_map(|usage| usage.prompt_tokens).next_back();
        assert_eq!(prompt, Some(entry.prompt_tokens), "{endpoint:?}");
        assert!(
            chunks.last().unwrap().1.complete
                && chunks.iter().any(|(_, chunk)| chunk.finish_reason.is_some())
        );
        let opens = chunks.iter().filter(|(_, chunk)| chunk.kind == EventKind::Role).count();
        assert!((opens > 0) == (endpoint != Endpoint::Completions), "{endpoint:?}: {opens}");
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_say_what_streams_say() {
    for endpoint in ROUTES {
        let server = mock();
        let mut client = Client::connect(&server);
        let streamed = chunks(&client.post(endpoint.path(), &request(endpoint, true)).await);
        let whole = client.post(endpoint.path(), &request(endpoint, false)).await;
        let bytes = whole.body();
        let body = chat::parse_body(bytes.as_bytes()).unwrap();
        assert_eq!(body.content, text(&streamed), "{endpoint:?}");
        let reason = streamed.iter().find_map(|(_, chunk)| chunk.finish_reason.clone());
        assert_eq!(body.finish_reason, reason);
        assert_eq!(body.usage.unwrap().completion_tokens, Some(6));
    }
}

#[tokio::test(start_paused = true)]
async fn prompts_mean_the_same_on_every_route_with_a_template() {
    let server = mock();
    let mut client = Client::connect(&server);
    let parts = r#"{"model":"tiny","max_tokens":2,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"one two three"}]}]}"#;
    let instructed =
        r#"{"model":"tiny","max_output_tokens":2,"instructions":"be brief","input":"one two three"}"#;
    for (path, body) in [("/v1/messages", parts), ("/v1/responses", instructed)] {
        assert_eq!(client.post(path, body).await.status, 200, "{path}");
    }
    for endpoint in [Endpoint::Chat, Endpoint::Responses, Endpoint::Messages] {
        client.post(endpoint.path(), &request(endpoint, false)).await;
    }
    let prompts: Vec<_> =
        server.ledger().requests.iter().map(|entry| (entry.prompt_tokens, entry.first_block)).collect();
    assert!(prompts.windows(2).all(|pair| pair[0] == pair[1]), "{prompts:?}");
    let ids: Vec<_> = server.ledger().requests.iter().map(|entry| entry.response_id.clone()).collect();
    assert!(ids[0].starts_with("msg_") && ids[1].starts_with("resp_"), "{ids:?}");
}

#[tokio::test(start_paused = true)]
async fn refusals_and_failures_are_told_in_the_dialect() {
    let one = NonZeroU32::MIN;
    let fault = Fault { every: one, kind: FaultKind::ErrorEvent { after_tokens: 2 } };
    let server = mock_with(tiny(), Faults { requests: vec![fault], ..Faults::default() });
    let mut client = Client::connect(&server);
    for endpoint in [Endpoint::Responses, Endpoint::Messages] {
        let response = client.post(endpoint.path(), &request(endpoint, true)).await;
        let chunks = chunks(&response);
        let error = chunks.last().unwrap().1.error.as_ref().unwrap();
        assert!(error.message.starts_with("EngineCore encountered"), "{error:?}");
        let whole = client.post(endpoint.path(), &request(endpoint, false)).await;
        assert_eq!(whole.status, 500);
        assert!(chat::error_message(whole.body().as_bytes()).starts_with("EngineCore encountered"));
    }
    let response = client.post("/v1/messages", r#"{"messages":[{"role":"user","content":"a"}]}"#).await;
    assert_eq!((response.status, response.json()["type"].as_str()), (400, Some("error")));
    assert!(chat::error_message(response.body().as_bytes()).contains("body.max_tokens"));
    assert_eq!(client.post("/v1/responses", "{}").await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn an_early_opening_comes_before_the_prefill() {
    for endpoint in [Endpoint::Responses, Endpoint::Messages] {
        let stream = StreamShape { role: RoleChunk::Early, no_usage: true, ..StreamShape::default() };
        let server = mock_with(tiny(), Faults { stream, ..Faults::default() });
        let epoch = Instant::now();
        let response = Client::connect(&server).post(endpoint.path(), &request(endpoint, true)).await;
        let chunks = chunks(&response);
        assert_eq!(chunks[0].0, epoch);
        let first = chunks.iter().find(|(_, chunk)| chunk.kind.is_text()).unwrap();
        assert!(first.0 > epoch);
        assert!(chunks.iter().all(|(_, chunk)| chunk.usage.is_none()), "{endpoint:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn fields_can_be_refused() {
    let fields = ["max_tokens", "max_completion_tokens", "stream_options"];
    for refused in fields {
        let faults = Faults { refuse_fields: vec![refused.to_owned()], ..Faults::default() };
        let server = mock_with(tiny(), faults);
        let mut client = Client::connect(&server);
        let body = |limit| {
            format!(
                r#"{{"messages":[{{"role":"user","content":"a"}}],"{limit}":2,"stream":true{}}}"#,
                if refused == "stream_options" { r#","stream_options":{"include_usage":true}"# } else { "" }
            )
        };
        let limit = if refused == "stream_options" { "max_tokens" } else { refused };
        let response = client.post("/v1/chat/completions", &body(limit)).await;
        assert_eq!(response.status, 400);
        let told = chat::refused_field(400, response.body().as_bytes(), &fields).unwrap();
        assert_eq!(told.field, refused);
        let other = if refused == "max_tokens" { "max_completion_tokens" } else { "max_tokens" };
        if refused != "stream_options" {
            assert_eq!(client.post("/v1/chat/completions", &body(other)).await.status, 200);
        }
        assert_eq!(server.ledger().refused.len(), 1);
    }
}
