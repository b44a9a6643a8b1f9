use crate::shell::root;
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where a recipe's run goes.
pub fn out(name: &str) -> PathBuf {
    root().join("target/real").join(format!("{name}-{}", std::process::id()))
}

/// The run folder that a sweep has left.
pub fn only_folder(out: &Path) -> Result<PathBuf> {
    let entries =
        fs::read_dir(out).with_context(|| format!("the sweep has left nothing in {}", out.display()))?;
    let folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    match folders.as_slice() {
        [only] => Ok(only.clone()),
        other => bail!("{} run folders in {} where there should be one", other.len(), out.display()),
    }
}
