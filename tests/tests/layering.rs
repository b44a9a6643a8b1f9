//! The architecture as it stands in the manifests: who may depend on whom.

use plimsoll_tests::workspace::packages;
use std::collections::{BTreeMap, BTreeSet};

/// Normal dependencies among the workspace's packages: all that are allowed.
fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("plimsoll-record", &[][..]),
        ("plimsoll-workload", &["record"]),
        ("plimsoll-wire", &["record"]),
        ("plimsoll-metrics", &["record"]),
        ("plimsoll-report", &["metrics", "record"]),
        ("plimsoll-transport", &["record", "wire"]),
        ("plimsoll-driver", &["record", "transport", "workload"]),
        ("plimsoll-scrape", &["record", "transport", "wire"]),
        ("plimsoll-mock", &["record", "wire"]),
        (
            "plimsoll-sweep",
            &["driver", "metrics", "record", "report", "scrape", "transport", "wire", "workload"],
        ),
        ("plimsoll", &["metrics", "mock", "record", "sweep"]),
        ("xtask", &["metrics", "mock", "record", "sweep", "transport", "plimsoll"]),
    ])
}

const PURE: [&str; 5] =
    ["plimsoll-record", "plimsoll-workload", "plimsoll-wire", "plimsoll-metrics", "plimsoll-report"];
const ASYNC_OR_NETWORK: [&str; 6] = ["tokio", "hyper", "hyper-util", "http-body-util", "rustix", "jiff"];

fn normal(name: &str) -> BTreeSet<String> {
    packages().get(name).and_then(|edges| edges.get("normal")).cloned().unwrap_or_default()
}

#[test]
fn packages_depend_only_downwards() {
    let all = packages();
    let allowed = allowed();
    for (name, edges) in &all {
        if name == "plimsoll-tests" {
            continue;
        }
        let may =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no place in the architecture"));
        for dependency in
            edges.get("normal").into_iter().flatten().filter(|dependency| all.contains_key(*dependency))
        {
            let short = dependency.strip_prefix("plimsoll-").unwrap_or(dependency);
            assert!(may.contains(&short), "{name} must not depend on {dependency}");
        }
    }
    for name in allowed.keys() {
        assert!(all.contains_key(*name), "{name} is gone");
    }
}

#[test]
fn only_the_program_the_recipes_and_tests_know_the_mock() {
    for (name, edges) in packages() {
        let depends = edges.get("normal").is_some_and(|names| names.contains("plimsoll-mock"));
        let may = ["plimsoll", "xtask", "plimsoll-tests"].contains(&name.as_str());
        assert!(!depends || may, "{name} must not depend on the mock");
    }
}

#[test]
fn pure_packages_have_no_runtime_network_or_clock() {
    for name in PURE {
        let edges = normal(name);
        for banned in ASYNC_OR_NETWORK {
            assert!(!edges.contains(banned), "{name} is pure: it must not depend on {banned}");
        }
    }
}
