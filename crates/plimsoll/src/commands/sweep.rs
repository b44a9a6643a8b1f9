use crate::{Exit, failure::Failure, flags::SweepFlags, key, progress, runtime, terminal};
use plimsoll_mock::{MockConfig, MockHandle, spawn_thread};
use plimsoll_sweep::{Link, Observer, Resolved, Setup, Stop, SweepEvent, WallStamp, resolve};
use std::cell::Cell;
use tokio::time::Instant;

/// The client's name and version, as it stands in the conditions.
pub const CLIENT: &str = concat!("plimsoll ", env!("CARGO_PKG_VERSION"));

/// The main job: a sweep from the plan to the report.
pub fn sweep(flags: &SweepFlags, argv: Vec<String>) -> Result<Exit, Failure> {
    let wall = WallStamp::now();
    let resolved = resolve(flags.plan()?, seed(wall.unix_ns()))?;
    let key = key::of_plan(&resolved.plan)?;
    let mock = embedded(&resolved)?;
    let link = mock.as_ref().map_or(Link::Url, |mock| Link::Embedded(mock.url()));
    let stop = Stop::new();
    let mut shown = progress::for_stderr(&resolved);
    let under_way = Cell::new(false);
    let mut observer = Watched { shown: &mut *shown, under_way: &under_way };
    let setup = Setup { resolved, link, key, stop: stop.clone(), wall, client: CLIENT.to_owned(), argv };
    let work = plimsoll_sweep::sweep(setup, &mut observer);
    let done = runtime::drive(&stop, || under_way.get(), work)?;
    drop(shown);
    drop(mock);
    let Some(done) = done else {
        return Err(Failure::new(Exit::Invalid, "stopped before the load began; nothing was measured"));
    };
    let done = done?;
    terminal::print(&done.rendered.table)?;
    terminal::print(&format!("\nrun folder: {}\n", done.folder.path().display()))?;
    Ok(Exit::of_summary(&done.rendered.summary))
}

/// The mock, when the plan has no address. Its thread is its own, so that it takes no time from those that send.
fn embedded(resolved: &Resolved) -> Result<Option<MockHandle>, Failure> {
    if !resolved.plan.url.is_empty() {
        return Ok(None);
    }
    let config = MockConfig::of_engine(resolved.plan.mock.clone().unwrap_or_default());
    let handle = spawn_thread(config, Instant::now());
    handle.map(Some).map_err(|error| Failure::other(format!("the embedded mock: {error}")))
}

/// Notes that the load has begun: from there on a stop leaves a run folder, and the sweep ends by itself.
struct Watched<'a> {
    shown: &'a mut dyn Observer,
    under_way: &'a Cell<bool>,
}

impl Observer for Watched<'_> {
    fn event(&mut self, event: SweepEvent) {
        if matches!(event, SweepEvent::Started { .. }) {
            self.under_way.set(true);
        }
        self.shown.event(event);
    }
}

/// A seed from the run's wall-clock stamp. `SplitMix64`'s finaliser spreads neighbouring stamps (Steele, Lea and Flood
/// 2014); 53 bits survive every JSON reader.
const fn seed(unix_ns: u64) -> u64 {
    let mut z = unix_ns.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_and_fit_every_reader() {
        // The first output of SplitMix64 seeded with 0 is 0xe220a8397b1dcdaf.
        assert_eq!(seed(0), 0xe220_a839_7b1d_cdaf >> 11);
        assert_ne!(seed(1), seed(2));
        assert!(seed(u64::MAX) < 1 << 53);
    }
}
