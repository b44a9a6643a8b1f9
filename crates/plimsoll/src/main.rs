//! The `plimsoll` program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    plimsoll::run(std::env::args_os()).into()
}
