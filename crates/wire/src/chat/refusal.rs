use super::error::clean;
use serde_json::Value;

/// A field that a server refuses to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedField<'c> {
    /// Which of the candidates.
    pub field: &'c str,
    /// The field that the server names in its place, if it does.
    pub instead: Option<String>,
    /// The server's words, bounded to 500 bytes.
    pub message: String,
}

/// Longest body that is looked at, bytes.
const READ: usize = 1 << 16;
/// Deepest nesting that is looked at.
const DEPTH: usize = 8;

/// What servers say of a field that they do not know or do not support. A field named without such words is one whose value
/// is wrong, which leaving it out would not mend.
const WORDS: [&str; 25] = [
    "extra_forbidden",
    "extra inputs",
    "extra fields",
    "extraneous",
    "not permitted",
    "not allowed",
    "not supported",
    "not recognized",
    "not a valid",
    "not exist",
    "no such",
    "cannot find field",
    "does not support",
    "doesn't support",
    "forbidden",
    "unsupported",
    "unknown",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "unrecognized_keys",
    "additional propert",
    "deprecated",
    "invalid field",
    "invalid parameter",
];

/// Where a list of what would be right begins: nothing behind it is refused.
const LISTS: [&str; 10] = [
    "expected one of",
    "expected `",
    "expected:",
    "please use",
    "use ",
    "did you mean",
    "instead",
    "valid fields",
    "supported parameters",
    "allowed fields",
];

/// Which of the candidates, fields of a request, the server refuses to take, judging by a response with status 400 or
/// 422. It knows the shapes of pydantic (`loc`), of OpenAI (`param`), and the texts that parsers in Rust, Go, Java and
/// JavaScript give. Absent when the body tells of another problem, such as a value out of range.
///
/// ```
/// use plimsoll_wire::chat::refused_field;
///
/// let body = br#"{"error":{"message":"json: unknown field \"stream_options\""}}"#;
/// let refused = refused_field(400, body, &["max_tokens", "stream_options"]);
/// assert_eq!(refused.map(|refused| refused.field), Some("stream_options"));
/// ```
pub fn refused_field<'c>(status: u16, body: &[u8], candidates: &[&'c str]) -> Option<RefusedField<'c>> {
    if !matches!(status, 400 | 422) {
        return None;
    }
    let body = String::from_utf8_lossy(body.get(..READ).unwrap_or(body));
    match serde_json::from_str::<Value>(body.trim()) {
        Ok(value) => in_value(&value, candidates, DEPTH),
        Err(_) => in_text(&body, candidates),
    }
}

/// The first object, list item or text that tells of a refusal.
fn in_value<'c>(value: &Value, candidates: &[&'c str], depth: usize) -> Option<RefusedField<'c>> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Object(fields) => {
            let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
            let told = ["message", "msg", "type", "code", "detail"].map(word).join("; ");
            let place = ["loc", "param", "field", "keys", "params", "path", "property"]
                .iter()
                .find_map(|name| in_place(fields.get(*name)?, candidates));
            if let Some(field) = place.filter(|_| refuses(&told)) {
                return Some(RefusedField {
                    field,
                    instead: instead(&told, field),
                    message: clean(&told, 500),
                });
            }
            // What was sent may be repeated there, with words of its own.
            let own = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "input" | "body"));
            own.into_iter().find_map(|(_, value)| in_value(value, candidates, depth))
        }
        Value::Array(items) => items.iter().find_map(|item| in_value(item, candidates, depth)),
        Value::String(text) => in_text(text, candidates),
        _ => None,
    }
}

/// The candidate that a path ends in, or the deepest part of it that is one.
fn in_place<'c>(place: &Value, candidates: &[&'c str]) -> Option<&'c str> {
    let known = |part: &str| candidates.iter().copied().find(|candidate| *candidate == part);
    match place {
        Value::String(path) => path.rsplit(|c: char| !is_name(c)).find_map(known),
        Value::Array(parts) => parts.iter().rev().filter_map(Value::as_str).find_map(known),
        Value::Object(fields) => fields.values().filter_map(Value::as_str).find_map(known),
        _ => None,
    }
}

/// The first candidate that a text of a refusal names.
fn in_text<'c>(text: &str, candidates: &[&'c str]) -> Option<RefusedField<'c>> {
    if !refuses(text) {
        return None;
    }
    let blamed = text.get(..list_start(text)).unwrap_or(text);
    let named =
        |text: &str| names(text).find_map(|name| candidates.iter().copied().find(|known| *known == name));
    let field = named(blamed)?;
    Some(RefusedField { field, instead: instead(text, field), message: clean(text, 500) })
}

