//! The ledger, the client's stamps and the metrics page tell the same story.

use crate::common::{Client, Response, mock, mock_with, tiny};
use plimsoll_mock::engine::FinishReason;
use plimsoll_mock::{Faults, Ledger, LedgerEntry, Mock};
use plimsoll_record::{MockEngine, Nanos, Span};
use std::collections::BTreeMap;
use tokio::time::{Duration, Instant, sleep};

const CHAT: &str = "/v1/chat/completions";

fn body(words: &str, max_tokens: u32) -> String {
    format!(
        r#"{{"messages":[{{"role":"user","content":"{words}"}}],"max_tokens":{max_tokens},"stream":true,"stream_options":{{"include_usage":true}}}}"#
    )
}

fn samples(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// Value of a series without labels beyond engine and model.
fn series(page: &BTreeMap<String, f64>, name: &str) -> f64 {
    page[&format!("vllm:{name}{{engine=\"0\",model_name=\"tiny\"}}")]
}

fn seconds(times: impl Iterator<Item = Nanos>) -> f64 {
    times.map(Nanos::as_secs_f64).sum()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[tokio::test(start_paused = true)]
async fn a_client_sees_the_ledgers_instants() {
    let epoch = Instant::now();
    let server = mock();
    let mut client = Client::connect(&server);
    sleep(Duration::from_millis(100)).await;
    // 3 words and 5 tokens of the template: prefill 10 + 8, steps of 5.
    let response = client.post(CHAT, &body("one two three", 4)).await;
    let ledger = server.ledger();
    let [entry] = ledger.requests.as_slice() else { panic!("one request") };
    assert_eq!((entry.prompt_tokens, entry.arrival), (8, Nanos::from_millis(100)));
    let planned: Vec<u64> = entry.tokens.iter().map(|token| token.planned.0 / 1_000_000).collect();
    assert_eq!(planned, [123, 128, 133, 138]);
    let stamps: Vec<u128> = response.chunks.iter().map(|(at, _)| (*at - epoch).as_nanos()).collect();
    let actual: Vec<u128> = entry.tokens.iter().map(|token| u128::from(token.actual.0)).collect();
    // Role with the first token, usage and [DONE] with the last.
    assert_eq!(stamps, [actual[0], actual[0], actual[1], actual[2], actual[3], actual[3], actual[3]]);
    assert!(entry.tokens.iter().all(|token| token.planned == token.actual));
    assert_eq!((entry.ttft(), entry.e2e()), (Some(Nanos::from_millis(23)), Some(Nanos::from_millis(38))));
}

#[tokio::test(start_paused = true)]
async fn times_between_milliseconds_are_emitted_at_the_next_and_do_not_drift() {
    let engine = MockEngine {
        decode_base: Span::new(Duration::from_micros(4_300)),
        decode_per_seq: Span::from_millis(0),
        ..tiny()
    };
    let server = mock_with(engine, Faults::default());
    Client::connect(&server).post(CHAT, &body("one", 100)).await;
    let ledger = server.ledger();
    for (k, token) in (1..).zip(&ledger.requests[0].tokens) {
        // Prefill 10 + 6, then k steps.
        assert_eq!(token.planned, Nanos(16_000_000 + k * 4_300_000));
        assert_eq!(token.actual.0, token.planned.0.next_multiple_of(1_000_000));
    }
}

#[tokio::test(start_paused = true)]
async fn text_is_a_word_a_token_and_the_same_streamed_or_not() {
    let server = mock();
    let mut client = Client::connect(&server);
    let streamed = client.post(CHAT, &body("one two", 7)).await;
    let text: String = streamed
        .json_events()
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(text.split(' ').filter(|word| !word.is_empty()).count(), 7);
    let whole = client.post(CHAT, &body("one two", 7).replace("true", "false")).await.json();
    assert_eq!(whole["choices"][0]["message"]["content"], text.as_str());
    let other = client.post(CHAT, &body("one three", 7).replace("true", "false")).await.json();
    assert_ne!(other["choices"][0]["message"]["content"], text.as_str());
}

/// `clients` closed loops of `each` requests.
async fn closed_loop(server: &Mock, clients: u32, each: u32) -> Vec<Response> {
    let mut tasks = Vec::new();
    for client in 0..clients {
        let mut connection = Client::connect(server);
        tasks.push(tokio::spawn(async move {
            let mut responses = Vec::new();
            for k in 0..each {
                let words = format!("client{client} request{k} {}", "word ".repeat(30));
                responses.push(connection.post(CHAT, &body(&words, 5 + (client + k) % 7)).await);
            }
            responses
        }));
    }
    let mut responses = Vec::new();
    for task in tasks {
        responses.extend(task.await.unwrap());
    }
    responses
}

#[tokio::test(start_paused = true)]
async fn the_page_is_the_ledger_summed() {
    let server = mock();
    let responses = closed_loop(&server, 6, 5).await;
    assert!(responses.iter().all(|response| response.status == 200 && response.complete));
    let ledger = server.ledger();
    let page = samples(&Client::connect(&server).get("/metrics").await.body());
    let requests = &ledger.requests;
    assert_eq!(requests.len(), 30);
    assert!(requests.iter().all(|entry| entry.completed() && entry.tokens.len() as u32 == entry.max_tokens));
    let sum = |of: fn(&LedgerEntry) -> u32| requests.iter().map(|entry| f64::from(of(entry))).sum::<f64>();
    let exact = [
        ("generation_tokens_total", ledger.emitted_tokens() as f64),
        ("prompt_tokens_total", sum(|entry| entry.prompt_tokens)),
        ("prefix_cache_queries_total", sum(|entry| entry.prompt_tokens)),
        ("prefix_cache_hits_total", sum(|entry| entry.cached_tokens)),
        ("num_requests_running", 0.0),
        ("num_requests_waiting", 0.0),
        ("kv_cache_usage_perc", 0.0),
        ("time_to_first_token_seconds_count", 30.0),
        ("e2e_request_latency_seconds_count", 30.0),
        ("inter_token_latency_seconds_count", ledger.emitted_tokens() as f64 - 30.0),
        ("request_params_max_tokens_sum", sum(|entry| entry.max_tokens)),
        ("iteration_tokens_total_sum", sum(|entry| entry.prompt_tokens + entry.max_tokens - 1)),
    ];
    for (name, value) in exact {
        assert!(close(series(&page, name), value), "{name}: {} and {value}", series(&page, name));
    }
    let first = |entry: &LedgerEntry| entry.tokens[0].actual;
    let last = |entry: &LedgerEntry| entry.tokens[entry.tokens.len() - 1].actual;
    let admitted = |entry: &LedgerEntry| entry.admission.unwrap();
    let times = [
        ("time_to_first_token", seconds(requests.iter().map(|e| first(e) - e.arrival))),
        ("inter_token_latency", seconds(requests.iter().map(|e| last(e) - first(e)))),
        ("e2e_request_latency", seconds(requests.iter().map(|e| last(e) - e.arrival))),
        ("request_queue_time", seconds(requests.iter().map(|e| admitted(e) - e.arrival))),
        ("request_prefill_time", seconds(requests.iter().map(|e| first(e) - admitted(e)))),
        ("request_decode_time", seconds(requests.iter().map(|e| last(e) - first(e)))),
        ("request_inference_time", seconds(requests.iter().map(|e| last(e) - admitted(e)))),
    ];
    for (name, value) in times {
        assert!(close(series(&page, &format!("{name}_seconds_sum")), value), "{name}");
        assert!(value > 0.0, "{name}");
    }
    // Six clients for four slots.
    assert!(requests.iter().any(|entry| admitted(entry) > entry.arrival + Nanos::from_millis(20)));
}

#[tokio::test(start_paused = true)]
async fn gauges_show_the_batch_and_the_queue() {
    let server = mock();
    let load = server.clone();
    let load = tokio::spawn(async move { closed_loop(&load, 6, 2).await });
    sleep(Duration::from_millis(60)).await;
    let page = samples(&Client::connect(&server).get("/metrics").await.body());
    assert!(close(series(&page, "num_requests_running"), 4.0));
    assert!(close(series(&page, "num_requests_waiting"), 2.0));
    // 4 prompts of 32 words and 5 of the template: 3 blocks each, of 8192.
    assert!(close(series(&page, "kv_cache_usage_perc"), 12.0 / 8192.0));
    load.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_up_is_an_abort() {
    let server = mock();
    let mut client = Client::connect(&server);
    client.send("POST", CHAT, "content-type: application/json\r\n", &body("one", 50)).await;
    client.hang_up_after(4).await;
    // Not streamed, given up before the answer.
    let mut client = Client::connect(&server);
    let whole = body("two", 50).replace("true", "false");
    client.send("POST", CHAT, "content-type: application/json\r\n", &whole).await;
    sleep(Duration::from_millis(50)).await;
    drop(client);
    sleep(Duration::from_millis(5)).await;
    // Long before either would have ended by itself.
    assert!(close(series(&samples(&server.metrics()), "num_requests_running"), 0.0));
    sleep(Duration::from_secs(2)).await;
    let ledger = server.ledger();
    assert!(ledger.requests.iter().all(|entry| entry.aborted() && entry.tokens.len() < 20));
    assert!(ledger.requests[0].tokens.len() >= 3);
    let page = samples(&server.metrics());
    let aborts = r#"vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny"}"#;
    assert!(close(page[aborts], 2.0));
    assert!(close(series(&page, "e2e_request_latency_seconds_count"), 0.0));
    assert!(close(series(&page, "generation_tokens_total"), ledger.emitted_tokens() as f64));
    assert!(close(series(&page, "num_requests_running"), 0.0));
}

fn run_once() -> (Ledger, Vec<Vec<String>>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let server = mock();
        let responses = closed_loop(&server, 9, 6).await;
        (server.ledger(), responses.iter().map(Response::events).collect())
    })
}

#[test]
fn under_a_paused_clock_runs_repeat_to_the_byte_and_nanosecond() {
    let first = run_once();
    assert_eq!(first.0.requests.len(), 54);
    assert_eq!(first, run_once());
}

/// Four slots, half a second a request: X = min(N, 4) / 0.5, over HTTP.
#[tokio::test(start_paused = true)]
async fn a_closed_loop_over_http_has_the_throughput_of_the_asymptotic_bounds() {
    let half_second = MockEngine {
        prefill_base: Span::from_millis(0),
        prefill_per_token: Span::from_millis(0),
        decode_base: Span::from_millis(50),
        decode_per_seq: Span::from_millis(0),
        ..tiny()
    };
    for (clients, throughput) in [(1, 2), (2, 4), (4, 8), (5, 8), (16, 8), (32, 8)] {
        let server = mock_with(half_second.clone(), Faults::default());
        let load: Vec<_> = (0..clients)
            .map(|_| {
                let mut connection = Client::connect(&server);
                tokio::spawn(async move {
                    loop {
                        connection.post(CHAT, &body("one", 10)).await;
                    }
                })
            })
            .collect();
        sleep(Duration::from_secs(20)).await;
        for task in load {
            task.abort();
        }
        let window = Nanos::from_millis(5_000)..Nanos::from_millis(15_000);
        let ended = |entry: &&LedgerEntry| {
            entry.reason == Some(FinishReason::Length) && entry.finish.is_some_and(|at| window.contains(&at))
        };
        assert_eq!(server.ledger().requests.iter().filter(ended).count(), throughput * 10, "N = {clients}");
    }
}
