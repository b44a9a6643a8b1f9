use serde_json::{Map, Value, value::RawValue};
use thiserror::Error;

/// Longest message kept, bytes.
pub const MESSAGE_LIMIT: usize = 4096;

/// Longest error value that is read rather than quoted, bytes.
const READ_LIMIT: usize = 1 << 16;

/// A payload that could not be read.
#[derive(Debug, Error)]
#[error("not the JSON of a chunk or body: {source} in `{excerpt}`")]
pub struct ChunkError {
    source: serde_json::Error,
    excerpt: String,
}

impl ChunkError {
    pub(super) fn new(source: serde_json::Error, data: &str) -> Self {
        Self { source, excerpt: clean(data, 80) }
    }

    pub(crate) fn of_body(source: serde_json::Error, body: &[u8]) -> Self {
        Self::new(source, &String::from_utf8_lossy(body.get(..256).unwrap_or(body)))
    }
}

/// An error that a server told, in a body or inside a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// The server's words, bounded to [`MESSAGE_LIMIT`], without control characters.
    pub message: String,
    /// The server's code: a number such as `503`, or a word such as `rate_limit_exceeded`.
    pub code: Option<String>,
}

impl ServerError {
    /// From the value of an `error` field; absent when the value tells of none (null, false or empty).
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let message = match value {
            Value::Null | Value::Bool(false) => return None,
            Value::Object(fields) => {
                let words = ["message", "detail", "msg", "error", "reason", "type", "code"];
                let message = words.iter().find_map(|field| message_of(fields.get(*field)?));
                if fields.is_empty() {
                    return None;
                }
                message.unwrap_or_else(|| clean(&value.to_string(), MESSAGE_LIMIT))
            }
            value => message_of(value)?,
        };
        Some(Self { message, code: value.get("code").and_then(code_of) })
    }

    /// The same of a value as it stands. A huge one is no error that anybody wrote: it is quoted, not read.
    pub(super) fn from_raw(raw: &RawValue) -> Option<Self> {
        if raw.get().len() > READ_LIMIT {
            return Some(Self { message: clean(raw.get(), MESSAGE_LIMIT), code: None });
        }
        Self::from_value(&serde_json::from_str(raw.get()).ok()?)
    }

    /// From the fields `message` and `code` of a chunk or body that is an error as a whole.
    pub(super) fn from_parts(message: &str, code: Option<&RawValue>) -> Self {
        let code = code.filter(|code| code.get().len() <= READ_LIMIT);
        let code = code.and_then(|code| serde_json::from_str::<Value>(code.get()).ok());
        let message = clean(message, MESSAGE_LIMIT);
        let message = if message.is_empty() { "an error without a message".to_owned() } else { message };
        Self { message, code: code.as_ref().and_then(code_of) }
    }

    /// From an error body; see [`error_message`].
    pub(super) fn from_fields(fields: &Map<String, Value>) -> Option<Self> {
        let error = fields.get("error").and_then(Self::from_value);
        error.or_else(|| {
            let message = message_of(fields.get("detail")?);
            Some(Self { message: message?, code: None })
        })
    }
}

/// The server's message in the body of a refusal: `{"error":{"message"}}`, `{"error":"..."}`, `{"detail":...}`,
/// `{"message"}` or, failing these, the text itself. Bounded to [`MESSAGE_LIMIT`], without control characters.
pub fn error_message(body: &[u8]) -> String {
    // No message is that long: what follows in a huge body is not worth a copy.
    let text = String::from_utf8_lossy(body.get(..1 << 20).unwrap_or(body));
    let message = serde_json::from_str::<Value>(text.trim()).ok().and_then(|body| {
        let fields = body.as_object()?;
        let error = ServerError::from_fields(fields).map(|error| error.message);
        error.or_else(|| message_of(fields.get("message")?))
    });
    let message = message.unwrap_or_else(|| clean(&text, MESSAGE_LIMIT));
    if message.is_empty() { "the body is empty".to_owned() } else { message }
}

/// Words in a value: a string, a number, the `message` or `msg` of an object, or a list of such (as `FastAPI` sends
/// them in `detail`).
fn message_of(value: &Value) -> Option<String> {
    let message = match value {
        Value::String(text) => clean(text, MESSAGE_LIMIT),
        Value::Number(_) | Value::Bool(true) => value.to_string(),
        Value::Object(fields) => {
            let text = fields.get("message").or_else(|| fields.get("msg"))?.as_str()?;
            match fields.get("loc").and_then(Value::as_array) {
                Some(path) => clean(&format!("{}: {text}", dotted(path)), MESSAGE_LIMIT),
                None => clean(text, MESSAGE_LIMIT),
            }
        }
        Value::Array(items) => {
            let all: Vec<String> = items.iter().filter_map(message_of).collect();
            clean(&all.join("; "), MESSAGE_LIMIT)
        }
        Value::Null | Value::Bool(false) => return None,
    };
    (!message.is_empty()).then_some(message)
}

fn dotted(path: &[Value]) -> String {
    let parts = path.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), ToOwned::to_owned));
    parts.collect::<Vec<_>>().join(".")
}

fn code_of(value: &Value) -> Option<String> {
    match value {
        Value::String(code) if !code.is_empty() => Some(clean(code, 64)),
        Value::Number(code) => Some(code.to_string()),
        _ => None,
    }
}

/// Text for people: control characters become spaces, runs of white space one space; cut at `limit` bytes.
pub(crate) fn clean(text: &str, limit: usize) -> String {
    const CUT: &str = "...";
    let mut out = String::new();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word.get(..=limit).unwrap_or(word));
        if out.len() > limit {
            let mut end = limit.saturating_sub(CUT.len());
            while !out.is_char_boundary(end) {
                end -= 1;
            }
            out.truncate(end);
            out.push_str(CUT);
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_usual_bodies() {
        let cases = [
            (r#"{"error":{"message":"quota exceeded","type":"x"}}"#, "quota exceeded"),
            (r#"{"error":"Unauthorized"}"#, "Unauthorized"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"loc":["body","n",0],"msg":"bad"},{"msg":"worse"}]}"#, "body.n.0: bad; worse"),
            (r#"{"object":"error","message":"old shape","code":400}"#, "old shape"),
            (r#"{"error":{"code":7}}"#, "7"),
            (r#"{"error":{"hint":"ask"}}"#, r#"{"hint":"ask"}"#),
            (r#"{"error":null,"message":"m"}"#, "m"),
            (r#"{"other":1}"#, r#"{"other":1}"#),
            ("<html>\n<b>502</b>\u{1b}[31m\r\n", "<html> <b>502</b> [31m"),
            ("  \n", "the body is empty"),
            ("", "the body is empty"),
            ("\0 \u{7f}", "the body is empty"),
        ];
        for (body, want) in cases {
            assert_eq!(error_message(body.as_bytes()), want, "{body}");
        }
    }

    #[test]
    fn messages_are_bounded_at_a_character() {
        let long = error_message("é".repeat(100_000).as_bytes());
        assert!(long.len() <= MESSAGE_LIMIT && long.ends_with("é..."), "{}", long.len());
        assert_eq!(clean("abcdef", 6), "abcdef");
        assert_eq!(clean("abcdefg", 6), "abc...");
        assert!(error_message(b"\xff\xfe bad").contains("bad"));
    }
}
