//! The command line of Plimsoll, as a library: the `plimsoll` binary and the workspace's recipes both call [`run`].
//!
//! ```text
//! plimsoll sweep    load at rising concurrency: table, knee, SLO verdicts, bottleneck; the evidence in a run folder
//! plimsoll check    does a server answer, correctly and completely?
//! plimsoll mock     serve the mock vLLM
//! plimsoll selftest what this machine's client can do at most
//! plimsoll report   a run folder again
//! ```
//!
//! Results go to standard output, progress and errors to standard error. How a command ended is its [`Exit`]:
//!
//! ```
//! use plimsoll::Exit;
//! let exit = plimsoll::run(["plimsoll", "sweep", "--concurrency", "many"]);
//! assert_eq!(exit, Exit::Usage);
//! assert_eq!(exit.code(), 2);
//! ```

mod cli;
mod commands;
mod exit;
mod failure;
mod flags;
mod key;
mod progress;
mod redact;
mod runtime;
mod terminal;

pub use exit::Exit;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use std::ffi::OsString;

/// Runs one command line, the program's name first. Prints everything there is to print.
pub fn run<I, T>(args: I) -> Exit
where
    I: IntoIterator<Item = T>,
    T: Into<OsString>,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return cli::refuse(&error),
    };
    let argv = redact::argv(&args);
    let done = match cli.command {
        Command::Sweep(flags) => commands::sweep(&flags, argv),
        Command::Check(flags) => commands::check(&flags),
        Command::Mock(flags) => commands::mock(&flags),
        Command::Selftest(flags) => commands::selftest(&flags),
        Command::Report(flags) => commands::report(&flags),
    };
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            terminal::error(&failure.to_string());
            failure.exit()
        }
    }
}

/// The whole command line as clap knows it: for generated documents.
pub fn command() -> clap::Command {
    Cli::command()
}
