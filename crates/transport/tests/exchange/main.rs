//! Exchanges with a scripted server over an in-memory pipe, in paused time: every stamp is exact.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

mod script;

use bytes::Bytes;
use plimsoll_record::{
    EventKind::{Content, Done, Empty, Role, Usage},
    FailureKind, Nanos, Outcome,
};
use plimsoll_transport::{Clock, Limits, Trace};
use script::{END, HEAD, Step, delta, event, failure, finish, ms, one, post, slot, slot_with, write};
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn each_event_is_stamped_when_it_was_read_and_only_text_is_a_token() {
    let trace = one(vec![
        Step::Request,
        Step::Wait(5),
        write(HEAD),
        event(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#),
        Step::Wait(295),
        delta("Hi"),
        Step::Wait(10),
        event(r#"{"choices":[{"delta":{"content":""}}]}"#),
        Step::Wait(10),
        delta(" there"),
        Step::Wait(500),
        event(r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}"#),
        Step::Wait(1),
        event("[DONE]"),
        Step::Wait(2),
        write(END),
        Step::Hang,
    ])
    .await;
    assert_eq!(trace.outcome, Some(Outcome::Ok));
    assert_eq!((trace.sent, trace.head, trace.first_event), (ms(0), ms(5), ms(5)));
    assert_eq!((trace.first_token, trace.last_token, trace.end), (ms(300), ms(320), ms(823)));
    assert_eq!((trace.input_tokens, trace.output_tokens, trace.cached_tokens), (Some(7), Some(3), Some(2)));
    assert_eq!(trace.text, "Hi there");
    let events: Vec<_> = trace.events.iter().map(|event| (event.at_ns.0 / 1_000_000, event.kind)).collect();
    assert_eq!(events, [(5, Role), (300, Content), (310, Empty), (320, Content), (820, Usage), (821, Done)]);
    assert_eq!(trace.client_lag, Nanos::ZERO);
}

#[tokio::test(start_paused = true)]
async fn events_of_one_read_are_marked_as_coalesced() {
    let Step::Write(first) = delta("a") else { unreachable!() };
    let Step::Write(second) = delta("b") else { unreachable!() };
    let trace = one(vec![
        Step::Request,
        write(HEAD),
        Step::Wait(10),
        write(&(first + &second)),
        Step::Wait(10),
        delta("c"),
        finish(),
        write(END),
    ])
    .await;
    let marks: Vec<_> =
        trace.events.iter().map(|event| (event.at_ns.0 / 1_000_000, event.coalesced)).collect();
    assert_eq!(marks[..3], [(10, false), (10, true), (20, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_count_with_each_event_gives_its_tokens() {
    let chunk = |text: &str, total: u32| {
        event(&format!(
            r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}],"usage":{{"completion_tokens":{total}}}}}"#
        ))
    };
    let trace = one(vec![
        Step::Request,
        write(HEAD),
        Step::Wait(10),
        chunk("", 1),
        Step::Wait(10),
        chunk("ab", 4),
        finish(),
        event(r#"{"choices":[],"usage":{"completion_tokens":4}}"#),
        event("[DONE]"),
        write(END),
    ])
    .await;
    let tokens: Vec<_> = trace.events.iter().map(|event| event.tokens).collect();
    assert_eq!(tokens, [Some(1), Some(3), None, None, None]);
    assert_eq!((trace.first_token, trace.last_token), (ms(10), ms(20)));
}

#[tokio::test(start_paused = true)]
async fn a_count_that_comes_once_at_the_end_is_no_token_of_its_event() {
    let trace = one(vec![
        Step::Request,
        write(HEAD),
        Step::Wait(10),
        delta("ab"),
        Step::Wait(10),
        delta("cd"),
        Step::Wait(500),
        event(r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"completion_tokens":4}}"#),
        event("[DONE]"),
        write(END),
    ])
    .await;
    assert!(trace.events.iter().all(|event| event.tokens.is_none()), "{:?}", trace.events);
    assert_eq!((trace.first_token, trace.last_token, trace.output_tokens), (ms(10), ms(20), Some(4)));
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept_while_it_lives_and_replaced_when_it_is_stale() {
    let answer = || [Step::Request, write(HEAD), delta("x"), finish(), write(END)];
    let first: Vec<Step> = answer().into_iter().chain(answer()).collect();
    let mut slot = slot(vec![first, answer().to_vec()]);
    let clock = Clock::start();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let trace = post(&mut slot, clock).await;
        assert_eq!(trace.outcome, Some(Outcome::Ok));
        seen.push((trace.conn.reused, trace.conn.connect_ns.is_some()));
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(seen, [(false, true), (true, false), (false, true)]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_lingers_after_done_does_not_hold_the_answer() {
    let trace =
        one(vec![Step::Request, write(HEAD), Step::Wait(100), delta("x"), event("[DONE]"), Step::Hang]).await;
    assert_eq!((trace.outcome, trace.end), (Some(Outcome::Ok), ms(100)));
}

#[tokio::test(start_paused = true)]
async fn ends_without_evidence_are_failures_of_their_own_kinds() {
    let cut = one(vec![Step::Request, write(HEAD), delta("x"), write(END)]).await;
    assert_eq!(failure(&cut).0, FailureKind::Truncated);
    assert_eq!(cut.text, "x");
    let torn = one(vec![Step::Request, write(HEAD), delta("x"), Step::Wait(5)]).await;
    assert_eq!(failure(&torn).0, FailureKind::Truncated);
    let closed = one(vec![Step::Request]).await;
    assert_eq!(failure(&closed).0, FailureKind::Closed);
    let empty = one(vec![Step::Request, write(HEAD), finish(), event("[DONE]"), write(END)]).await;
    assert_eq!(failure(&empty).0, FailureKind::Empty);
    let no_event = one(vec![Step::Request, write(HEAD), write(END)]).await;
    assert_eq!(failure(&no_event).0, FailureKind::Empty);
}

#[tokio::test(start_paused = true)]
async fn a_finish_reason_and_a_clean_end_need_no_done() {
    let trace = one(vec![Step::Request, write(HEAD), delta("x"), finish(), write(END)]).await;
    assert_eq!((trace.outcome, trace.finish_reason.as_deref()), (Some(Outcome::Ok), Some("stop")));
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_the_stream_is_kept_in_the_servers_words() {
    let script = vec![
        Step::Request,
        write(HEAD),
        delta("x"),
        event(r#"{"error":{"message":"the engine is busy","code":503}}"#),
        event("[DONE]"),
        write(END),
    ];
    let trace = one(script).await;
    let (kind, message) = failure(&trace);
    assert_eq!(kind, FailureKind::StreamError);
    assert!(message.contains("the engine is busy") && message.contains("503"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_no_stream() {
    let whole = |status: &str, media: &str, body: &str| {
        vec![
            Step::Request,
            write(&format!(
                "HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )),
        ]
    };
    let refused =
        one(whole("404 Not Found", "application/json", r#"{"error":{"message":"no such model"}}"#)).await;
    assert_eq!(failure(&refused), (FailureKind::HttpStatus, "HTTP 404: no such model"));
    assert_eq!(refused.http_status, Some(404));
    let moved = one(vec![
        Step::Request,
        write("HTTP/1.1 308 Permanent Redirect\r\nlocation: http://other/v1\r\ncontent-length: 0\r\n\r\n"),
    ])
    .await;
    let (kind, message) = failure(&moved);
    assert!(
        kind == FailureKind::HttpStatus && message.contains("308") && message.contains("http://other/v1")
    );
    let error = one(whole("200 OK", "application/json", r#"{"error":{"message":"quota exceeded"}}"#)).await;
    assert_eq!(failure(&error), (FailureKind::StreamError, "quota exceeded"));
    let lying = one(whole("200 OK", "text/event-stream", r#"{"error":{"message":"quota exceeded"}}"#)).await;
    assert_eq!(failure(&lying), (FailureKind::StreamError, "quota exceeded"));
    let html = one(whole("200 OK", "text/html", "<html><body>Hello</body></html>")).await;
    assert_eq!(failure(&html).0, FailureKind::BadPayload);
    let json = r#"{"choices":[{"message":{"content":"all at once"},"finish_reason":"stop"}],"usage":{"completion_tokens":3}}"#;
    let unstreamed = one(whole("200 OK", "application/json", json)).await;
    assert_eq!(failure(&unstreamed).0, FailureKind::BadPayload);
    assert_eq!((unstreamed.first_token, unstreamed.text.as_str()), (None, "all at once"));
    let plain = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    let mislabelled = one(whole("200 OK", "text/plain", plain)).await;
    assert_eq!(mislabelled.outcome, Some(Outcome::Ok));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cut_off_keeps_what_it_saw() {
    let mut slot = slot(vec![vec![Step::Request, write(HEAD), Step::Wait(10), delta("x"), Step::Hang]]);
    let clock = Clock::start();
    let mut trace = Trace::default();
    let limit = Duration::from_millis(50);
    assert!(
        tokio::time::timeout(limit, slot.post(Bytes::from_static(b"{}"), clock, &mut trace)).await.is_err()
    );
    slot.cut_off(clock, &mut trace, FailureKind::Timeout, "too slow");
    assert_eq!(failure(&trace), (FailureKind::Timeout, "too slow"));
    assert_eq!((trace.sent, trace.first_token, trace.end), (ms(0), ms(10), ms(50)));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cut_off_before_it_was_sent_takes_no_stamp_of_the_one_before() {
    let answer =
        vec![Step::Request, write(HEAD), delta("x"), finish(), write(END), Step::Request, Step::Hang];
    let (mut slot, clock) = (slot(vec![answer]), Clock::start());
    let first = post(&mut slot, clock).await;
    assert_eq!((first.outcome, first.sent), (Some(Outcome::Ok), ms(0)));
    sleep(Duration::from_millis(10)).await;
    let mut trace = Trace::default();
    drop(slot.post(Bytes::from_static(b"{}"), clock, &mut trace));
    slot.cut_off(clock, &mut trace, FailureKind::Cancelled, "stopped");
    assert_eq!((trace.sent, trace.end), (None, ms(10)));
}

#[tokio::test(start_paused = true)]
async fn what_a_server_sends_is_bounded() {
    let flood: Vec<Step> =
        [Step::Request, write(HEAD)].into_iter().chain((0..20).map(|_| delta("word "))).collect();
    let bounds = Limits { events: 10, ..Limits::default() };
    let trace = post(&mut slot_with(vec![flood.clone()], bounds), Clock::start()).await;
    assert_eq!((failure(&trace).0, trace.events.len()), (FailureKind::BadPayload, 10));
    let bounds = Limits { text: 7, ..Limits::default() };
    let trace = post(&mut slot_with(vec![flood], bounds), Clock::start()).await;
    assert_eq!((trace.text.as_str(), trace.text_cut), ("word wo", true));
    let long = vec![Step::Request, write(HEAD), delta(&"x".repeat(5000)), finish(), write(END)];
    let bounds = Limits { line: 4096, ..Limits::default() };
    let trace = post(&mut slot_with(vec![long], bounds), Clock::start()).await;
    assert_eq!(failure(&trace).0, FailureKind::BadPayload);
}

#[tokio::test(start_paused = true)]
async fn malformed_frames_are_counted_and_are_no_tokens() {
    let script =
        vec![Step::Request, write(HEAD), event(": GATEWAY"), Step::Wait(5), delta("x"), finish(), write(END)];
    let trace = one(script).await;
    assert_eq!((trace.outcome.as_ref(), trace.malformed, trace.first_token), (Some(&Outcome::Ok), 1, ms(5)));
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_where_its_dialect_ends_it() {
    let messages = vec![
        Step::Request,
        write(HEAD),
        event(r#"{"type":"message_start","message":{"usage":{"input_tokens":4,"output_tokens":1}}}"#),
        Step::Wait(20),
        event(r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#),
        event(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#),
        event(r#"{"type":"message_stop"}"#),
        Step::Hang,
    ];
    let responses = vec![
        Step::Request,
        write(HEAD),
        event(r#"{"type":"response.created","response":{"status":"in_progress"}}"#),
        Step::Wait(20),
        event(r#"{"type":"response.output_text.delta","delta":"a"}"#),
        event(
            r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":4,"output_tokens":9}}}"#,
        ),
        Step::Hang,
    ];
    for script in [messages, responses] {
        let trace = one(script).await;
        assert_eq!(trace.outcome, Some(Outcome::Ok));
        assert_eq!((trace.input_tokens, trace.output_tokens, trace.text.as_str()), (Some(4), Some(9), "a"));
        assert_eq!(trace.first_token, Some(Nanos(20_000_000)));
    }
}

#[tokio::test(start_paused = true)]
async fn token_ids_count_the_tokens_of_an_event() {
    let ids = |text: &str, ids: &str| {
        event(&format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}},"token_ids":{ids}}}]}}"#))
    };
    let script = vec![
        Step::Request,
        write(HEAD),
        event(r#"{"choices":[{"delta":{"role":"assistant","content":""}}],"prompt_token_ids":[1,2]}"#),
        ids("ab", "[5,6]"),
        Step::Wait(10),
        // A token whose text is still to come is one all the same.
        ids("", "[7]"),
        event(r#"{"choices":[],"usage":{"completion_tokens":3}}"#),
        event("[DONE]"),
        write(END),
    ];
    let trace = one(script).await;
    let tokens: Vec<_> = trace.events.iter().map(|event| event.tokens).collect();
    assert_eq!(tokens, [None, Some(2), Some(1), None, None]);
    assert_eq!(trace.last_token, Some(Nanos(10_000_000)));
    assert_eq!((trace.input_tokens, trace.output_tokens, trace.output_ids), (Some(2), Some(3), Some(3)));
}

#[tokio::test(start_paused = true)]
async fn text_without_ids_leaves_their_number_unknown() {
    let script = vec![
        Step::Request,
        write(HEAD),
        event(r#"{"choices":[{"text":"a","token_ids":[5],"prompt_token_ids":[1,2,3]}]}"#),
        event(r#"{"choices":[{"text":"b","token_ids":null}]}"#),
        event(r#"{"choices":[{"text":"c","token_ids":[6],"finish_reason":"stop"}]}"#),
        event("[DONE]"),
        write(END),
    ];
    let trace = one(script).await;
    assert_eq!((trace.input_tokens, trace.output_tokens, trace.output_ids), (Some(3), None, None));
}
