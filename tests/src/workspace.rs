//! The workspace's files and packages.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The top folder.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Files below `folder` with one of these extensions, sorted; build products, runs and captures left out.
pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, extensions, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !matches!(name, "target" | "runs" | ".git") {
                collect(&path, extensions, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted))
        {
            found.push(path);
        }
    }
}

/// Dependencies of one package by kind (`normal`, `dev`, `build`).
pub type Edges = BTreeMap<String, BTreeSet<String>>;

/// The workspace's packages and what they depend on, from `cargo metadata`.
///
/// # Panics
/// When cargo cannot tell.
#[expect(clippy::expect_used, reason = "for tests: without it nothing can be judged")]
pub fn packages() -> BTreeMap<String, Edges> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let told = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata");
    let metadata: Value = serde_json::from_slice(&told.stdout).expect("the JSON of cargo metadata");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("normal").to_owned();
    let mut packages = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let mut edges = Edges::new();
        for dependency in list(&package["dependencies"]) {
            edges.entry(text(&dependency["kind"])).or_default().insert(text(&dependency["name"]));
        }
        packages.insert(text(&package["name"]), edges);
    }
    assert!(packages.len() > 10, "cargo metadata names {} packages", packages.len());
    packages
}
