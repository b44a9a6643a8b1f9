use super::sweep::CLIENT;
use crate::{Exit, failure::Failure, flags::SelftestFlags, runtime, terminal};
use plimsoll_mock::{MockConfig, spawn_thread};
use plimsoll_record::MockEngine;
use plimsoll_sweep::{
    CeilingStore, FILES_NEEDED, SPARE_FILES, Selftest, SelftestOptions, Stop, SweepError, WallStamp,
    open_files, selftest as run,
};
use std::{net::SocketAddr, thread};
use tokio::{sync::oneshot, time::Instant};

/// Measures this machine's ceiling, prints it and keeps it.
pub fn selftest(flags: &SelftestFlags) -> Result<Exit, Failure> {
    if flags.time.nanos() < 400_000_000 {
        return Err(Failure::usage("--time: shorter than 400ms, which measures nothing"));
    }
    // The mock holds the other ends in this process.
    let files = open_files((2 * u64::from(flags.streams) + SPARE_FILES).max(FILES_NEEDED));
    if files < FILES_NEEDED {
        return Err(Failure::other(format!(
            "the self-test needs {FILES_NEEDED} open files and this process may have {files}; raise the limit, for \
             example `ulimit -n 1024`"
        )));
    }
    let room = files.saturating_sub(SPARE_FILES) / 2;
    let streams = flags.streams.min(u32::try_from(room).unwrap_or(u32::MAX)).max(1);
    let options = SelftestOptions { workers: flags.workers, time: flags.time.duration(), streams };
    let wall = WallStamp::now();
    let stop = Stop::new();
    let stopped = stop.clone();
    let (done, wait) = oneshot::channel();
    let body = move || {
        let say = &mut |text: &str| terminal::say(&terminal::line(&format!("measuring {text}")));
        drop(done.send(run(&options, CLIENT, wall.rfc3339(), &stopped, &mut serve, say)));
    };
    let spawned = thread::Builder::new().name("plimsoll-selftest".to_owned()).spawn(body);
    spawned.map_err(|error| Failure::other(format!("no thread for the self-test: {error}")))?;
    let found = runtime::drive(&stop, || true, wait)?;
    let Some(Ok(found)) = found else {
        return Err(Failure::other("the self-test ended abnormally"));
    };
    let found = found?;
    terminal::print(&text(&found, flags, streams))?;
    match CeilingStore::of_environment() {
        Some(store) => {
            store.write(&found.ceiling)?;
            terminal::print(&format!("\nkept in {}\n", store.path().display()))?;
        }
        None => terminal::print("\nnot kept: neither PLIMSOLL_CACHE, XDG_CACHE_HOME nor HOME is set\n")?,
    }
    Ok(Exit::Done)
}

/// The mock on a thread of its own: what a client can do is measured with the server beside it, on the same machine.
fn serve(engine: MockEngine) -> Result<(SocketAddr, Box<dyn Send>), SweepError> {
    let handle = spawn_thread(MockConfig::of_engine(engine), Instant::now());
    let handle = handle.map_err(|error| SweepError::other(format!("the embedded mock: {error}")))?;
    Ok((handle.addr(), Box::new(handle)))
}

fn text(found: &Selftest, flags: &SelftestFlags, streams: u32) -> String {
    let workers = flags.workers;
    let threads =
        if workers == 1 { "1 thread that sends".to_owned() } else { format!("{workers} threads that send") };
    let mut lines =
        vec![format!("{}, {threads}, against the embedded mock on this machine\n", found.ceiling.client)];
    for row in &found.rows {
        lines.push(format!("{:16} {:>9.0}  {}", row.name, row.value, row.how));
    }
    if streams < flags.streams {
        lines.push(format!(
            "\nOnly {streams} streams were tried: the limit on open files allows no more (`ulimit -n`)."
        ));
    }
    lines.push(
        "\nA run that comes near one of these may be limited by this client; a third of it is a sound bound."
            .to_owned(),
    );
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::Span;
    use plimsoll_sweep::SelftestRow;

    #[test]
    fn a_row_per_figure_and_a_word_on_what_was_not_tried() {
        let row = SelftestRow { name: "events/s", value: 61_234.4, how: "64 streams".to_owned() };
        let found = Selftest { ceiling: plimsoll_record::Ceiling::default(), rows: vec![row] };
        let flags = SelftestFlags { workers: 2, time: Span::from_millis(1000), streams: 9 };
        let text = text(&found, &flags, 5);
        for part in
            ["2 threads that send", "events/s             61234  64 streams", "Only 5 streams were tried"]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
