//! The program as tests start it: the same entry as the `plimsoll` binary, in a package whose tests can find it.

use std::process::ExitCode;

fn main() -> ExitCode {
    plimsoll::run(std::env::args_os()).into()
}
