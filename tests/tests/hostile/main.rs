//! Servers that mean harm: whatever they send, a run stays within its bounds of memory and time, goes on, and counts
//! one failed request for each such reply.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

mod server;

use flate2::{Compress, Compression, FlushCompress};
use plimsoll_record::FailureKind;
use server::{FINISH, HEAD, Hostile, TOKEN, USAGE, chunk, endless, good, pause, run, stream, whole};
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

#[test]
fn a_line_without_end() {
    let line = vec![b'x'; 64 << 10];
    let answer = move |socket: &mut TcpStream| {
        socket.write_all(HEAD)?;
        chunk(socket, b"data: ")?;
        loop {
            chunk(socket, &line)?;
        }
    };
    run(Hostile::new(answer), &[]).fails(&[FailureKind::BadPayload, FailureKind::Timeout]);
}

#[test]
fn a_byte_now_and_then() {
    let drip = |socket: &mut TcpStream| {
        socket.write_all(HEAD)?;
        for byte in b": ".iter().chain(std::iter::repeat(&b'z')) {
            chunk(socket, &[*byte])?;
            pause(20);
        }
        Ok(())
    };
    run(Hostile::new(drip), &[]).fails(&[FailureKind::Timeout]);
    let drip_in_the_head = |socket: &mut TcpStream| {
        socket.write_all(b"HTTP/1.1 200 OK\r\nx-slow: ")?;
        loop {
            socket.write_all(b"z")?;
            pause(20);
        }
    };
    run(Hostile::new(drip_in_the_head), &[]).fails(&[FailureKind::Timeout]);
}

/// A gzip stream whose inflated bytes are `bytes` without end.
fn bomb(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut deflate = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 20);
    deflate.compress_vec(bytes, &mut block, FlushCompress::Full).unwrap();
    assert_eq!(deflate.total_in(), bytes.len() as u64);
    (vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], block)
}

#[test]
fn a_gzip_bomb() {
    for bytes in [vec![b'x'; 16 << 20], b"data: {}\n\n".repeat(1 << 18)] {
        let (head, block) = bomb(&bytes);
        let answer = move |socket: &mut TcpStream| {
            socket.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n",
            )?;
            socket.write_all(b"transfer-encoding: chunked\r\n\r\n")?;
            chunk(socket, &head)?;
            loop {
                chunk(socket, &block)?;
            }
        };
        run(Hostile::new(answer), &[]).fails(&[FailureKind::BadPayload, FailureKind::Timeout]);
    }
}

#[test]
fn a_billion_tiny_chunks() {
    // A comment in chunks of one byte each: nothing to count, nothing to end it but time.
    let many = b"1\r\n:\r\n1\r\n\n\r\n".repeat(4096);
    let answer = move |socket: &mut TcpStream| {
        socket.write_all(HEAD)?;
        loop {
            socket.write_all(&many)?;
        }
    };
    run(Hostile::new(answer), &[]).fails(&[FailureKind::Timeout]);
}

#[test]
fn events_without_end() {
    let many = TOKEN.repeat(20_000).into_bytes();
    run(Hostile::new(move |socket| endless(socket, &many)), &[])
        .fails(&[FailureKind::BadPayload, FailureKind::Timeout]);
    // A million in one piece, and a proper end.
    let text = [&TOKEN.repeat(1_000_000), FINISH].concat();
    run(Hostile::new(move |socket| stream(socket, &text)), &[])
        .fails(&[FailureKind::BadPayload, FailureKind::Timeout]);
}

#[test]
fn headers_without_end() {
    let answer = |socket: &mut TcpStream| {
        socket.write_all(b"HTTP/1.1 200 OK\r\n")?;
        for number in 0_u64.. {
            write!(socket, "x-{number}: y\r\n")?;
        }
        Ok(())
    };
    run(Hostile::new(answer), &[]).fails(&[FailureKind::BadPayload, FailureKind::Timeout]);
}

#[test]
fn interim_answers_without_end() {
    let many = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(1000);
    let answer = move |socket: &mut TcpStream| {
        loop {
            socket.write_all(&many)?;
        }
    };
    run(Hostile::new(answer), &[]).fails(&[FailureKind::BadPayload, FailureKind::Timeout]);
}

#[test]
fn an_answer_before_the_request() {
    let answer = |socket: &mut TcpStream| {
        good(socket)?;
        // The request, if it comes, is read and left alone.
        socket.set_read_timeout(Some(Duration::from_secs(2)))?;
        let _ = socket.read(&mut [0; 4096])?;
        Ok(())
    };
    let hostile = Hostile { at_once: true, ..Hostile::new(answer) };
    let run = run(hostile, &[]);
    // How hard the client tries is its matter; every request is counted once, and none is taken for more than it is.
    assert!(
        run.records.iter().all(|record| record.outcome.is_ok() || record.http_status.is_none()),
        "{}",
        run.told
    );
}

