//! The corpus of the fuzz targets, replayed: what was found once stays mended.

#![expect(clippy::expect_used, reason = "a failed expectation fails the test")]

#[path = "../../../tests/fuzz/checks.rs"]
mod checks;

use std::{fs, path::PathBuf};

#[test]
fn every_seed_and_finding_is_read_well() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fuzz");
    for (target, _) in checks::TARGETS {
        let inputs = fs::read_dir(folder.join(target)).unwrap_or_else(|error| panic!("{target}: {error}"));
        let mut inputs: Vec<PathBuf> = inputs.map(|input| input.unwrap().path()).collect();
        inputs.sort();
        assert!(inputs.len() >= 3, "{target} has {} inputs", inputs.len());
        for input in inputs {
            let data = fs::read(&input).unwrap();
            let whole = std::panic::catch_unwind(|| checks::run(target, &data));
            assert!(whole.is_ok(), "{}", input.display());
        }
    }
}
