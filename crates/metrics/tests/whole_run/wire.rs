//! What every report of a run must say of how requests and answers travelled.

use crate::server::{has, ms, run, value};
use plimsoll_metrics::{FlagClass, RunData, summarize};
use plimsoll_record::{FailureKind, Outcome, Phase, TargetConditions, TimeLimit};

fn text(run: &RunData, id: &str) -> String {
    let summary = summarize(run);
    let found = summary.flags.iter().chain(summary.levels.iter().flat_map(|l| &l.flags)).find(|f| f.id == id);
    found.map(|flag| flag.text.clone()).unwrap_or_default()
}

#[test]
fn options_that_bear_on_every_number() {
    let mut run = run(&[1, 2], 0);
    for id in [
        "tls_not_verified",
        "retries_on",
        "redirects_followed",
        "proxy",
        "content_encoding",
        "retry_after",
        "request_form",
        "burst",
        "not_streamed",
    ] {
        assert!(!has(&summarize(&run), id), "{id}");
    }
    let total = run.requests.len();
    run.plan.insecure = true;
    run.plan.retries = 2;
    (run.requests[3].retries, run.requests[3].unsent_retries) = (3, 1);
    run.requests[4].redirects = 1;
    run.requests[5].encoding = Some("gzip".to_owned());
    for (index, status, advice) in [(6, 429, 3), (7, 503, 30), (8, 429, 1)] {
        let request = &mut run.requests[index];
        request.outcome = Outcome::Failed { kind: FailureKind::HttpStatus, message: String::new() };
        (request.http_status, request.retry_after_s) = (Some(status), Some(advice));
    }
    run.conditions.server.limit_field = Some("max_completion_tokens".to_owned());
    run.conditions.server.refused_fields = vec!["stream_options".to_owned()];
    run.conditions.environment.targets =
        vec![TargetConditions { proxy: Some("http://p:3128".to_owned()), ..TargetConditions::default() }];
    assert!(text(&run, "tls_not_verified").contains("--insecure"));
    let posts = total + 2;
    assert!(
        text(&run, "retries_on").contains(&format!("1 of {total} requests were tried again, {posts} POSTs"))
    );
    assert!(text(&run, "redirects_followed").contains(&format!("1 of {total} requests, 1.00 hops each")));
    assert!(text(&run, "proxy").contains("http://p:3128"));
    assert!(text(&run, "content_encoding").contains("gzip 1 times"));
    let advice = text(&run, "retry_after");
    assert!(advice.contains("3 requests: 2 with status 429, 1 with status 503; at most 30 s"), "{advice}");
    assert!(advice.contains("Further attempts waited as long as asked"), "{advice}");
    run.plan.retries = 0;
    assert!(text(&run, "retry_after").contains("was not followed"));
    let form = text(&run, "request_form");
    assert!(form.contains("max_completion_tokens in place of max_tokens") && form.contains("stream_options"));
}

#[test]
fn failures_are_counted_by_status() {
    let mut run = run(&[1, 2], 0);
    let mut measured = run.requests.iter_mut().filter(|r| r.phase == Phase::Measure && r.level == 2.into());
    for (kind, status) in [
        (FailureKind::HttpStatus, Some(429)),
        (FailureKind::HttpStatus, Some(503)),
        (FailureKind::HttpStatus, Some(429)),
        (FailureKind::StreamError, Some(200)),
        (FailureKind::HttpStatus, None),
    ] {
        let request = measured.next().unwrap();
        request.outcome = Outcome::Failed { kind, message: String::new() };
        request.http_status = status;
    }
    drop(measured);
    let summary = summarize(&run);
    let found: Vec<(&str, u64)> = summary.levels[1].failures.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    assert_eq!(found, [("http_429", 2), ("http_503", 1), ("http_status", 1), ("stream_error", 1)]);
    assert!(text(&run, "failures").contains("2 http_429, 1 http_503"), "{}", text(&run, "failures"));
}

