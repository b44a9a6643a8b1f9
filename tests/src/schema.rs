//! JSON Schemas of the run folder's files.

use plimsoll_record::{ClientSample, Conditions, PhaseMark, Plan, RequestRecord, Sample};
use schemars::{JsonSchema, schema_for};

/// File name and text of each schema.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("plan.json", text::<Plan>()),
        ("request.json", text::<RequestRecord>()),
        ("phase.json", text::<PhaseMark>()),
        ("sample.json", text::<Sample>()),
        ("client.json", text::<ClientSample>()),
        ("conditions.json", text::<Conditions>()),
    ]
}

fn text<T: JsonSchema>() -> String {
    // The alternate form of a JSON value is indented.
    format!("{:#}\n", schema_for!(T).to_value())
}
