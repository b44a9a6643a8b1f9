//! Rules for the sources that no compiler checks.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use plimsoll_tests::workspace::{files, root};
use std::{fs, path::Path};

const LONGEST: usize = 600;

fn sources() -> Vec<(String, String)> {
    let root = root();
    let read = |path: &Path| {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    let found: Vec<_> = files(&root, &["rs"]).iter().map(|path| read(path)).collect();
    assert!(found.len() > 50, "only {} sources found", found.len());
    found
}

#[test]
fn files_are_small() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{name} has {lines} lines; split it");
    }
}

#[test]
fn lints_are_expected_with_a_reason_and_never_allowed() {
    for (name, text) in sources() {
        let compact: String = text.split_whitespace().collect();
        for rest in compact.split("#[expect(").skip(1).chain(compact.split("#![expect(").skip(1)) {
            let attribute = rest.split(")]").next().unwrap_or_default();
            assert!(
                name == "tests/tests/tidy.rs" || attribute.contains("reason=\""),
                "{name}: an expect without a reason"
            );
        }
        let allow = ["#[all", "ow("].concat();
        assert!(!compact.contains(&allow), "{name}: expect a lint with a reason instead of allowing it");
    }
}

#[test]
fn every_crate_has_a_page_an_example_and_a_description() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.display();
        let page = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        let lines = page.lines().take_while(|line| line.starts_with("//!")).count();
        assert!(lines >= 3, "{name}: the page in lib.rs has {lines} lines");
        assert!(!files(&folder.join("examples"), &["rs"]).is_empty(), "{name} has no example");
        let manifest: toml::Table =
            toml::from_str(&fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap();
        let description = manifest["package"]["description"].as_str().unwrap_or_default();
        assert!(description.len() > 20, "{name} has no description");
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{name} goes without the lints");
    }
}

/// Words that speak of something outside the project, or of work left undone. Written in halves, so that this file
/// does not hold them.
#[test]
fn sources_speak_of_the_project_alone() {
    let words = [
        ["to", "do!("],
        ["FIX", "ME"],
        ["TO", "DO:"],
        ["unimplemen", "ted!"],
        ["To be ", "written"],
        ["/ro", "ot/"],
        ["shared/", "docs"],
    ];
    let texts = files(&root(), &["md", "toml", "yml", "py"]);
    let texts =
        texts.iter().map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap_or_default()));
    for (name, text) in sources().into_iter().chain(texts) {
        for word in words.map(|halves| halves.concat()) {
            assert!(!text.contains(&word), "{name}: `{word}`");
        }
    }
}
