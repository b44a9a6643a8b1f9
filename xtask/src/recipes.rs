//! Tests, checks and schemas.

use crate::shell::{cargo, run, say};
use anyhow::Result;
use std::{ffi::OsString, process::Stdio};

/// All tests of the workspace. One set of features for all recipes, so that nothing is built twice.
pub fn test(args: &[OsString]) -> Result<()> {
    run(cargo().args(["test", "--workspace", "--all-features"]).args(args))
}

/// Formatting, lints, documentation, and, where `cargo deny` is installed, licences and duplicates.
pub fn lint() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]))?;
    run(cargo()
        .args(["doc", "--workspace", "--all-features", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings"))?;
    let deny = cargo().args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if deny.is_ok_and(|status| status.success()) {
        run(cargo().args(["deny", "--workspace", "--all-features", "check", "bans", "licenses", "sources"]))
    } else {
        say("skipped 1 check: cargo deny is not installed (cargo install cargo-deny --locked)");
        Ok(())
    }
}

/// What the client costs. The figures are of the machine and its moment; ratios within one run hold better.
pub fn bench() -> Result<()> {
    for (package, bench) in [
        ("plimsoll-driver", "client_cost"),
        ("plimsoll", "footprint"),
        ("plimsoll-wire", "sse"),
        ("plimsoll-wire", "prometheus"),
    ] {
        run(cargo().args(["bench", "--package", package, "--bench", bench]))?;
    }
    Ok(())
}

/// Schemas; the tests' package makes them, so that the program is built without what they need.
pub fn schema(check: bool) -> Result<()> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--package",
        "plimsoll-tests",
        "--all-features",
        "--bin",
        "schema",
        "--",
    ]);
    run(command.args(check.then_some("--check")))
}
