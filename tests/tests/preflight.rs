//! What is found out before the load: the form of requests that a server takes, what it tells, and whether several
//! servers are alike.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use plimsoll_mock::{Faults, MockConfig, StreamShape, spawn_thread};
use plimsoll_record::{Conditions, Plan, RequestRecord, TokenSource, files, read_lines};
use plimsoll_tests::{Ended, Program, TempDir};
use serde_json::{Value, json};
use std::{fmt::Write, fs, num::NonZeroU32, path::PathBuf};
use tokio::time::Instant;
use wiremock::{
    Mock, MockServer, Request, Respond, ResponseTemplate,
    matchers::{method, path},
};

/// A server that refuses fields.
#[derive(Clone, Default)]
struct Picky {
    refuses: Vec<&'static str>,
    /// Tokens of one event; 0 stands for 1.
    per_event: u64,
    /// Knows `continuous_usage_stats`.
    continuous: bool,
    /// Knows `return_token_ids`.
    ids: bool,
    /// Answers with one JSON body whatever is asked for.
    whole: bool,
}

impl Respond for Picky {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let sent = |field: &str| body.get(field).is_some() || body["stream_options"].get(field).is_some();
        if let Some(field) = self.refuses.iter().find(|field| sent(field)) {
            // As FastAPI and OpenAI word it, in turn.
            let error = if field.len() % 2 == 0 {
                json!({"detail": [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted"}]})
            } else {
                let message = format!("Unsupported parameter: '{field}' is not supported with this model.");
                json!({"error": {"message": message, "type": "invalid_request_error", "param": field}})
            };
            return ResponseTemplate::new(400).set_body_json(error);
        }
        let limit = ["max_tokens", "max_completion_tokens"].iter().find_map(|name| body[*name].as_u64());
        let tokens = limit.unwrap_or(7);
        let usage =
            |done: u64| json!({"prompt_tokens": 11, "completion_tokens": done, "total_tokens": 11 + done});
        if self.whole {
            let choice = json!({"index": 0, "message": {"role": "assistant", "content": "a b"}, "finish_reason": "length"});
            return ResponseTemplate::new(200)
                .set_body_json(json!({"choices": [choice], "usage": usage(tokens)}));
        }
        let mut text = String::new();
        let mut done = 0;
        while done < tokens {
            let now = self.per_event.max(1).min(tokens - done);
            done += now;
            let reason = if done == tokens { json!("length") } else { Value::Null };
            let mut choice = json!({"index": 0, "delta": {"content": " word".repeat(now as usize)}, "finish_reason": reason});
            if self.ids && body["return_token_ids"] == true {
                choice["token_ids"] = json!((0..now).collect::<Vec<_>>());
            }
            let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "choices": [choice]});
            if self.continuous && body["stream_options"]["continuous_usage_stats"] == true {
                chunk["usage"] = usage(done);
            }
            write!(text, "data: {chunk}\n\n").unwrap();
        }
        if body["stream_options"]["include_usage"] == true {
            write!(text, "data: {}\n\n", json!({"choices": [], "usage": usage(tokens)})).unwrap();
        }
        text.push_str("data: [DONE]\n\n");
        ResponseTemplate::new(200).set_body_raw(text, "text/event-stream")
    }
}

async fn server(model: &str, version: &str, picky: Picky) -> MockServer {
    let server = MockServer::start().await;
    let models = ResponseTemplate::new(200).set_body_json(json!({"data": [{"id": model}]}));
    Mock::given(path("/v1/models")).respond_with(models).mount(&server).await;
    let version = ResponseTemplate::new(200).set_body_json(json!({"version": version}));
    Mock::given(path("/version")).respond_with(version).mount(&server).await;
    Mock::given(method("POST")).respond_with(picky).mount(&server).await;
    server
}

