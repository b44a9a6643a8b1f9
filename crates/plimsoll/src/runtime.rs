//! The thread that steers, and what Ctrl-C does.

use crate::{Exit, failure::Failure, terminal};
use plimsoll_sweep::Stop;
use std::{
    future::{Future, pending},
    process, thread,
};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

/// Runs `work` on this thread. A first Ctrl-C, or SIGTERM, sets `stop`; `work` is given up at once, with `None`, unless
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

/// Listens on a thread of its own, so that Ctrl-C works whatever the steering thread does.
fn listen(stop: Stop) -> Result<(), Failure> {
    let runtime = current_thread()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        let refused = |error| Failure::other(format!("cannot listen for signals: {error}"));
        (signal(SignalKind::interrupt()).map_err(refused)?, signal(SignalKind::terminate()).map_err(refused)?)
    };
    let body = move || {
        runtime.block_on(async {
            for first in [true, false] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
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
