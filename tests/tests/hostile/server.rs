//! A server that answers every second request with harm, and a sweep of it whose memory and time are watched.

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
pub const MEMORY: u64 = 320 << 10;
/// Time for a whole run of twelve requests of at most a second each, and what comes before them.
pub const TIME: Duration = Duration::from_mins(1);
/// Planned requests.
pub const REQUESTS: usize = 12;
/// Requests that are answered well before every second one is not: those before the load, and one of it.
pub const GOOD_FIRST: usize = 7;

pub type Answer = dyn Fn(&mut TcpStream) -> io::Result<()> + Send + Sync;

/// What the server was asked, and how often it did harm.
#[derive(Default)]
pub struct Seen {
    pub posts: AtomicUsize,
    pub harm: AtomicUsize,
    pub heads: Mutex<String>,
}

pub struct Hostile {
    pub answer: Box<Answer>,
    /// Answers as soon as a connection is there.
    pub at_once: bool,
    /// For `/metrics`.
    pub page: Option<Box<Answer>>,
    pub seen: Seen,
}

impl Hostile {
    pub fn new(answer: impl Fn(&mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Self {
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

pub fn whole(socket: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    write!(socket, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

pub const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
pub const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ship \"}}]}\n\n";
pub const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
pub const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";

pub fn chunk(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    write!(socket, "{:x}\r\n", bytes.len())?;
    socket.write_all(bytes)?;
    socket.write_all(b"\r\n")
}

/// An ordinary answer.
pub fn good(socket: &mut TcpStream) -> io::Result<()> {
    stream(socket, &[TOKEN, FINISH, USAGE].concat())
}

/// A stream of this text and its end.
pub fn stream(socket: &mut TcpStream, text: &str) -> io::Result<()> {
    socket.write_all(HEAD)?;
    chunk(socket, text.as_bytes())?;
    socket.write_all(b"0\r\n\r\n")
}

/// The head, then `bytes` again and again in chunks for as long as the client reads.
pub fn endless(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    socket.write_all(HEAD)?;
    loop {
        chunk(socket, bytes)?;
    }
}

#[expect(clippy::disallowed_methods, reason = "a slow server, outside any runtime")]
pub fn pause(millis: u64) {
    thread::sleep(Duration::from_millis(millis));
}

/// What a run left.
pub struct Run {
    pub code: Option<i32>,
    pub records: Vec<RequestRecord>,
    /// Everything that it said and wrote for people.
    pub told: String,
    pub harm: usize,
    pub seen: Arc<Hostile>,
}

/// Sweeps the server and watches the client's memory and time.
pub fn run(hostile: Hostile, more: &[&str]) -> Run {
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
pub fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

impl Run {
    /// Each harmful answer failed one request in one of these ways, and all others went well.
    #[track_caller]
    pub fn fails(&self, kinds: &[FailureKind]) {
        let failed: Vec<_> = self.records.iter().filter_map(|record| record.outcome.failure()).collect();
        assert!(failed.iter().all(|kind| kinds.contains(kind)), "{failed:?}: {}", self.told);
        assert_eq!(failed.len(), self.harm, "{}", self.told);
        assert!(failed.len() >= 3 && self.records.len() - failed.len() >= 3, "{failed:?}");
        // A run with failures is done, or flagged as invalid.
        assert!(matches!(self.code, Some(0 | 4)), "{:?}: {}", self.code, self.told);
    }

    /// Every request went well.
    #[track_caller]
    pub fn is_well(&self) {
        assert!(self.records.iter().all(|record| record.outcome.is_ok()), "{}", self.told);
        assert_eq!(self.code, Some(0), "{}", self.told);
    }
}
