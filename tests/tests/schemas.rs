//! The committed schemas are those of the types.

use plimsoll_tests::{schema, workspace};
use std::fs;

#[test]
fn committed_schemas_are_the_types() {
    for (name, text) in schema::all() {
        let path = workspace::root().join("fixtures/schema").join(name);
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "{name} differs from the types; write it anew with `cargo xtask schema`");
    }
}

#[test]
fn records_that_the_schema_calls_required_have_no_default() {
    let request = schema::all().into_iter().find(|(name, _)| *name == "request.json").unwrap().1;
    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
    let required: Vec<&str> =
        request["required"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    for name in
        ["schema", "id", "level", "repeat", "phase", "due_ns", "end_ns", "events", "token_source", "outcome"]
    {
        assert!(required.contains(&name), "{name} is not required");
    }
    assert!(!required.contains(&"first_token_ns"), "a request without a token has no such stamp");
}