#[test]
fn time_limits_are_counted_apart() {
    let mut run = run(&[1, 2], 0);
    let mut measured = run.requests.iter_mut().filter(|r| r.phase == Phase::Measure && r.level == 2.into());
    let limits =
        [TimeLimit::Connect, TimeLimit::FirstToken, TimeLimit::Idle, TimeLimit::Idle, TimeLimit::Total];
    for limit in limits.into_iter().map(Some).chain([None]) {
        let request = measured.next().unwrap();
        request.outcome = Outcome::Failed { kind: FailureKind::Timeout, message: String::new() };
        request.time_limit = limit;
    }
    drop(measured);
    let summary = summarize(&run);
    let found: Vec<(&str, u64)> = summary.levels[1].failures.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    // Records that do not tell the limit have the kind alone.
    let expected = [
        ("timeout", 1),
        ("timeout_connect", 1),
        ("timeout_first_token", 1),
        ("timeout_idle", 2),
        ("timeout_total", 1),
    ];
    assert_eq!(found, expected);
    assert!(text(&run, "failures").contains("2 timeout_idle, 1 timeout_total"), "{}", text(&run, "failures"));
}

#[test]
fn answers_that_come_at_once_say_nothing_of_the_server() {
    let mut burst = run(&[1, 2], 0);
    for request in &mut burst.requests {
        let at = request.last_token_ns;
        request.first_token_ns = at;
        request.events.iter_mut().for_each(|event| event.at_ns = at.unwrap());
    }
    burst.plan.slo = Some("ttft p50 < 10s".to_owned());
    let summary = summarize(&burst);
    let flag = summary.levels[0].flags.iter().find(|flag| flag.id == "burst").unwrap();
    assert!(flag.class == FlagClass::Invalid && flag.text.contains("buffering proxy"), "{}", flag.text);
    assert!(!has(&summary, "not_streamed"));
    assert_eq!((value(&summary, 1, "ttft_p50"), value(&summary, 1, "tpot_p50")), (None, None));
    assert!(value(&summary, 1, "e2e_p50").is_some() && value(&summary, 1, "output_tok_s").is_some());
    assert!(summary.slo[0].levels.iter().all(|l| l.verdict == plimsoll_metrics::Verdict::Inconclusive));

    let mut whole = burst;
    whole.requests.iter_mut().for_each(|request| request.events.truncate(1));
    let summary = summarize(&whole);
    assert!(has(&summary, "not_streamed") && !has(&summary, "burst"));
    assert_eq!(value(&summary, 1, "tpot_max"), None);

    // A tenth of the answers that stream are a server that streams.
    let mut mixed = run(&[1, 2], 0);
    for (_, request) in mixed.requests.iter_mut().enumerate().filter(|(index, _)| index % 8 != 0) {
        let at = request.last_token_ns;
        request.first_token_ns = at;
        request.events.iter_mut().for_each(|event| event.at_ns = at.unwrap());
    }
    assert!(!has(&summarize(&mixed), "burst"));
}

#[test]
fn new_connections_make_a_mixture() {
    let mut run = run(&[1], 0);
    for (_, request) in run.requests.iter_mut().enumerate().filter(|(index, _)| index % 10 == 0) {
        (request.conn.connect_ns, request.conn.tls_ns) = (Some(ms(20)), Some(ms(60)));
        request.first_token_ns = request.first_token_ns.map(|at| at + ms(80));
    }
    let summary = summarize(&run);
    assert_eq!(value(&summary, 1, "new_connection_share"), Some(0.1));
    assert_eq!((value(&summary, 1, "connect_max"), value(&summary, 1, "tls_p50")), (Some(0.02), Some(0.06)));
    let flag = text(&run, "new_connections");
    assert!(flag.contains("130.00 ms with a new connection and 50.00 ms without"), "{flag}");
}
