use crate::{Exit, failure::Failure, flags::MockFlags, key, runtime, terminal};
use plimsoll_mock::{MockConfig, spawn_thread_at};
use plimsoll_sweep::Stop;
use std::{error::Error, net::SocketAddr};
use tokio::time::Instant;

/// Serves the mock until it is stopped.
pub fn mock(flags: &MockFlags) -> Result<Exit, Failure> {
    let addr = SocketAddr::from((flags.host, flags.port));
    let config = MockConfig {
        api_key: key::text(flags.api_key_env.as_deref())?,
        ..MockConfig::of_engine(flags.engine())
    };
    let engine = config.engine.clone();
    let handle = spawn_thread_at(config, Instant::now(), addr).map_err(|error| {
        let why = error.source().map(ToString::to_string).unwrap_or_default();
        Failure::usage(format!(
            "cannot serve at {addr}: {why}; another --port may be free (0 takes one that is)"
        ))
    })?;
    terminal::print(&format!(
        "mock vLLM at {}, model {}, {} slots; Ctrl-C ends it\n",
        handle.url(),
        engine.model,
        engine.max_num_seqs
    ))?;
    let stop = Stop::new();
    runtime::drive(&stop, || true, stop.wait())?;
    drop(handle);
    Ok(Exit::Done)
}