#[test]
fn counts_beyond_every_type() {
    let numbers = ["1e300", "-1", "18446744073709551616", "4294967296", "1e400", "\"many\"", "[1]", "0.5"];
    let next = AtomicUsize::new(0);
    let answer = move |socket: &mut TcpStream| {
        let number = numbers[next.fetch_add(1, Ordering::Relaxed) % numbers.len()];
        let usage = format!(
            "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{number},\"completion_tokens\":{number},\"prompt_tokens_details\":{{\"cached_tokens\":{number}}}}}}}\n\n"
        );
        stream(socket, &[TOKEN, FINISH, &usage, "data: [DONE]\n\n"].concat())
    };
    let run = run(Hostile::new(answer), &[]);
    let strange = run.records.iter().filter(|record| record.output_tokens != Some(1)).count();
    assert!(strange >= 3, "{}", run.told);
    assert!(run.records.iter().all(|record| record.text == "ship "));
    for record in &run.records {
        // A number that is none is not known; it is never made into another number.
        assert!(record.output_tokens.is_none_or(|tokens| tokens == 1), "{:?}", record.output_tokens);
    }
}

#[test]
fn json_of_a_million_levels() {
    for piece in ["[", "{\"a\":", "{\"choices\":[{\"delta\":"] {
        let text = format!("{TOKEN}data: {}\n\n{FINISH}{USAGE}", piece.repeat(1_000_000));
        let run = run(Hostile::new(move |socket| stream(socket, &text)), &[]);
        let malformed = run.records.iter().filter(|record| record.malformed == 1).count();
        assert_eq!(malformed, run.harm, "{}", run.told);
        assert!(malformed >= 3);
    }
}

/// No control character but the end of a line.
#[track_caller]
fn harmless(told: &str) {
    let bad: Vec<char> = told.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(bad.is_empty(), "{bad:?} in {told:?}");
}

#[test]
fn control_characters_reach_no_terminal() {
    let evil = "\\u0000\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\\r\\b\\u202e";
    let refused = {
        let body = format!("{{\"error\":{{\"message\":\"no {evil} yes\"}}}}");
        move |socket: &mut TcpStream| whole(socket, "503 \u{1b}[2J", &body)
    };
    let run_of = run(Hostile::new(refused), &[]);
    harmless(&run_of.told);
    let inside = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{evil}\"}},\"finish_reason\":\"{evil}\"}}]}}\n\ndata: {{\"error\":{{\"message\":\"{evil}\",\"code\":\"{evil}\"}}}}\n\n"
    );
    let run_of = run(Hostile::new(move |socket| stream(socket, &inside)), &[]);
    run_of.fails(&[FailureKind::StreamError]);
    harmless(&run_of.told);
    // Raw bytes, not even JSON.
    let raw = |socket: &mut TcpStream| {
        socket.write_all(b"HTTP/1.1 500 Oops\r\nserver: \x1b[31m\r\ncontent-length: 12\r\n\r\n\x00\x1b[2J\x9b31m\xff\x07\r")
    };
    harmless(&run(Hostile::new(raw), &[]).told);
}

#[test]
fn a_location_that_holds_more_than_an_address() {
    for location in [
        "/v1/x%0d%0aevil:%201",
        "/v1/x\tevil: 1",
        "//other.invalid/v1",
        "http://user:secret@127.0.0.1:9/v1?key=secret",
        "file:///etc/passwd",
        "",
    ] {
        let head =
            format!("HTTP/1.1 308 Permanent Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let answer = move |socket: &mut TcpStream| socket.write_all(head.as_bytes());
        for policy in ["refuse", "same-host"] {
            let head = answer.clone();
            let run = run(Hostile::new(head), &["--redirects", policy]);
            let kinds = [FailureKind::HttpStatus, FailureKind::Policy, FailureKind::BadPayload];
            if policy == "refuse" {
                run.fails(&kinds);
            } else {
                // On the same server a redirect may lead anywhere, also to a good answer, or to a connection that it has closed.
                let closed = [FailureKind::Reset, FailureKind::Closed];
                let failed = run.records.iter().filter_map(|record| record.outcome.failure());
                let strange: Vec<_> =
                    failed.filter(|kind| !kinds.contains(kind) && !closed.contains(kind)).collect();
                assert!(strange.is_empty(), "{strange:?}: {}", run.told);
            }
            harmless(&run.told);
            assert!(!run.seen.seen.heads.lock().unwrap().contains("\nevil:"));
            assert!(!run.told.contains("secret"), "{}", run.told);
        }
    }
}

#[test]
fn a_metrics_page_without_end() {
    let line = b"vllm:num_requests_running{model_name=\"m\"} 1\n".repeat(1000);
    let page = move |socket: &mut TcpStream| {
        socket.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        loop {
            chunk(socket, &line)?;
        }
    };
    let mut hostile = Hostile::new(good);
    hostile.page = Some(Box::new(page));
    run(hostile, &[]).is_well();
    // The first pages are good, so that the run counts on them.
    let (pages, line) = (AtomicUsize::new(0), b"x 1\n".repeat(1000));
    let page = move |socket: &mut TcpStream| {
        if pages.fetch_add(1, Ordering::Relaxed) < 8 {
            return whole(socket, "200 OK", "vllm:num_requests_running{model_name=\"m\"} 0\n");
        }
        socket.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        loop {
            chunk(socket, &line)?;
        }
    };
    let mut hostile = Hostile::new(good);
    hostile.page = Some(Box::new(page));
    let run = run(hostile, &["--scrape-interval", "50ms"]);
    assert!(run.records.iter().all(|record| record.outcome.is_ok()), "{}", run.told);
}
