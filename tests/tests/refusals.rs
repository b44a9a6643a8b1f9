//! Bad input from outside: each ends with its exit code and one line that says what was wrong and what to do.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use plimsoll_mock::{MockConfig, MockHandle, spawn_thread};
use plimsoll_tests::{Ended, Program, TempDir};
use std::{
    io::{Read, Write},
    net::TcpListener,
};
use tokio::time::Instant;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

const KEY: &str = "PLIMSOLL_TEST_KEY";

fn mock(api_key: Option<&str>) -> MockHandle {
    let config = MockConfig { api_key: api_key.map(str::to_owned), ..MockConfig::default() };
    spawn_thread(config, Instant::now()).unwrap()
}

/// A small sweep of `url` with more arguments.
fn sweep(url: &str, more: &[&str]) -> Ended {
    let out = TempDir::new("refused");
    let args = [
        "sweep",
        "--url",
        url,
        "--concurrency",
        "1",
        "--requests",
        "2",
        "--output-tokens",
        "2",
        "--out",
        out.str(),
    ];
    let ended = Program::new(&[&args, more].concat()).env(KEY, "right-key").run();
    if ended.code == Some(2) || ended.code == Some(3) {
        assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0, "a refused run leaves no folder");
    }
    ended
}

#[track_caller]
fn refused(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let error = ended.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in {ended:?}");
    }
    assert_eq!(ended.stderr.matches("error: ").count(), 1, "{ended:?}");
    assert_eq!(ended.stdout, "", "{ended:?}");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn nobody_listens() {
    let url = format!("http://127.0.0.1:{}", free_port());
    refused(&sweep(&url, &[]), 3, &[&url, "refused", "is the server up"]);
}

/// What a server with TLS says to plain HTTP: an alert, `unexpected_message`, and the end (RFC 8446, 6).
#[test]
fn a_port_that_speaks_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let read = socket.read(&mut [0; 4096]).unwrap();
            if read > 0 {
                socket.write_all(&[0x15, 3, 1, 0, 2, 2, 10]).unwrap();
            }
        }
    });
    refused(&sweep(&url, &[]), 3, &[&url, "speaks TLS at that port, write https:// in the address"]);
    let checked = Program::new(&["check", "--url", &url]).run();
    assert!(checked.stdout.contains("write https:// in the address"), "{checked:?}");
}

#[test]
fn what_is_wrong_with_the_way_begins_with_its_flag() {
    let proxy = format!("http://127.0.0.1:{}", free_port());
    let of_proxy = sweep("http://127.0.0.1:9", &["--proxy", &proxy]);
    refused(&of_proxy, 3, &["error: --proxy: cannot connect to 127.0.0.1", "is the proxy up"]);
    let unknown = sweep("http://127.0.0.1:9", &["--proxy", "http://no-such-host.invalid:1"]);
    refused(&unknown, 3, &["error: --proxy: ", "no-such-host.invalid"]);
    let tls = |flags: &[&str]| sweep("https://127.0.0.1:9", flags);
    refused(&tls(&["--ca-file", "/none.pem"]), 2, &["error: --ca-file: ", "/none.pem"]);
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/tls");
    let (cert, key) = (format!("{fixtures}/client.pem"), format!("{fixtures}/client.key"));
    let pair = |cert: &str, key: &str| tls(&["--client-cert", cert, "--client-key", key]);
    refused(&pair("/none.pem", &key), 2, &["error: --client-cert: ", "/none.pem"]);
    refused(&pair(&cert, "/none.key"), 2, &["error: --client-key: ", "/none.key"]);
    let other = format!("{fixtures}/stranger.pem");
    refused(&pair(&other, &key), 2, &["error: --client-cert: ", "cannot be used"]);
}

#[test]
fn a_host_that_is_none() {
    refused(&sweep("http://no-such-host.invalid:8000", &[]), 3, &["no-such-host.invalid"]);
}

#[test]
fn an_address_that_is_none() {
    refused(&sweep("http://:80", &[]), 2, &["--url", "host"]);
    refused(&sweep("http://user:pass@127.0.0.1", &[]), 2, &["--url", "credentials"]);
    assert!(!sweep("http://user:pass@127.0.0.1", &[]).stderr.contains("pass@"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_kind() {
    let page = ResponseTemplate::new(200).set_body_string("<html><body>It works!</body></html>");
    for (template, part) in [
        (page, "OpenAI-compatible"),
        (ResponseTemplate::new(404), "404"),
        (ResponseTemplate::new(200).set_body_string("{\"data\":[]}"), "names none"),
    ] {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(template).mount(&server).await;
        let url = server.uri();
        let ended = tokio::task::spawn_blocking(move || sweep(&url, &[])).await.unwrap();
        refused(&ended, 3, &[part]);
    }
}

/// Something listens, but speaks no HTTP.
#[test]
fn a_port_of_another_protocol() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::Write;
        for socket in listener.incoming() {
            let _ = socket.and_then(|mut socket| socket.write_all(b"SSH-2.0-OpenSSH_9.6\r\n"));
        }
    });
    refused(&sweep(&url, &[]), 3, &["HTTP"]);
}

