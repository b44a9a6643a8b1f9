//! The thread that steers, and what Ctrl-C does.

use crate::{Exit, failure::Failure, terminal};
use plimsoll_sweep::Stop;
use std::{
    future::{Future, pending},
    process, thread,
};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

/// Runs `work` on this thread. A first Ctrl-C, SIGTERM or SIGHUP sets `stop`; `work` is given up at once, with `None`, unless
/// `finishes` says that it ends by itself then. A second one exits the process.
pub fn drive<T>(
    stop: &Stop,
    finishes: impl Fn() -> bool,
    work: impl Future<Output = T>,
) -> Result<Option<T>, Failure> {
    let runtime = current_thread()?;
    listen(stop.clone())?;
    let given_up = async {
        stop.wait().await;
        if finishes() {
            pending::<()>().await;
        }
    };
    Ok(runtime.block_on(async {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = given_up => None,
        }
    }))
}

fn current_thread() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::other(format!("cannot make a runtime: {error}")))
}

/// Waits for a signal that may not be listened to.
async fn told(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

/// True under `nohup`, which has the end of a terminal ignored: listening would end that.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_first(&status)
}

/// Whether the mask of ignored signals has the bit of signal 1, SIGHUP.
fn ignored_first(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Listens on a thread of its own, so that Ctrl-C works whatever the steering thread does.
fn listen(stop: Stop) -> Result<(), Failure> {
    let runtime = current_thread()?;
    let (mut interrupt, mut terminate, mut hangup) = {
        let _inside = runtime.enter();
        let on = |kind| {
            signal(kind).map_err(|error| Failure::other(format!("cannot listen for signals: {error}")))
        };
        let hangup = if ignores_hangup() { None } else { Some(on(SignalKind::hangup())?) };
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?, hangup)
    };
    let body = move || {
        runtime.block_on(async {
            for first in [true, false] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    () = told(&mut hangup) => {}
                }
                if first {
                    stop.set();
                    terminal::say("stopping: the requests in flight are given up; again to exit at once");
                } else {
                    process::exit(Exit::Interrupted.code().into());
                }
            }
        });
    };
    let spawned = thread::Builder::new().name("plimsoll-signals".to_owned()).spawn(body);
    spawned.map(drop).map_err(|error| Failure::other(format!("no thread to listen for signals: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals() {
        assert!(ignored_first("Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"));
        assert!(!ignored_first("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"));
        assert!(!ignored_first(""));
    }
}
