//! Commands of a recipe, each shown before it runs.

use anyhow::{Context, Result, bail};
use std::{
    env,
    ffi::OsStr,
    io::{Write, stderr},
    path::PathBuf,
    process::Command,
};

/// Says what a recipe does.
pub fn say(text: &str) {
    // There is nowhere left to tell of a failure.
    let _ = writeln!(stderr(), "{text}");
}

/// The workspace's top folder.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// The cargo that runs this recipe, in the top folder.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Shows and runs a command; a failing one ends the recipe.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    say(&format!("+ {shown}"));
    let status = command.status().with_context(|| format!("cannot run `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