fn refuses(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

fn list_start(text: &str) -> usize {
    let lower = text.to_ascii_lowercase();
    let starts = LISTS.iter().filter_map(|list| {
        let found = lower.match_indices(list).map(|(at, _)| at);
        // A whole word, not the end of `because `.
        found.into_iter().find(|at| !lower.get(..*at).is_some_and(|before| before.ends_with(is_name)))
    });
    starts.min().unwrap_or(text.len())
}

/// The field that a text names after `use`.
fn instead(text: &str, refused: &str) -> Option<String> {
    let (_, after) = text.split_at_checked(list_start(text))?;
    let lower = after.to_ascii_lowercase();
    let advice = ["use ", "please use", "did you mean"].iter().any(|word| lower.starts_with(word));
    let mut names = names(after).filter(|name| name.contains('_') && *name != refused && name.len() <= 64);
    names.next().filter(|_| advice).map(str::to_owned)
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_name(c)).filter(|name| !name.is_empty())
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 6] = [
        "max_tokens",
        "max_completion_tokens",
        "stream_options",
        "continuous_usage_stats",
        "temperature",
        "return_token_ids",
    ];

    fn refused(status: u16, body: &str) -> Option<(&'static str, Option<String>)> {
        refused_field(status, body.as_bytes(), &FIELDS).map(|refused| (refused.field, refused.instead))
    }

    #[test]
    fn the_refused_field_is_not_its_own_substitute() {
        let body = r#"{"error":{"message":"max_tokens is not supported; use of max_tokens has ended: send max_completion_tokens"}}"#;
        assert_eq!(refused(400, body), Some(("max_tokens", Some("max_completion_tokens".to_owned()))));
        let alone = r#"{"error":{"message":"max_tokens is not supported; use max_tokens no more"}}"#;
        assert_eq!(refused(400, alone), Some(("max_tokens", None)));
    }

    // Shapes of servers as they are known; the wording is ours where a server's would be long.
    #[test]
    fn the_field_is_found_in_the_usual_refusals() {
        let cases = [
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":16}]}"#,
                "max_completion_tokens",
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","continuous_usage_stats"],"msg":"Extra inputs are not permitted"}]}"#,
                "continuous_usage_stats",
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","x"],"msg":"Extra inputs are not permitted"}]}"#,
                "stream_options",
            ),
            (
                r#"{"error":{"message":"1 validation error:\n  {'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 16}","type":"BadRequestError","param":null,"code":400}}"#,
                "max_completion_tokens",
            ),
            (
                r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature","code":"unsupported_value"}}"#,
                "temperature",
            ),
            (
                r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#,
                "stream_options",
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"stream_options: Extra inputs are not permitted"}}"#,
                "stream_options",
            ),
            (
                "Failed to deserialize the JSON body into the target type: unknown field `stream_options`, expected one of `model`, `max_tokens`, `temperature` at line 1 column 9",
                "stream_options",
            ),
            (
                r#"{"message":"unknown field: parameter 'max_completion_tokens' is not a valid field"}"#,
                "max_completion_tokens",
            ),
            (
                r#"{"error":"Additional properties are not allowed ('stream_options' was unexpected)"}"#,
                "stream_options",
            ),
            (r#"{"message":["property return_token_ids should not exist"]}"#, "return_token_ids"),
            (
                r#"{"error":{"issues":[{"code":"unrecognized_keys","keys":["stream_options"],"path":[],"message":"bad"}]}}"#,
                "stream_options",
            ),
            (
                r#"{"error":{"message":"Invalid JSON payload. Unknown name \"stream_options\": Cannot find field."}}"#,
                "stream_options",
            ),
            ("create() got an unexpected keyword argument 'max_completion_tokens'", "max_completion_tokens"),
            (
                "Malformed input: extraneous key [max_completion_tokens] is not permitted",
                "max_completion_tokens",
            ),
        ];
        for (body, want) in cases {
            assert_eq!(refused(400, body).map(|refused| refused.0), Some(want), "{body}");
            assert_eq!(refused(422, body).map(|refused| refused.0), Some(want), "{body}");
            assert_eq!(refused(500, body), None, "{body}");
        }
    }

    #[test]
    fn the_advice_is_kept() {
        let body = |param: &str| {
            format!(
                r#"{{"error":{{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":{param},"code":"unsupported_parameter"}}}}"#
            )
        };
        for param in ["\"max_tokens\"", "null"] {
            let want = Some(("max_tokens", Some("max_completion_tokens".to_owned())));
            assert_eq!(refused(400, &body(param)), want, "{param}");
        }
        assert_eq!(refused(400, "'max_tokens' is deprecated"), Some(("max_tokens", None)));
        let twice =
            "unknown field 'max_tokens'; did you mean by max_tokens what is max_completion_tokens here?";
        assert_eq!(
            refused(400, twice),
            Some(("max_tokens", Some("max_completion_tokens".to_owned()))),
            "no field takes its own place"
        );
    }

    #[test]
    fn other_problems_refuse_no_field() {
        for body in [
            r#"{"error":{"message":"max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)","param":"max_tokens","code":400}}"#,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens, you asked for 9000 (8000 in max_tokens)","param":"max_tokens"}}"#,
            r#"{"detail":[{"type":"int_parsing","loc":["body","max_tokens"],"msg":"Input should be a valid integer"}]}"#,
            r#"{"detail":[{"type":"missing","loc":["body","max_tokens"],"msg":"Field required"}]}"#,
            r#"{"detail":[{"type":"missing","loc":["body","n"],"msg":"Field required","input":{"p":"unknown temperature"}}]}"#,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","other"],"msg":"Extra inputs are not permitted"}]}"#,
            "unknown field `other`, expected one of `max_tokens`, `stream_options`",
            "",
            "{}",
            "<html>400</html>",
        ] {
            assert_eq!(refused(400, body), None, "{body}");
        }
    }
}
