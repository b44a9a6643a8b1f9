//! `plimsoll check` against servers that are well, ill, or none.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use plimsoll_mock::{Fault, FaultKind, Faults, MockConfig, MockHandle, StreamShape, spawn_thread};
use plimsoll_tests::{Ended, Program};
use std::num::NonZeroU32;
use tokio::time::Instant;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

fn mock(faults: Faults) -> MockHandle {
    spawn_thread(MockConfig { faults, ..MockConfig::default() }, Instant::now()).unwrap()
}

fn check(url: &str, more: &[&str]) -> Ended {
    let args = [
        "check",
        "--url",
        url,
        "--requests",
        "12",
        "--concurrency",
        "4",
        "--output-tokens",
        "5",
        "--timeout",
        "10s",
    ];
    Program::new(&[&args, more].concat()).run()
}

/// The row whose name begins with `name`.
#[track_caller]
fn row<'a>(ended: &'a Ended, name: &str) -> &'a str {
    let rows = ended.stdout.lines().filter(|line| line.get(6..).is_some_and(|rest| rest.starts_with(name)));
    let found: Vec<&str> = rows.collect();
    assert_eq!(found.len(), 1, "rows of {name} in {ended:?}");
    found[0]
}

#[test]
fn a_server_that_is_well_passes_every_row_with_right_figures() {
    let mock = mock(Faults::default());
    let ended = check(&mock.url(), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in ["12: 12 ok, 0 failed", "mean 5.0, 5 to 5 (usage)", "E2E p99             withheld: n = 12"] {
        assert!(ended.stdout.contains(part), "`{part}` is not in {}", ended.stdout);
    }
    for name in [
        "connection",
        "GET /health",
        "GET /v1/models",
        "GET /version",
        "chat, streamed",
        "completions, streamed",
        "refuses an unknown model",
        "refuses malformed JSON",
        "refuses an empty request",
    ] {
        assert!(row(&ended, name).starts_with("pass"), "{}", ended.stdout);
    }
    assert!(!ended.stdout.contains("FAIL"));
}

#[test]
fn what_a_stream_lacks_is_a_warning() {
    let shape = StreamShape { no_usage: true, ..StreamShape::default() };
    let bare = mock(Faults { stream: shape, ..Faults::default() });
    let ended = check(&bare.url(), &["--requests", "0"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        row(&ended, "chat, streamed").starts_with("WARN")
            && row(&ended, "chat, streamed").contains("no usage")
    );
    let shape = StreamShape { interval: NonZeroU32::new(4).unwrap(), ..StreamShape::default() };
    let merged = mock(Faults { stream: shape, ..Faults::default() });
    assert!(
        row(&check(&merged.url(), &["--requests", "0"]), "completions, streamed")
            .contains("several tokens come in one event")
    );
}

#[test]
fn the_form_of_requests_is_found_as_a_sweep_finds_it_and_every_address_is_asked_in_it() {
    let picky = |fields: &[&str]| {
        let refuse_fields = fields.iter().map(|field| (*field).to_owned()).collect();
        mock(Faults { refuse_fields, ..Faults::default() })
    };
    let other_name = picky(&["max_tokens"]);
    let ended = check(&other_name.url(), &[]);
    let chat = row(&ended, "chat, streamed");
    assert!(
        chat.starts_with("pass") && chat.contains("say max_completion_tokens instead"),
        "{}",
        ended.stdout
    );
    assert!(row(&ended, "chat ").starts_with("pass"), "{}", ended.stdout);
    assert!(ended.stdout.contains("12: 12 ok, 0 failed"), "{}", ended.stdout);

    let without = picky(&["stream_options", "temperature"]);
    let ended = check(&without.url(), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let chat = row(&ended, "chat, streamed");
    assert!(chat.starts_with("WARN"), "{chat}");
    for field in ["refuses stream_options", "refuses temperature"] {
        assert!(chat.contains(field), "{chat}");
    }
    assert!(ended.stdout.contains("12: 12 ok, 0 failed"), "{}", ended.stdout);

    let (plain, alike) = (mock(Faults::default()), mock(Faults::default()));
    let ended = check(&[plain.url(), without.url(), alike.url()].join(","), &["--requests", "0"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let refused = row(&ended, &without.url());
    assert!(refused.starts_with("FAIL") && refused.contains("400"), "{refused}");
    assert!(row(&ended, &alike.url()).starts_with("pass"), "{}", ended.stdout);
}

#[test]
fn a_server_that_fails_every_request_fails() {
    let fault = Fault { every: NonZeroU32::MIN, kind: FaultKind::Status(503) };
    let mock = mock(Faults { requests: vec![fault], ..Faults::default() });
    let ended = check(&mock.url(), &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        row(&ended, "chat ").starts_with("FAIL") && row(&ended, "chat ").contains("503"),
        "{}",
        ended.stdout
    );
}

#[test]
fn failures_of_the_load_are_counted_by_kind_and_stay_out_of_the_figures() {
    // The check sends 4 answers and up to 3 refusals before the load; every fifth request of all fails.
    let fault = Fault { every: NonZeroU32::new(5).unwrap(), kind: FaultKind::Status(503) };
    let mock = mock(Faults { requests: vec![fault], ..Faults::default() });
    let ended = check(&mock.url(), &["--requests", "10"]);
    let line = ended.stdout.lines().find(|line| line.trim_start().starts_with("requests ")).unwrap();
    assert!(line.contains("10: 8 ok, failed: 2 http_status"), "{line}");
    assert!(row(&ended, "small load").starts_with("WARN"));
}

#[test]
fn nobody_listens_or_the_model_is_another() {
    let ended = check("http://127.0.0.1:9", &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(row(&ended, "connection").starts_with("FAIL"));
    let mock = mock(Faults::default());
    let ended = check(&mock.url(), &["--model", "gpt-9"]);
    assert_eq!(ended.code, Some(3));
    assert!(row(&ended, "GET /v1/models").contains("serves `mock`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_everything_is_warned_of_and_its_words_cannot_move_the_cursor() {
    let server = MockServer::start().await;
    let body = "{\"data\":[{\"id\":\"m\\u001b[2J\"}],\"choices\":[{\"text\":\"a\",\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}";
    Mock::given(any()).respond_with(ResponseTemplate::new(200).set_body_string(body)).mount(&server).await;
    let url = server.uri();
    let ended = tokio::task::spawn_blocking(move || check(&url, &["--requests", "2"])).await.unwrap();
    assert!(row(&ended, "refuses an unknown model").starts_with("WARN"), "{}", ended.stdout);
    assert!(row(&ended, "chat ").contains("no usage"));
    assert!(row(&ended, "chat, streamed").starts_with("FAIL"), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'));
    assert!(ended.stdout.contains("output tok/s        not known"));
}
