//! The last self-test, kept between runs.

use crate::SweepError;
use plimsoll_record::Ceiling;
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// The file that keeps the ceiling of this host: `selftest.json` in `$PLIMSOLL_CACHE`, else in `plimsoll` below
/// `$XDG_CACHE_HOME` or `~/.cache`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CeilingStore(PathBuf);

const FILE: &str = "selftest.json";

/// What the file holds. A cache folder may be shared by hosts, as a home folder on a cluster is.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    host: String,
    ceiling: Ceiling,
}

impl CeilingStore {
    /// As the environment says; absent when it names no place.
    pub fn of_environment() -> Option<Self> {
        Self::of(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let own = variable("PLIMSOLL_CACHE").map(PathBuf::from);
        let shared = || variable("XDG_CACHE_HOME").map(|folder| Path::new(&folder).join("plimsoll"));
        let home = || variable("HOME").map(|folder| Path::new(&folder).join(".cache/plimsoll"));
        Some(Self(own.or_else(shared).or_else(home)?.join(FILE)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Keeps the ceiling of this host.
    pub fn write(&self, ceiling: &Ceiling) -> Result<(), SweepError> {
        let stored = Stored { host: host(), ceiling: ceiling.clone() };
        let text = serde_json::to_string_pretty(&stored)
            .map_err(|error| SweepError::other(format!("the self-test has no JSON form: {error}")))?;
        let made = self.0.parent().map_or(Ok(()), fs::create_dir_all);
        let beside = self.0.with_extension("new");
        let written = made.and_then(|()| fs::write(&beside, text + "\n"));
        written
            .and_then(|()| fs::rename(&beside, &self.0))
            .map_err(|error| SweepError::write(&self.0, &error))
    }

    /// The ceiling of this host, if this version of the client measured it with at most so many worker threads: what more of
    /// them can do says nothing of fewer. A file that cannot be read, or has no rates, is none.
    pub fn read(&self, client: &str, workers: u32) -> Option<Ceiling> {
        let stored: Stored = serde_json::from_str(&fs::read_to_string(&self.0).ok()?).ok()?;
        let ceiling = stored.ceiling;
        let sound =
            ceiling.streams > 0 && [ceiling.events_s, ceiling.requests_s].iter().all(|rate| *rate > 0.0);
        (sound && stored.host == host() && ceiling.client == client && ceiling.workers <= workers)
            .then_some(ceiling)
    }
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pairs: &[(&str, &str)]) -> Option<String> {
        let find =
            |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        CeilingStore::of(find).map(|store| store.path().display().to_string())
    }

    #[test]
    fn the_nearest_place_that_the_environment_names() {
        assert_eq!(
            at(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("PLIMSOLL_CACHE", "/p")]),
            Some("/p/selftest.json".into())
        );
        assert_eq!(at(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), Some("/x/plimsoll/selftest.json".into()));
        assert_eq!(at(&[("HOME", "/h")]), Some("/h/.cache/plimsoll/selftest.json".into()));
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn only_the_same_client_on_the_same_host_reads_it_back() {
        let folder = std::env::temp_dir().join(format!("plimsoll-store-{}", std::process::id()));
        let store = CeilingStore(folder.join("deep").join(FILE));
        let (workers, streams, events_s, requests_s) = (2, 7, 10.0, 5.0);
        let client = "plimsoll 1".to_owned();
        let ceiling = Ceiling { client, workers, streams, events_s, requests_s, ..Ceiling::default() };
        assert_eq!(store.read("plimsoll 1", 2), None);
        store.write(&ceiling).unwrap();
        assert_eq!(store.read("plimsoll 1", 2), Some(ceiling.clone()));
        assert_eq!(store.read("plimsoll 1", 8), Some(ceiling.clone()));
        assert_eq!(store.read("plimsoll 1", 1), None, "measured with more threads");
        assert_eq!(store.read("plimsoll 2", 2), None);
        let other = fs::read_to_string(store.path()).unwrap().replace(&host(), "elsewhere");
        fs::write(store.path(), other).unwrap();
        assert_eq!(store.read("plimsoll 1", 2), None);
        for wrong in [Ceiling { events_s: -1.0, ..ceiling.clone() }, Ceiling { streams: 0, ..ceiling }] {
            store.write(&wrong).unwrap();
            assert_eq!(store.read("plimsoll 1", 2), None, "{wrong:?}");
        }
        fs::write(store.path(), "{broken").unwrap();
        assert_eq!(store.read("plimsoll 1", 2), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
