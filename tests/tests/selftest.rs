//! `plimsoll selftest`, short, and what a sweep makes of it.

use plimsoll_record::{Conditions, files};
use plimsoll_tests::{Program, TempDir};
use std::fs;

#[test]
fn the_ceiling_is_measured_kept_and_written_beside_a_sweep() {
    let cache = TempDir::new("cache");
    let measured = Program::new(&["selftest", "--time", "1200ms", "--streams", "40"])
        .env("PLIMSOLL_CACHE", cache.str())
        .run();
    assert_eq!(measured.code, Some(0), "{measured:?}");
    for part in ["streams at once", "events/s", "requests/s", "kept in "] {
        assert!(measured.stdout.contains(part), "{part} is not in {}", measured.stdout);
    }
    let sweep = |cache: Option<&str>| {
        let out = TempDir::new("ceiling");
        let args =
            ["sweep", "--concurrency", "1", "--requests", "2", "--output-tokens", "2", "--scrape", "off"];
        let mut program = Program::new(&[&args[..], &["--out", out.str()]].concat());
        if let Some(cache) = cache {
            program = program.env("PLIMSOLL_CACHE", cache);
        }
        let ended = program.run();
        let folder = fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
        let conditions = fs::read(folder.join(files::CONDITIONS)).unwrap();
        (ended, serde_json::from_slice::<Conditions>(&conditions).unwrap().environment)
    };
    let (ended, environment) = sweep(Some(cache.str()));
    let ceiling = environment.ceiling.unwrap();
    assert!(!ended.stderr.contains("selftest"), "{}", ended.stderr);
    assert_eq!(ceiling.client, environment.client);
    assert!(
        (1..=40).contains(&ceiling.streams) && ceiling.events_s > 0.0 && ceiling.requests_s > 0.0,
        "{ceiling:?}"
    );
    let (ended, environment) = sweep(None);
    assert!(environment.ceiling.is_none());
    assert!(ended.stderr.contains("`plimsoll selftest` tells in 20 s"), "{}", ended.stderr);
}

#[test]
fn nothing_is_measured_in_no_time() {
    let ended = Program::new(&["selftest", "--time", "1ms"]).run();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--time: shorter than 400ms"), "{}", ended.stderr);
}
