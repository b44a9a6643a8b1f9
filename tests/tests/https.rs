//! A sweep through HTTPS and HTTP/2: nginx with a private authority's certificate before the mock.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use plimsoll_mock::{MockConfig, MockHandle, spawn_thread};
use plimsoll_record::{Conditions, EventKind, RequestRecord, files, read_lines};
use plimsoll_tests::{Ended, Nginx, Program, TempDir};
use std::{fs, path::PathBuf};
use tokio::time::Instant;

/// The mock and nginx before it; says when that cannot be.
fn front() -> Option<(MockHandle, Nginx)> {
    let mock = spawn_thread(MockConfig::default(), Instant::now()).unwrap();
    let nginx = Nginx::start(&mock.url());
    if nginx.is_none() {
        println!("skipped 1 test: nginx is not installed (Debian: nginx-light)");
    }
    Some((mock, nginx?))
}

fn sweep(url: &str, out: &TempDir, more: &[&str]) -> Ended {
    let args = ["sweep", "--url", url, "--concurrency", "1,4", "--requests", "24", "--warmup", "4"];
    let lengths = ["--input-tokens", "16", "--output-tokens", "11", "--out", out.str()];
    Program::new(&[&args[..], &lengths, more].concat()).run()
}

fn folder(out: &TempDir) -> PathBuf {
    let mut folders = fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.next().unwrap();
    assert!(folders.next().is_none());
    folder
}

#[test]
fn a_sweep_over_http2_loses_no_event() {
    let Some((mock, nginx)) = front() else { return };
    let mut seen = 0;
    for (http, used, want) in [("2", "HTTP/2.0", "2"), ("1", "HTTP/1.1", "1.1")] {
        let before = nginx.log().len();
        let out = TempDir::new("https");
        let ca = Nginx::ca_file();
        let ended = sweep(&nginx.url(), &out, &["--ca-file", ca.to_str().unwrap(), "--http", http]);
        assert_eq!(ended.code, Some(0), "{ended:?}");

        let log = nginx.log();
        let log = &log[before..];
        let posts: Vec<_> =
            log.iter().filter(|line| line.contains(" POST /v1/chat/completions 200")).collect();
        assert!(log.iter().all(|line| line.starts_with(used)), "{http}: {log:?}");

        let folder = folder(&out);
        let conditions: Conditions =
            serde_json::from_slice(&fs::read(folder.join(files::CONDITIONS)).unwrap()).unwrap();
        let target = &conditions.environment.targets[0];
        assert_eq!((target.http.as_deref(), target.tls.as_deref()), (Some(want), Some("1.3")));
        assert!(target.tls_ns.is_some() && target.connect_ns.is_some());

        let lines = fs::read(folder.join(files::REQUESTS)).unwrap();
        let records: Vec<RequestRecord> = read_lines(&lines).records;
        assert!(records.len() >= 48 && posts.len() >= records.len(), "{} {}", records.len(), posts.len());
        for record in &records {
            assert!(record.outcome.is_ok(), "{record:?}");
            let tokens = record.events.iter().filter(|event| event.kind == EventKind::Content).count();
            assert_eq!((tokens, record.output_tokens), (11, Some(11)), "{record:?}");
            seen += 1;
        }
        assert!(records.iter().filter(|record| record.conn.reused).count() > records.len() / 2);
    }
    // Each record has as many events as its request has tokens in the mock's ledger. Before each load one request of
    // the same length asks how the server answers.
    let ledger = mock.stop();
    let load: Vec<_> = ledger.requests.iter().filter(|entry| entry.max_tokens == 11).collect();
    assert!(load.iter().all(|entry| entry.tokens.len() == 11));
    assert_eq!(load.len(), seen + 2);
}

#[test]
fn an_authority_that_is_not_trusted_ends_the_run_before_the_load() {
    let Some((mock, nginx)) = front() else { return };
    let out = TempDir::new("https");
    let ended = sweep(&nginx.url(), &out, &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    for part in ["localhost", "unknown issuer", "--ca-file", "--insecure"] {
        assert!(ended.stderr.contains(part), "`{part}` is not in {}", ended.stderr);
    }
    assert!(nginx.log().is_empty() && mock.stop().requests.is_empty());

    let mock = spawn_thread(MockConfig::default(), Instant::now()).unwrap();
    let nginx = Nginx::start(&mock.url()).unwrap();
    let ended = sweep(&nginx.url(), &out, &["--insecure"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("insecure") || ended.stderr.contains("insecure"), "{ended:?}");
}
