//! The HTTP face against captured replies of a vLLM 0.32.0 (model `tiny`, 2048 tokens).

use crate::common::{Client, capture, mock, payload, shape};
use plimsoll_mock::{Mock, MockConfig};
use serde_json::{Value, json};
use tokio::time::Instant;

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

fn chat(more: Value) -> String {
    merged(
        json!({"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 16}),
        more,
    )
}

fn completion(more: Value) -> String {
    merged(json!({"model": "tiny", "prompt": "hello", "max_tokens": 16}), more)
}

fn merged(mut base: Value, more: Value) -> String {
    let Value::Object(more) = more else { panic!("not an object") };
    base.as_object_mut().unwrap().extend(more);
    base.to_string()
}

fn usage(continuous: bool) -> Value {
    json!({"stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": continuous}})
}

fn shapes<'a>(events: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let parse = |event: &str| match event {
        "[DONE]" => "[DONE]".to_owned(),
        json => shape(&serde_json::from_str(json).unwrap()),
    };
    events.into_iter().map(parse).collect()
}

#[tokio::test(start_paused = true)]
async fn streams_have_the_captured_shape_event_by_event() {
    let cases = [
        ("chat_stream_usage.raw", CHAT, chat(usage(false))),
        ("chat_stream_usage_continuous.raw", CHAT, chat(usage(true))),
        ("chat_stream_nousage.raw", CHAT, chat(json!({"stream": true}))),
        (
            "chat_stream_continuous_only.raw",
            CHAT,
            chat(json!({"stream": true, "stream_options": {"continuous_usage_stats": true}})),
        ),
        ("comp_stream_usage.raw", COMPLETIONS, completion(usage(false))),
        ("comp_stream_nousage.raw", COMPLETIONS, completion(json!({"stream": true}))),
    ];
    let mut client = Client::connect(&mock());
    for (name, path, body) in cases {
        let real = capture(name);
        let ours = client.post(path, &body).await;
        assert_eq!(ours.status, real.status);
        assert_eq!(ours.headers["content-type"], real.headers["content-type"]);
        let real_events: Vec<String> = real.body.split_inclusive("\n\n").map(payload).collect();
        let ours_events = ours.events();
        assert_eq!(
            shapes(ours_events.iter().map(String::as_str)),
            shapes(real_events.iter().map(String::as_str)),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whole_bodies_have_the_captured_shape() {
    let mut client = Client::connect(&mock());
    let no_model = json!({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}).to_string();
    let max_completion = chat(json!({"max_completion_tokens": 5}));
    let unknown_field = chat(json!({"no_such_field": {"a": [1]}}));
    let cases = [
        ("chat_nonstream.raw", CHAT, chat(json!({}))),
        ("err_missing_model.raw", CHAT, no_model),
        ("beh_max_completion_tokens.raw", CHAT, max_completion),
        ("err_unknown_field.raw", CHAT, unknown_field),
        ("comp_nonstream.raw", COMPLETIONS, completion(json!({}))),
        (
            "tokenize.raw",
            "/tokenize",
            json!({"model": "tiny", "prompt": "one two three four five"}).to_string(),
        ),
    ];
    for (name, path, body) in cases {
        let real = capture(name);
        let ours = client.post(path, &body).await;
        assert_eq!(ours.status, real.status, "{name}");
        assert_eq!(ours.headers["content-type"], real.headers["content-type"]);
        let real: Value = serde_json::from_str(&real.body).unwrap();
        assert_eq!(shape(&ours.json()), shape(&real), "{name}");
        assert_eq!(ours.json()["usage"]["completion_tokens"], real["usage"]["completion_tokens"], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_are_the_captured_statuses_and_bodies() {
    let long = "word ".repeat(3000);
    let long_chat = json!({"messages": [{"role": "user", "content": long}]});
    let cases = [
        ("err_bad_model.raw", CHAT, chat(json!({"model": "nope"}))),
        ("err_bad_model_stream.raw", CHAT, chat(json!({"model": "nope", "stream": true}))),
        ("err_malformed_json.raw", CHAT, r#"{"model": "tiny", "messages": ["#.to_owned()),
        ("err_missing_messages.raw", CHAT, r#"{"model": "tiny"}"#.to_owned()),
        ("err_empty_messages.raw", CHAT, chat(json!({"messages": []}))),
        ("err_max_tokens_zero.raw", CHAT, chat(json!({"max_tokens": 0}))),
        ("err_max_tokens_zero_comp.raw", COMPLETIONS, completion(json!({"max_tokens": 0}))),
        ("err_max_tokens_neg.raw", CHAT, chat(json!({"max_tokens": -1}))),
        ("err_max_tokens_too_large.raw", CHAT, chat(json!({"max_tokens": 100_000}))),
        ("err_max_tokens_too_large_comp.raw", COMPLETIONS, completion(json!({"max_tokens": 100_000}))),
        ("err_prompt_too_long_chat.raw", CHAT, chat(long_chat.clone())),
        ("err_prompt_too_long_comp.raw", COMPLETIONS, completion(json!({"prompt": long}))),
        ("err_temperature_range.raw", CHAT, chat(json!({"temperature": -3}))),
        ("err_bad_type_temperature.raw", CHAT, chat(json!({"temperature": "hot"}))),
        ("edge_empty_prompt.raw", COMPLETIONS, completion(json!({"prompt": ""}))),
        ("err_404.raw", "/v1/nothing", String::new()),
    ];
    let server = mock();
    let mut client = Client::connect(&server);
    for (name, path, body) in cases {
        let real = capture(name);
        let ours = client.post(path, &body).await;
        assert_eq!((ours.status, ours.body()), (real.status, real.body), "{name}");
        assert_eq!(ours.headers["content-type"], real.headers["content-type"]);
    }
    assert!(server.ledger().requests.is_empty());
    assert_eq!(server.ledger().refused.len(), 15);

    let real = capture("err_405.raw");
    let ours = client.get(CHAT).await;
    assert_eq!((ours.status, ours.body()), (real.status, real.body));
    assert_eq!(ours.headers["allow"], real.headers["allow"]);

    let real = capture("err_wrong_content_type.raw");
    client.send("POST", CHAT, "content-type: text/plain\r\n", &chat(json!({}))).await;
    let ours = client.receive().await;
    assert_eq!((ours.status, ours.body()), (real.status, real.body));
}

#[tokio::test(start_paused = true)]
async fn pages_have_the_captured_shape() {
    let mut client = Client::connect(&mock());
    for (name, path) in [
        ("get_health.raw", "/health"),
        ("get_ping.raw", "/ping"),
        ("get_version.raw", "/version"),
        ("get_models.raw", "/v1/models"),
    ] {
        let (real, ours) = (capture(name), client.get(path).await);
        assert_eq!(ours.status, real.status, "{name}");
        assert_eq!(ours.headers.get("content-type"), real.headers.get("content-type"), "{name}");
        if real.body.is_empty() {
            assert_eq!(ours.body(), "");
        } else {
            assert_eq!(shape(&ours.json()), shape(&serde_json::from_str(&real.body).unwrap()), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_guards_v1_and_nothing_else() {
    let config = MockConfig {
        engine: crate::common::tiny(),
        api_key: Some("sesame".to_owned()),
        ..MockConfig::default()
    };
    assert!(!format!("{config:?}").contains("sesame"));
    let server = Mock::new(config, Instant::now()).unwrap();
    let mut client = Client::connect(&server);
    for (name, key) in [("unauth_none.raw", ""), ("unauth_bad.raw", "authorization: Bearer wrong\r\n")] {
        let real = capture(name);
        let headers = format!("content-type: application/json\r\n{key}");
        client.send("POST", CHAT, &headers, &chat(json!({}))).await;
        let ours = client.receive().await;
        assert_eq!((ours.status, ours.body()), (real.status, real.body));
    }
    assert_eq!(client.get("/v1/models").await.status, 401);
    for path in ["/health", "/version", "/metrics"] {
        assert_eq!(client.get(path).await.status, 200);
    }
    client.send("GET", "/v1/models", "authorization: Bearer sesame\r\n", "").await;
    assert_eq!(client.receive().await.status, 200);
}
