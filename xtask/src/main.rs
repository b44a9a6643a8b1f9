//! Recipes of the workspace: `cargo xtask <recipe>`.

mod bench;
mod real;
mod recipes;
mod shell;

use clap::{Args, Parser, Subcommand};
use plimsoll::Exit;
use std::{
    ffi::OsString,
    io::{Write, stderr},
    process::ExitCode,
};

#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "Recipes of the workspace")]
#[command(disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    recipe: Recipe,
}

#[derive(Debug, Subcommand)]
enum Recipe {
    /// Sweep a server, or without --url the embedded mock (plimsoll sweep).
    #[command(disable_help_flag = true)]
    Sweep(Forward),
    /// Check a server (plimsoll check).
    #[command(disable_help_flag = true)]
    Check(Forward),
    /// Serve the mock vLLM (plimsoll mock).
    #[command(disable_help_flag = true)]
    Mock(Forward),
    /// Make the report of a run folder again (plimsoll report).
    #[command(disable_help_flag = true)]
    Report(Forward),
    /// Run all tests; arguments go to `cargo test`.
    #[command(disable_help_flag = true)]
    Test(Forward),
    /// Formatting, lints, documentation, dependencies.
    Lint,
    /// All of `lint` and `test`.
    Ci,
    /// Measure the client: CPU per token against a bare hyper loop, memory, start, parsers. Nothing is asserted.
    #[command(args_conflicts_with_subcommands = true)]
    Bench {
        /// Without one: all benches of the workspace.
        #[command(subcommand)]
        bench: Option<bench::Bench>,
    },
    /// Write the JSON Schemas of the run folder's files into fixtures/schema.
    Schema {
        /// Only compare; fail when they differ.
        #[arg(long)]
        check: bool,
    },
    /// Install and start a real server, sweep it, and assert what is repeatable.
    #[command(subcommand)]
    Real(real::Server),
}

#[derive(Debug, Args)]
struct Forward {
    /// Passed on as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

fn main() -> ExitCode {
    let done = match Cli::parse().recipe {
        Recipe::Sweep(forward) => return plimsoll("sweep", forward),
        Recipe::Check(forward) => return plimsoll("check", forward),
        Recipe::Mock(forward) => return plimsoll("mock", forward),
        Recipe::Report(forward) => return plimsoll("report", forward),
        Recipe::Test(forward) => recipes::test(&forward.args),
        Recipe::Lint => recipes::lint(),
        Recipe::Ci => recipes::lint().and_then(|()| recipes::test(&[])),
        Recipe::Bench { bench } => bench::run(bench.as_ref()),
        Recipe::Schema { check } => recipes::schema(check),
        Recipe::Real(server) => real::run(&server),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nowhere left to tell of a failure.
            let _ = writeln!(stderr(), "error: {error:#}");
            Exit::Other.into()
        }
    }
}

fn plimsoll(command: &str, forward: Forward) -> ExitCode {
    let head = ["plimsoll", command].map(OsString::from);
    plimsoll::run(head.into_iter().chain(forward.args)).into()
}
