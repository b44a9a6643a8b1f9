use rustix::process::{Pid, Signal, kill_process};
use std::{
    env,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

/// A command line of the program.
#[derive(Debug)]
pub struct Program {
    command: Command,
}

/// How a run of the program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code; absent when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A run of the program that goes on; killed when dropped.
#[derive(Debug)]
pub struct Started {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

/// A program that takes longer hangs. Far longer than any test needs.
const LIMIT: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(20);

impl Program {
    /// The program with these arguments, in an empty environment but for `PATH`.
    pub fn new(args: &[&str]) -> Self {
        let mut command = Command::new(Self::path());
        command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        Self { command }
    }

    /// Started by a shell after `prelude`, for limits that only a shell sets.
    pub fn in_shell(prelude: &str, args: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{prelude}\nexec \"$0\" \"$@\"")).arg(Self::path()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command }
    }

    /// Beside the test's own executable, one folder up: `target/<profile>/deps/<test>`.
    ///
    /// # Panics
    /// When it has not been built.
    pub fn path() -> PathBuf {
        let deps = env::current_exe().ok().and_then(|test| test.parent().map(Path::to_owned));
        let path = deps.and_then(|deps| Some(deps.parent()?.join("plimsoll-under-test"))).unwrap_or_default();
        assert!(path.is_file(), "{} has not been built", path.display());
        path
    }

    /// With an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().wait()
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[expect(clippy::expect_used, reason = "for tests: a test without its program cannot go on")]
    pub fn start(mut self) -> Started {
        let mut child = self.command.spawn().expect("the program starts");
        let stdout = child.stdout.take().map(drain);
        let stderr = child.stderr.take().map(drain);
        Started { child, stdout, stderr }
    }
}

/// Reads a pipe on a thread, so that a full one stops nobody.
fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is what there is.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Started {
    /// Waits until `condition` holds.
    ///
    /// # Panics
    /// When it does not within two minutes, or the program ends before.
    pub fn wait_until(&mut self, what: &str, condition: impl Fn() -> bool) {
        self.poll(what, |started| {
            if condition() {
                return Some(());
            }
            let ended = started.child.try_wait();
            assert!(matches!(ended, Ok(None)), "the program ended before {what}: {:?}", started.finish());
            None
        });
    }

    /// Sends a signal to it.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // A program that has ended meanwhile is seen by the caller.
        let _ = pid.map(|pid| kill_process(pid, signal));
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within two minutes.
    pub fn wait(mut self) -> Ended {
        self.poll("its end", |started| matches!(started.child.try_wait(), Ok(Some(_))).then_some(()));
        self.finish()
    }

    fn finish(&mut self) -> Ended {
        let code = self.child.wait().ok().and_then(|status| status.code());
        let text =
            |pipe: Option<JoinHandle<String>>| pipe.and_then(|thread| thread.join().ok()).unwrap_or_default();
        Ended { code, stdout: text(self.stdout.take()), stderr: text(self.stderr.take()) }
    }

    #[expect(clippy::disallowed_methods, reason = "waiting for a process, outside any runtime")]
    #[expect(clippy::panic, reason = "for tests: a hang is a failure")]
    fn poll<T>(&mut self, what: &str, mut ready: impl FnMut(&mut Self) -> Option<T>) -> T {
        for _ in 0..LIMIT.as_millis() / PAUSE.as_millis() {
            if let Some(value) = ready(self) {
                return value;
            }
            thread::sleep(PAUSE);
        }
        self.signal(Signal::KILL);
        panic!("{what} took too long: {:?}", self.finish());
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Ended already, in nearly every test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
