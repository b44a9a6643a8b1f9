use crate::Message;
use serde_json::{Map, Value};

/// What one line or item of a file amounts to.
pub struct Entry {
    /// The conversation, or why there is none.
    pub messages: Result<Vec<Message>, String>,
    /// Fields that would change a request and are not used.
    pub unused_fields: Vec<&'static str>,
}

/// Fields of a whole request that the plan decides.
const DECIDED_BY_PLAN: [&str; 5] =
    ["model", "max_tokens", "max_completion_tokens", "output_tokens", "temperature"];

impl Entry {
    pub fn skip(reason: &str) -> Self {
        Self { messages: Err(reason.to_owned()), unused_fields: Vec::new() }
    }
}

/// A line of plain text.
pub fn of_text(line: &str) -> Entry {
    Entry { messages: single(line), unused_fields: Vec::new() }
}

/// A line of JSON Lines.
pub fn of_json_line(line: &str) -> Entry {
    match serde_json::from_str(line) {
        Ok(value) => of_value(value),
        Err(_) => Entry::skip("not JSON"),
    }
}

/// A parsed item.
pub fn of_value(value: Value) -> Entry {
    match value {
        Value::String(text) => Entry { messages: single(&text), unused_fields: Vec::new() },
        Value::Array(turns) => Entry { messages: conversation(&turns), unused_fields: Vec::new() },
        Value::Object(object) => {
            let messages = of_object(&object);
            let used = messages.is_ok();
            let unused_fields =
                DECIDED_BY_PLAN.into_iter().filter(|field| used && object.contains_key(*field)).collect();
            Entry { messages, unused_fields }
        }
        _ => Entry::skip("neither an object, a list nor a string"),
    }
}

/// True for a list of messages, as opposed to a list of entries.
pub fn is_conversation(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| item.get("role").is_some() && item.get("content").is_some())
}

fn of_object(object: &Map<String, Value>) -> Result<Vec<Message>, String> {
    if let Some(prompt) = object.get("prompt") {
        return match prompt {
            Value::String(text) => single(text),
            Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_number) => {
                Err("`prompt` is a list of token ids".to_owned())
            }
            _ => Err("`prompt` is not a string".to_owned()),
        };
    }
    if let Some(messages) = object.get("messages") {
        let turns = messages.as_array().ok_or("`messages` is not a list")?;
        return conversation(turns);
    }
    if let Some(turns) = object.get("conversations").or_else(|| object.get("conversation")) {
        return share_gpt(turns.as_array().ok_or("`conversations` is not a list")?);
    }
    Err("no `prompt`, `messages` or `conversations`".to_owned())
}

fn single(text: &str) -> Result<Vec<Message>, String> {
    if text.trim().is_empty() { Err("empty prompt".to_owned()) } else { Ok(vec![Message::user(text)]) }
}

/// Messages as OpenAI's API takes them. Answers at the end are cut off: they are what the server shall give.
fn conversation(turns: &[Value]) -> Result<Vec<Message>, String> {
    let mut messages = Vec::with_capacity(turns.len());
    for turn in turns {
        let role = turn.get("role").and_then(Value::as_str).ok_or("a message without a role")?;
        let content = match turn.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => text_of_parts(parts)?,
            _ => return Err("a message whose content is not text".to_owned()),
        };
        messages.push(Message { role: role.to_owned(), content });
    }
    while messages.last().is_some_and(|message| message.role == "assistant") {
        messages.pop();
    }
    if messages.iter().any(|message| message.role == "user" && !message.content.trim().is_empty()) {
        Ok(messages)
    } else {
        Err("no text of the user".to_owned())
    }
}

fn text_of_parts(parts: &[Value]) -> Result<String, String> {
    let mut text = String::new();
    for part in parts {
        let piece = part.get("text").and_then(Value::as_str).ok_or("a message whose content is not text")?;
        text.push_str(piece);
    }
    Ok(text)
}

/// The first turn of the user, after the system's if that comes before it.
fn share_gpt(turns: &[Value]) -> Result<Vec<Message>, String> {
    let mut system = None;
    for turn in turns {
        let from = turn.get("from").or_else(|| turn.get("role")).and_then(Value::as_str);
        let value = turn.get("value").or_else(|| turn.get("content")).and_then(Value::as_str);
        match (from, value) {
            (Some("system"), Some(text)) => {
                system = Some(Message { role: "system".to_owned(), content: text.to_owned() });
            }
            (Some("human" | "user"), value) => {
                let asked = single(value.unwrap_or_default())?;
                return Ok(system.into_iter().chain(asked).collect());
            }
            _ => {}
        }
    }
    Err(if turns.is_empty() { "an empty conversation" } else { "no text of the user" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<(String, String)>, String> {
        let messages = of_json_line(line).messages?;
        Ok(messages.into_iter().map(|message| (message.role, message.content)).collect())
    }

    fn turns(turns: &[(&str, &str)]) -> Vec<(String, String)> {
        turns.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn answers_at_the_end_are_cut_off_and_parts_are_joined() {
        let line = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
            {"role":"assistant","content":"c"}]}"#;
        assert_eq!(read(line), Ok(turns(&[("user", "ab")])));
    }

    #[test]
    fn reasons() {
        for (line, reason) in [
            ("{", "not JSON"),
            ("7", "neither an object, a list nor a string"),
            ("{}", "no `prompt`, `messages` or `conversations`"),
            (r#"{"prompt":" "}"#, "empty prompt"),
            (r#"{"prompt":[1,2]}"#, "`prompt` is a list of token ids"),
            (r#"{"prompt":null}"#, "`prompt` is not a string"),
            (r#"{"messages":3}"#, "`messages` is not a list"),
            (r#"{"messages":[]}"#, "no text of the user"),
            (r#"[{"content":"x"}]"#, "a message without a role"),
            (r#"[{"role":"user","content":null}]"#, "a message whose content is not text"),
            (r#"[{"role":"user","content":[{"type":"image_url"}]}]"#, "a message whose content is not text"),
            (r#"{"conversations":[]}"#, "an empty conversation"),
            (r#"{"conversations":[{"from":"gpt","value":"x"}]}"#, "no text of the user"),
            (r#"{"conversations":[{"from":"human","value":" \n"}]}"#, "empty prompt"),
        ] {
            assert_eq!(read(line), Err(reason.to_owned()), "{line}");
        }
    }

    #[test]
    fn fields_that_the_plan_decides_are_named() {
        let entry = of_json_line(r#"{"prompt":"x","model":"m","max_tokens":3}"#);
        assert_eq!(entry.unused_fields, ["model", "max_tokens"]);
        assert!(of_json_line(r#"{"model":"m"}"#).unused_fields.is_empty());
    }
}
