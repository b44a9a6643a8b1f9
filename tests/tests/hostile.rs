//! Servers that mean harm: whatever they send, a run stays within its bounds of memory and time, goes on, and counts
//! one failed request for each such reply.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

use flate2::{Compress, Compression, FlushCompress};
use plimsoll_record::{FailureKind, RequestRecord, read_lines};
use plimsoll_tests::{Program, TempDir};
use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Peak resident memory of the client, KiB: four times its longest line (64 MiB) and what it takes itself.
const MEMORY: u64 = 320 << 10;
/// Time for a whole run of twelve requests of at most a second each, and what comes before them.
const TIME: Duration = Duration::from_mins(1);
/// Planned requests.
const REQUESTS: usize = 12;
/// Requests that are answered well before every second one is not: those before the load, and one of it.
const GOOD_FIRST: usize = 7;

type Answer = dyn Fn(&mut TcpStream) -> io::Result<()> + Send + Sync;

/// What the server was asked, and how often it did harm.
#[derive(Default)]
struct Seen {
    posts: AtomicUsize,
    harm: AtomicUsize,
    heads: Mutex<String>,
}

struct Hostile {
    answer: Box<Answer>,
    /// Answers as soon as a connection is there.
    at_once: bool,
    /// For `/metrics`.
    page: Option<Box<Answer>>,
    seen: Seen,
}

impl Hostile {
    fn new(answer: impl Fn(&mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { answer: Box::new(answer), at_once: false, page: None, seen: Seen::default() }
    }

    /// Serves on a free port until the test's end.
    fn serve(self) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let hostile = Arc::new(self);
        let serving = Arc::clone(&hostile);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                // An error is the client's going away.
                thread::spawn(move || drop(serving.connection(socket)));
            }
        });
        (url, hostile)
    }

    fn connection(&self, mut socket: TcpStream) -> io::Result<()> {
        if self.at_once && self.seen.posts.load(Ordering::Relaxed) >= GOOD_FIRST {
            self.seen.harm.fetch_add(1, Ordering::Relaxed);
            return (self.answer)(&mut socket);
        }
        loop {
            let Some(line) = self.request(&mut socket)? else { return Ok(()) };
            let path = line.split(' ').nth(1).unwrap_or_default();
            match path {
                "/v1/chat/completions" => {
                    let number = self.seen.posts.fetch_add(1, Ordering::Relaxed);
                    if number >= GOOD_FIRST && number.is_multiple_of(2) && !self.at_once {
                        self.seen.harm.fetch_add(1, Ordering::Relaxed);
                        return (self.answer)(&mut socket);
                    }
                    good(&mut socket)?;
                }
                "/v1/models" => whole(&mut socket, "200 OK", r#"{"data":[{"id":"m"}]}"#)?,
                "/metrics" if self.page.is_some() => {
                    return self.page.as_ref().map_or(Ok(()), |page| page(&mut socket));
                }
                _ => whole(&mut socket, "404 Not Found", "{}")?,
            }
        }
    }

    /// Reads a request; its first line, or nothing at the end of the connection.
    fn request(&self, socket: &mut TcpStream) -> io::Result<Option<String>> {
        let mut reader = BufReader::with_capacity(1, &mut *socket);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        reader.read_exact(&mut vec![0; length])?;
        self.seen.heads.lock().unwrap().push_str(&head);
        Ok(Some(head))
    }
}

fn whole(socket: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    write!(socket, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ship \"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";

fn chunk(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    write!(socket, "{:x}\r\n", bytes.len())?;
    socket.write_all(bytes)?;
    socket.write_all(b"\r\n")
}

/// An ordinary answer.
fn good(socket: &mut TcpStream) -> io::Result<()> {
    stream(socket, &[TOKEN, FINISH, USAGE].concat())
}

/// A stream of this text and its end.
fn stream(socket: &mut TcpStream, text: &str) -> io::Result<()> {
    socket.write_all(HEAD)?;
    chunk(socket, text.as_bytes())?;
    socket.write_all(b"0\r\n\r\n")
}

/// The head, then `bytes` again and again in chunks for as long as the client reads.
fn endless(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    socket.write_all(HEAD)?;
    loop {
        chunk(socket, bytes)?;
    }
}

#[expect(clippy::disallowed_methods, reason = "a slow server, outside any runtime")]
fn pause(millis: u64) {
    thread::sleep(Duration::from_millis(millis));
}

/// What a run left.
struct Run {
    code: Option<i32>,
    records: Vec<RequestRecord>,
    /// Everything that it said and wrote for people.
    told: String,
    harm: usize,
    seen: Arc<Hostile>,
}

/// Sweeps the server and watches the client's memory and time.
fn run(hostile: Hostile, more: &[&str]) -> Run {
    let (url, seen) = hostile.serve();
    let out = TempDir::new("hostile");
    let requests = REQUESTS.to_string();
    let mut child = Command::new(Program::path())
        .args(["sweep", "--url", &url, "--concurrency", "1", "--requests", &requests, "--warmup", "0"])
        .args([
            "--timeout",
            "1s",
            "--input-tokens",
            "16",
            "--output-tokens",
            "4",
            "--seed",
            "1",
            "--out",
            out.str(),
        ])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut text = Vec::new();
            pipe.unwrap().read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let mut peak = 0;
    let mut status = None;
    for _ in 0..TIME.as_millis() / 10 {
        peak = peak.max(peak_memory(child.id()).unwrap_or(0));
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        pause(10);
    }
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let code = status.unwrap_or_else(|| panic!("not over within {TIME:?}: {stderr}")).code();
    assert!(peak < MEMORY, "{peak} KiB of memory");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let mut told = stdout + &stderr;
    let folder = fs::read_dir(out.path()).unwrap().next();
    let folder = folder.unwrap_or_else(|| panic!("no run folder: {told}")).unwrap().path();
    for file in ["report.md", "levels.csv"] {
        told.push_str(&fs::read_to_string(folder.join(file)).unwrap_or_default());
    }
    let lines = read_lines::<RequestRecord>(&fs::read(folder.join("requests.jsonl")).unwrap());
    assert!(lines.bad.is_empty());
    assert_eq!(lines.records.len(), REQUESTS, "a record for each planned request: {told}");
    let harm = seen.seen.harm.load(Ordering::Relaxed);
    eprintln!("exit {code:?}, {peak} KiB, harm {harm}");
    Run { code, records: lines.records, told, harm, seen }
}

/// Highest resident memory so far, KiB, where the system tells.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

impl Run {
    /// Each harmful answer failed one request in one of these ways, and all others went well.
    #[track_caller]
    fn fails(&self, kinds: &[FailureKind]) {
        let failed: Vec<_> = self.records.iter().filter_map(|record| record.outcome.failure()).collect();
        assert!(failed.iter().all(|kind| kinds.contains(kind)), "{failed:?}: {}", self.told);
        assert_eq!(failed.len(), self.harm, "{}", self.told);
        assert!(failed.len() >= 3 && self.records.len() - failed.len() >= 3, "{failed:?}");
        // A run with failures is done, or flagged as invalid.
        assert!(matches!(self.code, Some(0 | 4)), "{:?}: {}", self.code, self.told);
    }

    /// Every request went well.
    #[track_caller]
    fn is_well(&self) {
        assert!(self.records.iter().all(|record| record.outcome.is_ok()), "{}", self.told);
        assert_eq!(self.code, Some(0), "{}", self.told);
    }
}

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