/// A small sweep; its folder, if it made one.
async fn sweep(urls: Vec<String>, more: &'static [&'static str]) -> (Ended, Option<Folder>) {
    tokio::task::spawn_blocking(move || {
        let out = TempDir::new("preflight");
        let urls = urls.join(",");
        let args =
            ["sweep", "--url", &urls, "--concurrency", "2", "--requests", "6", "--output-tokens", "12"];
        let all = [&args[..], &["--out", out.str()], more].concat();
        let ended = Program::new(&all).env("PLIMSOLL_TEST_TEAM", "hunter2-hunter2").run();
        let made = fs::read_dir(out.path()).unwrap().next().map(|entry| entry.unwrap().path());
        (ended, made.map(|path| Folder { path, _out: out }))
    })
    .await
    .unwrap()
}

struct Folder {
    path: PathBuf,
    _out: TempDir,
}

impl Folder {
    fn conditions(&self) -> Conditions {
        serde_json::from_slice(&fs::read(self.path.join(files::CONDITIONS)).unwrap()).unwrap()
    }

    fn requests(&self) -> Vec<RequestRecord> {
        read_lines(&fs::read(self.path.join(files::REQUESTS)).unwrap()).records
    }
}

/// The bodies of the generating requests, in the order in which they came.
async fn bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    let posts = requests.iter().filter(|request| request.method.as_str() == "POST");
    posts.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_field_is_found_once_and_no_measured_request_is_refused() {
    for (field, more, note) in [
        ("stream_options", &[][..], "it may send no usage"),
        ("max_tokens", &[], "requests say max_completion_tokens instead"),
        ("temperature", &[], "it samples as its own default says"),
        ("ignore_eos", &["--ignore-eos"], "answers may end before --output-tokens"),
        ("min_tokens", &["--ignore-eos"], "answers may end before --output-tokens"),
    ] {
        let server = server("m", "1", Picky { refuses: vec![field], ..Picky::default() }).await;
        let (ended, folder) = sweep(vec![server.uri()], more).await;
        assert_eq!(ended.code, Some(0), "{field}: {ended:?}");
        assert!(ended.stderr.contains(note), "{field}: {}", ended.stderr);
        let folder = folder.unwrap();
        let told = folder.conditions().server;
        let expected = if field == "min_tokens" { "ignore_eos" } else { field };
        assert_eq!(told.refused_fields, [expected]);
        let limit = if field == "max_tokens" { "max_completion_tokens" } else { "max_tokens" };
        assert_eq!(told.limit_field.as_deref(), Some(limit));
        assert!(folder.requests().iter().all(|record| record.outcome.is_ok()), "{field}");
        let sent = bodies(&server).await;
        let refused = sent.iter().filter(|body| body.get(field).is_some()).count();
        assert!((1..=2).contains(&refused), "{field} was sent {refused} times");
        assert!(sent.last().unwrap().get(field).is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_refused_fields_are_found_one_after_another() {
    let refuses = vec!["stream_options", "max_tokens", "temperature"];
    let server = server("m", "1", Picky { refuses, ..Picky::default() }).await;
    let (ended, folder) = sweep(vec![server.uri()], &[]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = folder.unwrap().conditions().server;
    assert_eq!(told.refused_fields, ["stream_options", "temperature", "max_tokens"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_every_limit_is_given_up_before_the_load() {
    let refuses = vec!["max_tokens", "max_completion_tokens"];
    let server = server("m", "1", Picky { refuses, ..Picky::default() }).await;
    let (ended, folder) = sweep(vec![server.uri()], &[]).await;
    assert!(folder.is_none());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("every other name of it that is known"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_stream_is_told_before_the_load() {
    let server = server("m", "1", Picky { whole: true, ..Picky::default() }).await;
    let (ended, folder) = sweep(vec![server.uri()], &[]).await;
    assert!(folder.is_none());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("the server did not stream"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_events_hold_several_tokens_their_numbers_are_asked_for() {
    for (picky, field) in [
        (
            Picky { per_event: 4, continuous: true, ids: true, ..Picky::default() },
            Some("continuous_usage_stats"),
        ),
        (Picky { per_event: 4, ids: true, ..Picky::default() }, Some("return_token_ids")),
        (
            Picky { per_event: 4, refuses: vec!["continuous_usage_stats"], ids: true, ..Picky::default() },
            Some("return_token_ids"),
        ),
        (Picky { per_event: 4, ..Picky::default() }, None),
    ] {
        let server = server("m", "1", picky).await;
        let (ended, folder) = sweep(vec![server.uri()], &[]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let folder = folder.unwrap();
        let told = folder.conditions().server;
        assert_eq!(told.usage_per_event, field == Some("continuous_usage_stats"));
        assert_eq!(told.token_ids, field == Some("return_token_ids"));
        for record in folder.requests() {
            let tokens: Option<Vec<u32>> =
                record.events.iter().filter(|event| event.kind.is_text()).map(|event| event.tokens).collect();
            assert_eq!(tokens, field.map(|_| vec![4, 4, 4]), "{field:?}");
            assert_eq!(record.output_tokens, Some(12));
        }
        let last = bodies(&server).await.pop().unwrap().to_string();
        for extra in ["continuous_usage_stats", "return_token_ids"] {
            assert_eq!(last.contains(extra), field == Some(extra), "{last}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_usage_is_sent_the_ids_are_counted() {
    for (route, interval) in [("chat", 1), ("completions", 4)] {
        let interval = NonZeroU32::new(interval).unwrap();
        let shape = StreamShape { no_usage: true, interval, ..StreamShape::default() };
        let faults = Faults { stream: shape, ..Faults::default() };
        let mock = spawn_thread(MockConfig { faults, ..MockConfig::default() }, Instant::now()).unwrap();
        let route: &'static [&'static str] =
            if route == "chat" { &["--endpoint", "chat"] } else { &["--endpoint", "completions"] };
        let (ended, folder) = sweep(vec![mock.url()], route).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let folder = folder.unwrap();
        let told = folder.conditions().server;
        assert!(told.token_ids && !told.stream_usage, "{told:?}");
        for record in folder.requests() {
            assert_eq!((record.output_tokens, record.token_source), (Some(12), TokenSource::TokenIds));
            assert_eq!(
                record.input_tokens, record.asked_input_tokens,
                "the calibration knows the prompt's ids"
            );
        }
        let summary: Value =
            serde_json::from_slice(&fs::read(folder.path.join(files::SUMMARY)).unwrap()).unwrap();
        assert_eq!(summary["reconciliation"]["state"], "match", "{}", summary["reconciliation"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_an_event_is_a_token_nothing_more_is_asked_for() {
    let server = server("m", "1", Picky { continuous: true, ids: true, ..Picky::default() }).await;
    let (_, folder) = sweep(vec![server.uri()], &[]).await;
    let told = folder.unwrap().conditions().server;
    assert!(!told.usage_per_event && !told.token_ids && told.stream_usage);
    let sent = bodies(&server).await;
    assert!(sent.iter().all(|body| !body.to_string().contains("continuous_usage_stats")));
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_differ_are_told_and_those_without_the_model_refused() {
    let (a, b) = (server("m", "1", Picky::default()).await, server("m", "2", Picky::default()).await);
    let (ended, folder) = sweep(vec![a.uri(), b.uri()], &[]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("the servers differ in version"), "{}", ended.stderr);
    let environment = folder.unwrap().conditions().environment;
    let urls: Vec<&str> = environment.targets.iter().map(|target| target.url.trim_end_matches('/')).collect();
    assert_eq!(urls, [a.uri(), b.uri()]);
    for target in &environment.targets {
        assert_eq!((target.http.as_deref(), target.tls.as_deref()), (Some("1.1"), None));
        assert!(target.connect_ns.is_some() && target.dns_ns.is_some() && target.addresses.len() == 1);
    }
    let limits = environment.limits;
    assert!(limits.files_needed < limits.files_allowed, "{limits:?}");
    assert_eq!(limits.ports_needed, Some(2), "each of two slots has a connection to each server");
    assert!(limits.ports_allowed > Some(100), "{limits:?}");
    let other = server("another", "1", Picky::default()).await;
    let (ended, folder) = sweep(vec![a.uri(), other.uri()], &[]).await;
    assert!(folder.is_none());
    assert!(ended.stderr.contains("does not serve `m`; it serves `another`"), "{}", ended.stderr);
}

/// A redirect of the pages that are asked before the load names its location, and is followed only as the policy says.
#[tokio::test(flavor = "multi_thread")]
async fn redirects_of_the_first_pages_are_named_or_followed() {
    let server = MockServer::start().await;
    let moved = |to: &str| ResponseTemplate::new(307).insert_header("location", to);
    Mock::given(path("/v1/models")).respond_with(moved("/moved/models?k=secret")).mount(&server).await;
    Mock::given(path("/metrics"))
        .respond_with(moved("http://127.0.0.2:1/page?k=secret"))
        .mount(&server)
        .await;
    let models = ResponseTemplate::new(200).set_body_json(json!({"data": [{"id": "m"}]}));
    Mock::given(path("/moved/models")).respond_with(models).mount(&server).await;
    Mock::given(method("POST")).respond_with(Picky::default()).mount(&server).await;
    let (ended, folder) = sweep(vec![server.uri()], &[]).await;
    assert!(folder.is_none());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let told = "HTTP 307: redirected to /moved/models; follow it with --redirects same-host";
    assert!(ended.stderr.contains(told) && !ended.stderr.contains("secret"), "{}", ended.stderr);
    let (ended, folder) = sweep(vec![server.uri()], &["--redirects", "same-host"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(folder.unwrap().conditions().server.model, "m");
    let told = "status 307: redirected to http://127.0.0.2:1/page, another server";
    assert!(ended.stderr.contains(told) && !ended.stderr.contains("secret"), "{}", ended.stderr);
    let uri = server.uri();
    let checked = |more: &'static [&'static str]| {
        let uri = uri.clone();
        let run = move || Program::new(&[&["check", "--url", &uri, "--requests", "0"], more].concat()).run();
        tokio::task::spawn_blocking(run)
    };
    let ended = checked(&[]).await.unwrap();
    assert!(ended.stdout.contains("HTTP 307: redirected to /moved/models; follow it with"), "{ended:?}");
    let ended = checked(&["--redirects", "same-host"]).await.unwrap();
    assert!(ended.stdout.contains("serves `m`"), "{ended:?}");
    assert!(
        ended.stdout.contains("HTTP 307 (redirected to http://127.0.0.2:1/page; if the page"),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_reach_the_server_and_their_secrets_nothing_else() {
    const HEADER: &str = "X-Team-Token: env:PLIMSOLL_TEST_TEAM";
    let server = server("m", "1", Picky::default()).await;
    let (ended, folder) = sweep(vec![server.uri()], &["--header", HEADER, "--header", "X-Trace: on"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let requests = server.received_requests().await.unwrap();
    for request in requests.iter().filter(|request| request.url.path().starts_with("/v1/")) {
        assert_eq!(request.headers["x-team-token"], "hunter2-hunter2");
        assert_eq!(request.headers["x-trace"], "on");
    }
    let folder = folder.unwrap();
    for entry in fs::read_dir(&folder.path).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("hunter2"), "{}", path.display());
    }
    assert!(!format!("{ended:?}").contains("hunter2"));
    let plan: Plan = toml::from_str(&fs::read_to_string(folder.path.join(files::PLAN)).unwrap()).unwrap();
    assert_eq!(plan.header, [HEADER, "X-Trace: on"]);
}

/// A server that repeats what it was sent, in an error and in an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_the_server_repeats_is_not_shown() {
    let server = MockServer::start().await;
    let echo = |request: &Request| {
        let secret = request.headers.get("x-team-token").map(|value| value.to_str().unwrap().to_owned());
        let key = request.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
        ResponseTemplate::new(403)
            .set_body_json(json!({"error": {"message": format!("no: {secret:?} {key:?}")}}))
    };
    Mock::given(method("GET")).respond_with(echo).mount(&server).await;
    Mock::given(method("POST")).respond_with(echo).mount(&server).await;
    let args = &["--header", "X-Team-Token: env:PLIMSOLL_TEST_TEAM", "--api-key-env", "PLIMSOLL_TEST_TEAM"];
    let (ended, folder) = sweep(vec![server.uri()], args).await;
    assert!(folder.is_none());
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("403") && !ended.stderr.contains("hunter2"), "{}", ended.stderr);
}
