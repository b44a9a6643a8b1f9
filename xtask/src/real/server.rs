use crate::shell::say;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command},
    time::Duration,
};

/// A server started by a recipe. Ended by its pid when dropped, also when the recipe has failed.
#[derive(Debug)]
pub struct Running {
    child: Child,
    log: PathBuf,
    keep: bool,
}

/// Time that a server has to become healthy, and to end, seconds.
const START_S: u32 = 400;
const END_S: u32 = 20;

/// Starts `command` with its output in `log`, and waits until `/health` answers.
pub fn start(command: &mut Command, port: u16, log: PathBuf, keep: bool) -> Result<Running> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // Else a server that is there already would be taken for ours.
    drop(
        TcpListener::bind(address)
            .with_context(|| format!("port {port} is not free; choose another with --port"))?,
    );
    let out = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let child = command.stdout(out.try_clone()?).stderr(out).spawn().context("cannot start the server")?;
    say(&format!("+ server with pid {} on port {port}, output in {}", child.id(), log.display()));
    let mut running = Running { child, log, keep };
    for second in 0..START_S {
        if healthy(address) {
            say(&format!("  ready after {second} s"));
            return Ok(running);
        }
        if let Some(status) = running.child.try_wait()? {
            bail!("the server ended before it was ready ({status}):\n{}", running.tail());
        }
        pause();
    }
    running.keep = false;
    bail!("the server was not ready within {START_S} s:\n{}", running.tail())
}

impl Running {
    fn tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n")
    }

    /// Fails when the server has ended by itself meanwhile.
    pub fn ensure_alive(&mut self) -> Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "the server ended during the sweep:\n{}", self.tail());
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.keep {
            say(&format!("left running: pid {}", self.child.id()));
            return;
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        for signal in [Signal::TERM, Signal::KILL] {
            // An error means that it has ended already, which try_wait tells.
            let _ = pid.map(|pid| kill_process(pid, signal));
            for _ in 0..END_S {
                if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                    return;
                }
                pause();
            }
        }
    }
}

fn healthy(address: SocketAddr) -> bool {
    let limit = Duration::from_secs(2);
    let ask = || -> std::io::Result<bool> {
        let mut socket = TcpStream::connect_timeout(&address, limit)?;
        socket.set_read_timeout(Some(limit))?;
        socket.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut head = [0_u8; 12];
        socket.read_exact(&mut head)?;
        Ok(head.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}

#[expect(clippy::disallowed_methods, reason = "waiting for a process; nothing is measured here")]
fn pause() {
    std::thread::sleep(Duration::from_secs(1));
}
