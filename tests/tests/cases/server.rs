//! The replay server of the folder of scripts, as a child.

use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Longest pause that a script may ask for, milliseconds.
const HANG_MS: &str = "4000";

/// A replay server; ended when dropped.
pub struct Server {
    child: Child,
    /// Its address: `http://127.0.0.1:40001`.
    pub base: String,
    log: PathBuf,
}

/// True when there is a Python to run it.
pub fn has_python() -> bool {
    let asked = Command::new("python3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

impl Server {
    /// Serves `folder`/http on a free port. It logs to `log`.
    pub fn start(folder: &Path, log: PathBuf, more: &[&str]) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the replay server does not start: {error}");
        let mut child = Command::new("python3")
            .arg(folder.join("serve_case.py"))
            .arg(folder.join("http"))
            .args(["--port", "0", "--max-hang-ms", HANG_MS, "--log"])
            .arg(&log)
            .args(more)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(failed)?;
        }
        let base = line.trim().rsplit(' ').next().filter(|base| base.starts_with("http")).map(str::to_owned);
        let mut server = Self { child, base: base.clone().unwrap_or_default(), log };
        if base.is_none() {
            let _ = server.child.kill();
            return Err(format!("the replay server says `{}`", line.trim()));
        }
        Ok(server)
    }

    /// The base address of a case.
    pub fn url(&self, case: &str) -> String {
        format!("{}/case/{case}", self.base)
    }

    /// Forgets what it has counted.
    pub fn reset(&self) -> Result<(), String> {
        self.ask("POST", "/__reset").map(drop)
    }

    /// Requests to a case so far, such as `POST /v1/chat/completions`.
    pub fn seen(&self, case: &str) -> Result<Vec<String>, String> {
        let stats = self.ask("GET", "/__stats")?;
        let seen = stats.get(case).and_then(|case| case.get("seen")).and_then(Value::as_array).cloned();
        Ok(seen.unwrap_or_default().iter().filter_map(|line| Some(line.as_str()?.to_owned())).collect())
    }

    /// Lines of its log.
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The server keeps such connections open, so that only the length tells the end.
    fn ask(&self, method: &str, path: &str) -> Result<Value, String> {
        let address = self.base.trim_start_matches("http://");
        let ask = || -> std::io::Result<Vec<u8>> {
            let mut socket = TcpStream::connect(address)?;
            socket.set_read_timeout(Some(Duration::from_secs(20)))?;
            write!(socket, "{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")?;
            let mut reader = BufReader::new(socket);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line)? > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            Ok(body)
        };
        let body = ask().map_err(|error| format!("{path}: {error}"))?;
        serde_json::from_slice(&body).map_err(|error| format!("{path}: {error}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already, if these fail.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