/// A server that accepts and says nothing: Ctrl-C need not wait for it.
#[test]
fn ctrl_c_before_the_load_ends_at_once_and_leaves_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let out = TempDir::new("stopped-early");
    let started = Program::new(&["sweep", "--url", &url, "--timeout", "1h", "--out", out.str()]).start();
    let held = listener.accept().unwrap();
    started.signal(rustix::process::Signal::INT);
    refused(&started.wait(), 4, &["before the load began"]);
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
    drop(held);
}

#[test]
fn a_model_that_it_does_not_have() {
    let mock = mock(None);
    refused(&sweep(&mock.url(), &["--model", "gpt-9"]), 3, &["gpt-9", "`mock`"]);
}

#[test]
fn a_key_that_is_wrong_missing_or_unset() {
    let mock = mock(Some("another-key"));
    let url = mock.url();
    let wrong = sweep(&url, &["--api-key-env", KEY]);
    refused(&wrong, 3, &["401", "--api-key-env"]);
    assert!(!wrong.stderr.contains("right-key"));
    refused(&sweep(&url, &[]), 3, &["401", "--api-key-env"]);
    refused(&sweep(&url, &["--api-key-env", "PLIMSOLL_UNSET"]), 2, &["PLIMSOLL_UNSET is not set"]);
}

#[test]
fn flags_that_are_wrong() {
    let mock = mock(None);
    let url = mock.url();
    for (more, parts) in [
        (&["--concurrency", "0"][..], &["--concurrency: 0"][..]),
        (&["--concurrency", "1,x"], &["--concurrency", "'x'"]),
        (&["--requests", "0"], &["--requests"]),
        (&["--duration", "5s"], &["--requests", "--duration", "exclude"]),
        (&["--input-tokens", "300-200"], &["--input-tokens", "300-200"]),
        (&["--temperature", "7"], &["--temperature"]),
        (&["--timeout", "0s"], &["--timeout"]),
        (&["--no-such-flag"], &["--no-such-flag"]),
        (&["--prompts", "/no/such/file"], &["/no/such/file"]),
        (&["--system", "/no/such/file"], &["/no/such/file"]),
        (&["--plan", "/no/such/file"], &["/no/such/file"]),
        (&["--input-tokens", "9000"], &["--input-tokens", "8192"]),
    ] {
        refused(&sweep(&url, more), 2, parts);
    }
}

#[test]
fn a_sentence_that_cannot_be_parsed_is_shown_with_its_place() {
    let mock = mock(None);
    let ended = sweep(&mock.url(), &["--slo", "at 10: tfft p95 < 1s"]);
    refused(&ended, 2, &["--slo"]);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let sentence = lines.iter().position(|line| line.contains("at 10: tfft p95 < 1s")).unwrap();
    let column = lines[sentence].find("tfft").unwrap();
    assert_eq!(lines[sentence + 1].find('^'), Some(column), "{}", ended.stderr);
}

#[test]
fn unknown_keys_of_a_plan() {
    let mock = mock(None);
    let folder = TempDir::new("plan");
    let plan = folder.file("plan.toml", "requests = 4\nconcurency = [1]\n");
    refused(
        &sweep(&mock.url(), &["--plan", plan.to_str().unwrap()]),
        2,
        &["plan.toml:2:1: unknown field `concurency`"],
    );
}

#[test]
fn a_prompt_file_without_a_usable_line() {
    let mock = mock(None);
    let folder = TempDir::new("prompts");
    let prompts = folder.file("prompts.jsonl", "{\"prompt\": 7}\n{broken\n");
    refused(&sweep(&mock.url(), &["--prompts", prompts.to_str().unwrap()]), 2, &["prompts.jsonl"]);
}

#[test]
fn a_prompt_file_with_broken_lines_is_used_and_they_are_counted() {
    let mock = mock(None);
    let folder = TempDir::new("prompts");
    let good = "{\"prompt\": \"What is a load line?\"}\n{\"prompt\": \"Who was Plimsoll?\"}\n";
    let prompts = folder.file("prompts.jsonl", &format!("{good}{{broken\n{{\"prompt\": 7}}\n"));
    let out = TempDir::new("broken-lines");
    let args =
        ["sweep", "--url", &mock.url(), "--concurrency", "1", "--requests", "3", "--output-tokens", "2"];
    let more = ["--prompts", prompts.to_str().unwrap(), "--out", out.str()];
    let ended = Program::new(&[&args[..], &more].concat()).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let folder = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    let conditions = std::fs::read(folder.join("conditions.json")).unwrap();
    let conditions: plimsoll_record::Conditions = serde_json::from_slice(&conditions).unwrap();
    assert_eq!(conditions.prompts.usable, Some(2));
    assert_eq!(conditions.prompts.skipped.values().sum::<u64>(), 2, "{:?}", conditions.prompts.skipped);
}

#[test]
fn folders_that_are_no_runs() {
    let empty = TempDir::new("empty");
    for (path, part) in [("/no/such/folder", "/no/such/folder"), (empty.str(), "plan.toml")] {
        refused(&Program::new(&["report", path]).run(), 2, &[part]);
    }
}

#[test]
fn a_port_that_is_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    refused(&Program::new(&["mock", "--port", &port]).run(), 2, &[&port, "--port"]);
}

#[test]
fn help_is_no_error() {
    for args in [
        &["--help"][..],
        &["sweep", "--help"],
        &["check", "--help"],
        &["mock", "--help"],
        &["report", "-h"],
        &["--version"],
    ] {
        let ended = Program::new(args).run();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(ended.stdout.contains("plimsoll"), "{args:?}");
    }
}
