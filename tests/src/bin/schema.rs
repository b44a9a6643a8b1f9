//! Writes the JSON Schemas of the run folder's files into `fixtures/schema`, or compares them with `--check`.

use plimsoll_tests::{schema, workspace};
use std::{fs, process::ExitCode};

fn main() -> ExitCode {
    let check = std::env::args().any(|arg| arg == "--check");
    let folder = workspace::root().join("fixtures/schema");
    let mut differ = 0;
    for (name, text) in schema::all() {
        let path = folder.join(name);
        if check {
            if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
                eprintln!(
                    "{} differs from the types; write it anew with `cargo xtask schema`",
                    path.display()
                );
                differ += 1;
            }
        } else if let Err(error) = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text)) {
            eprintln!("error: cannot write {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
