//! Whatever a server answers, at most a field that was asked about is taken for refused; in the shapes of the known servers
//! it is the right one.

use plimsoll_wire::chat::refused_field;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

const FIELDS: [&str; 6] = [
    "max_tokens",
    "max_completion_tokens",
    "stream_options",
    "continuous_usage_stats",
    "temperature",
    "return_token_ids",
];

fn field() -> impl Strategy<Value = &'static str> {
    select(FIELDS.to_vec())
}

/// A name that no candidate is, and no word of a refusal.
fn other() -> impl Strategy<Value = String> {
    "zz_[a-z]{1,12}"
}

/// The part of a body that refuses `field`, in one of the shapes that servers use.
fn refusal(field: &'static str, listed: &'static str) -> impl Strategy<Value = Value> {
    select(vec![
        json!({"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted"}),
        json!({"message": "Unsupported parameter", "param": field, "code": "unsupported_parameter"}),
        json!({"message": format!("Unrecognized request argument supplied: {field}")}),
        json!({"code": "unrecognized_keys", "keys": [field], "message": "bad"}),
        json!([format!("property {field} should not exist")]),
        json!(format!("unknown field `{field}`, expected one of `{listed}`, `zz`")),
        json!(format!("json: unknown field \"{field}\"")),
    ])
}

/// A body around it, as deep as one is looked at.
fn wrapped(inner: Value, keys: &[String]) -> Value {
    keys.iter().fold(inner, |inner, key| match key.len() % 2 {
        0 => json!({ key.as_str(): inner }),
        _ => json!([{ key.as_str(): inner }]),
    })
}

/// Any JSON, rich in the words that matter.
fn json_value() -> impl Strategy<Value = Value> {
    let words = || {
        prop_oneof![
            field().prop_map(str::to_owned),
            select(vec![
                "loc", "param", "msg", "message", "error", "detail", "body", "input", "unknown", "use "
            ])
            .prop_map(str::to_owned),
            any::<String>(),
        ]
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        vec(words(), 0..6).prop_map(|words| Value::from(words.join(" "))),
    ];
    leaf.prop_recursive(12, 64, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((words(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// What must hold of any answer.
fn holds(status: u16, body: &[u8], candidates: &[&str]) -> Result<(), TestCaseError> {
    let Some(refused) = refused_field(status, body, candidates) else { return Ok(()) };
    prop_assert!(matches!(status, 400 | 422), "status {status}");
    prop_assert!(candidates.contains(&refused.field), "{}", refused.field);
    prop_assert!(refused.message.len() <= 500, "{} bytes", refused.message.len());
    prop_assert!(!refused.message.chars().any(char::is_control), "{:?}", refused.message);
    prop_assert!(refused.instead.as_deref() != Some(refused.field));
    // Only what the body names can be refused.
    prop_assert!(String::from_utf8_lossy(body).contains(refused.field));
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes(
        status in prop_oneof![Just(400_u16), Just(422), any::<u16>()],
        body in vec(any::<u8>(), 0..400),
        candidates in vec(field(), 0..4),
    ) {
        holds(status, &body, &candidates)?;
    }

    #[test]
    fn any_text_with_the_words_of_a_refusal(
        status in prop_oneof![Just(400_u16), Just(422), any::<u16>()],
        parts in vec(prop_oneof![
            field().prop_map(str::to_owned),
            select(vec!["unknown", "not supported", "use ", "Use ", "instead", "did you mean", "expected `", "\u{130}", "\n"])
                .prop_map(str::to_owned),
            any::<String>(),
        ], 0..12),
        candidates in vec(field(), 0..4),
    ) {
        holds(status, parts.concat().as_bytes(), &candidates)?;
    }

    #[test]
    fn any_json(status in select(vec![400_u16, 422]), body in json_value(), candidates in vec(field(), 0..4)) {
        let whole = body.to_string();
        holds(status, whole.as_bytes(), &candidates)?;
        // A body that was cut is read as text.
        let cut = whole.len() / 2;
        holds(status, &whole.as_bytes()[..cut], &candidates)?;
    }

    #[test]
    fn a_refusal_of_a_known_shape_names_its_field(
        (field, inner) in (field(), field())
            .prop_filter("another is listed as right", |(field, listed)| field != listed)
            .prop_flat_map(|(field, listed)| (Just(field), refusal(field, listed))),
        keys in vec(other(), 0..4),
        status in select(vec![400_u16, 422]),
    ) {
        let body = wrapped(inner, &keys).to_string();
        let found = refused_field(status, body.as_bytes(), &FIELDS);
        prop_assert_eq!(found.map(|found| found.field), Some(field), "{}", body);
        // What is listed as right is not refused, nor is anything with another status.
        let others: Vec<&str> = FIELDS.into_iter().filter(|other| *other != field).collect();
        prop_assert_eq!(refused_field(status, body.as_bytes(), &others), None, "{}", body);
        for status in [200, 401, 404, 429, 500] {
            prop_assert!(refused_field(status, body.as_bytes(), &FIELDS).is_none());
        }
    }

    #[test]
    fn a_value_out_of_range_refuses_no_field(field in field(), value in any::<i64>(), keys in vec(other(), 0..4)) {
        let text = format!("{field} must be at least 1, got {value}");
        for inner in [
            json!({"message": text, "param": field, "code": 400}),
            json!({"type": "int_parsing", "loc": ["body", field], "msg": "Input should be a valid integer"}),
            json!({"type": "missing", "loc": ["body", field], "msg": "Field required"}),
            json!(text),
        ] {
            let body = wrapped(inner, &keys).to_string();
            prop_assert_eq!(refused_field(400, body.as_bytes(), &FIELDS), None, "{}", body);
        }
    }
}
