use super::{
    ChunkError, DONE, ServerError,
    lenient::append,
    raw::{RawChunk, RawDelta, RawFunction, RawUsage},
};
use plimsoll_record::EventKind;
use std::borrow::Cow;

/// What one payload of a stream carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The most telling of the things it carried: an error, text, a finish reason, a role, an empty delta, usage.
    pub kind: EventKind,
    /// Visible text: `delta.content`, `delta.refusal` or the `text` of the completions route.
    pub content: Cow<'a, str>,
    /// Reasoning: `delta.reasoning_content` or `delta.reasoning`.
    pub reasoning: Cow<'a, str>,
    /// Names and arguments of tool calls.
    pub tool_call: Cow<'a, str>,
    /// Why the server stopped.
    pub finish_reason: Option<Cow<'a, str>>,
    /// The server's counts, if it told any.
    pub usage: Option<Usage>,
    /// An error told inside the stream.
    pub error: Option<ServerError>,
}

/// The server's counts. In a stream they are cumulative: the last one holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub prompt_tokens: Option<u32>,
    /// Generated tokens.
    pub completion_tokens: Option<u32>,
    /// Prompt tokens found in the prefix cache.
    pub cached_tokens: Option<u32>,
}

/// Reads the payload of one event.
///
/// ```
/// use plimsoll_record::EventKind;
/// use plimsoll_wire::chat::parse_chunk;
///
/// let chunk = parse_chunk(r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}"#)?;
/// assert_eq!((chunk.kind, &*chunk.content), (EventKind::Content, "Hi"));
/// assert_eq!(parse_chunk("[DONE]")?.kind, EventKind::Done);
/// # Ok::<(), plimsoll_wire::chat::ChunkError>(())
/// ```
pub fn parse_chunk(data: &str) -> Result<Chunk<'_>, ChunkError> {
    let data = data.trim();
    if data == DONE || data.is_empty() {
        let kind = if data.is_empty() { EventKind::Empty } else { EventKind::Done };
        return Ok(Chunk::empty(kind));
    }
    match serde_json::from_str::<RawChunk<'_>>(data) {
        Ok(raw) => Ok(Chunk::from_raw(raw, Text::Delta)),
        Err(error) => match without_lone_surrogates(data) {
            Some(repaired) => serde_json::from_str::<RawChunk<'_>>(&repaired)
                .map(|raw| Chunk::from_raw(raw, Text::Delta).into_owned())
                .map_err(|error| ChunkError::new(error, data)),
            None => Err(ChunkError::new(error, data)),
        },
    }
}

/// Reads one event: [`parse_chunk`], but an event named `error` is an error whatever its payload.
pub fn parse_event<'a>(name: &str, data: &'a str) -> Result<Chunk<'a>, ChunkError> {
    let chunk = parse_chunk(data);
    if name != "error"
        || chunk.as_ref().is_ok_and(|chunk| chunk.error.is_some() || chunk.kind == EventKind::Done)
    {
        return chunk;
    }
    let message = super::error_message(data.as_bytes());
    Ok(Chunk { error: Some(ServerError { message, code: None }), ..Chunk::empty(EventKind::Error) })
}

/// Where the text of a choice is looked for first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// In a stream: a `message` beside a `delta` repeats what came before.
    Delta,
    /// In a whole body.
    Message,
}

impl<'a> Chunk<'a> {
    const fn empty(kind: EventKind) -> Self {
        Self {
            kind,
            content: Cow::Borrowed(""),
            reasoning: Cow::Borrowed(""),
            tool_call: Cow::Borrowed(""),
            finish_reason: None,
            usage: None,
            error: None,
        }
    }

    /// Generated text of every channel, in the order content, reasoning, tool call.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [&*self.content, &*self.reasoning, &*self.tool_call].into_iter().filter(|text| !text.is_empty())
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Chunk<'static> {
        Chunk {
            kind: self.kind,
            content: Cow::Owned(self.content.into_owned()),
            reasoning: Cow::Owned(self.reasoning.into_owned()),
            tool_call: Cow::Owned(self.tool_call.into_owned()),
            finish_reason: self.finish_reason.map(|reason| Cow::Owned(reason.into_owned())),
            usage: self.usage,
            error: self.error,
        }
    }

    pub(super) fn from_raw(raw: RawChunk<'a>, first: Text) -> Self {
        let mut chunk = Self::empty(EventKind::Empty);
        let (mut role, mut choices) = (false, false);
        for choice in raw.choices.0 {
            choices = true;
            append(&mut chunk.content, choice.text.0);
            let (delta, message) = (choice.delta.0, choice.message.0);
            let text = if first == Text::Delta { delta.or(message) } else { message.or(delta) };
            role |= text.is_some_and(|delta| chunk.take(delta));
            if !choice.finish_reason.0.is_empty() {
                chunk.finish_reason = Some(choice.finish_reason.0);
            }
        }
        chunk.usage = raw.usage.0.and_then(Usage::from_raw);
        chunk.error = ServerError::from_value(&raw.error).or_else(|| {
            (raw.object.0 == "error").then(|| ServerError::from_parts(&raw.message.0, &raw.code))
        });
        chunk.kind = match () {
            () if chunk.error.is_some() => EventKind::Error,
            () if !chunk.content.is_empty() => EventKind::Content,
            () if !chunk.reasoning.is_empty() => EventKind::Reasoning,
            () if !chunk.tool_call.is_empty() => EventKind::ToolCall,
            () if chunk.finish_reason.is_some() => EventKind::Finish,
            () if role => EventKind::Role,
            () if !choices && chunk.usage.is_some() => EventKind::Usage,
            () => EventKind::Empty,
        };
        chunk
    }

    /// Takes the text of a delta or message; tells whether it named a role.
    fn take(&mut self, delta: RawDelta<'a>) -> bool {
        append(&mut self.content, delta.content.0);
        append(&mut self.content, delta.refusal.0);
        // Some servers send the same text under both names.
        let reasoning = delta.reasoning_content.0;
        append(&mut self.reasoning, if reasoning.is_empty() { delta.reasoning.0 } else { reasoning });
        let functions = delta.tool_calls.0.into_iter().filter_map(|call| call.function.0);
        for RawFunction { name, arguments } in functions.chain(delta.function_call.0) {
            append(&mut self.tool_call, name.0);
            append(&mut self.tool_call, arguments.0);
        }
        !delta.role.0.is_empty()
    }
}

impl Usage {
    /// Absent when no count was told.
    pub(super) fn from_raw(raw: RawUsage) -> Option<Self> {
        let usage = Self {
            prompt_tokens: raw.prompt_tokens.0,
            completion_tokens: raw.completion_tokens.0,
            cached_tokens: raw.prompt_tokens_details.0.and_then(|details| details.cached_tokens.0),
        };
        (usage != Self::default()).then_some(usage)
    }
}

/// JSON lets `\uD83D` stand alone, which no Rust string can hold; such an escape becomes U+FFFD. None when there is
/// none.
fn without_lone_surrogates(data: &str) -> Option<String> {
    let unit = |at: usize| {
        let hex = data.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(data.len());
    let (mut copied, mut at, mut found) = (0, 0, false);
    while let Some(offset) = data.get(at..).and_then(|rest| memchr::memchr(b'\\', rest.as_bytes())) {
        at += offset;
        let width = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str(data.get(copied..at)?);
                out.push_str("\\ufffd");
                copied = at + 6;
                found = true;
                6
            }
            // The escaped character may be a backslash itself.
            _ => 2,
        };
        at += width;
    }
    out.push_str(data.get(copied..)?);
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(data: &str) -> EventKind {
        parse_chunk(data).unwrap_or_else(|error| panic!("{data}: {error}")).kind
    }

    fn delta(delta: &str) -> String {
        format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
    }

    #[test]
    fn kinds() {
        let cases = [
            (delta(r#"{"role":"assistant","content":""}"#), EventKind::Role),
            (delta(r#"{"role":"assistant","content":"a"}"#), EventKind::Content),
            (delta(r#"{"content":""}"#), EventKind::Empty),
            (delta("{}"), EventKind::Empty),
            (delta("null"), EventKind::Empty),
            (delta("7"), EventKind::Empty),
            (delta(r#"{"reasoning":"a","content":null}"#), EventKind::Reasoning),
            (delta(r#"{"reasoning_content":"a","content":""}"#), EventKind::Reasoning),
            (delta(r#"{"refusal":"no"}"#), EventKind::Content),
            (delta(r#"{"tool_calls":[{"function":{"name":"f","arguments":""}}]}"#), EventKind::ToolCall),
            (delta(r#"{"tool_calls":[{"function":{"name":"","arguments":""}}]}"#), EventKind::Empty),
            (delta(r#"{"tool_calls":null,"function_call":{"arguments":"{"}}"#), EventKind::ToolCall),
            (r#"{"choices":[{"text":"a"}]}"#.to_owned(), EventKind::Content),
            (r#"{"choices":[{"text":"","finish_reason":"length"}]}"#.to_owned(), EventKind::Finish),
            (
                r#"{"choices":[{"delta":null,"finish_reason":"stop"}],"usage":null}"#.to_owned(),
                EventKind::Finish,
            ),
            (r#"{"choices":[],"usage":{"prompt_tokens":1}}"#.to_owned(), EventKind::Usage),
            (r#"{"choices":null,"usage":{"completion_tokens":1}}"#.to_owned(), EventKind::Usage),
            (r#"{"choices":[],"usage":{}}"#.to_owned(), EventKind::Empty),
            ("{}".to_owned(), EventKind::Empty),
            ("[DONE]".to_owned(), EventKind::Done),
            (" [DONE] ".to_owned(), EventKind::Done),
            (String::new(), EventKind::Empty),
            (r#"{"error":{"message":"m"},"choices":[]}"#.to_owned(), EventKind::Error),
            (r#"{"error":null,"choices":[{"text":"a"}]}"#.to_owned(), EventKind::Content),
            (r#"{"object":"error","message":"m","code":400}"#.to_owned(), EventKind::Error),
        ];
        for (data, want) in cases {
            assert_eq!(kind(&data), want, "{data}");
        }
    }

    #[test]
    fn text_is_taken_once_and_borrowed() {
        let data = r#"{"choices":[{"delta":{"content":"a"},"message":{"content":"so far a"}}]}"#;
        assert!(matches!(parse_chunk(data).unwrap().content, Cow::Borrowed("a")));
        let both = delta(r#"{"reasoning":"why","reasoning_content":"why"}"#);
        assert_eq!(parse_chunk(&both).unwrap().reasoning, "why");
        let escaped = delta(r#"{"content":"a\n\u00e9"}"#);
        assert_eq!(parse_chunk(&escaped).unwrap().content, "a\n\u{e9}");
        let parts = delta(r#"{"content":[{"type":"text","text":"a"},{"type":"image"},"b"]}"#);
        assert_eq!(parse_chunk(&parts).unwrap().content, "ab");
        let two = r#"{"choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}]}"#;
        assert_eq!(parse_chunk(two).unwrap().content, "ab");
    }

    #[test]
    fn odd_counts_cost_nothing_else() {
        let usage = |json: &str| {
            let data = format!(r#"{{"choices":[{{"text":"a"}}],"usage":{json}}}"#);
            let chunk = parse_chunk(&data).unwrap_or_else(|error| panic!("{data}: {error}"));
            assert_eq!(chunk.content, "a", "{data}");
            chunk.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens))
        };
        let full =
            r#"{"prompt_tokens":9,"completion_tokens":2.0,"prompt_tokens_details":{"cached_tokens":4}}"#;
        assert_eq!(usage(full), Some((Some(9), Some(2), Some(4))));
        assert_eq!(
            usage(r#"{"completion_tokens":0,"prompt_tokens_details":null}"#),
            Some((None, Some(0), None))
        );
        let wrong = r#"{"prompt_tokens":-1,"completion_tokens":"5","total_tokens":99999999999}"#;
        for none in [
            wrong,
            "{}",
            "null",
            "[]",
            "\"x\"",
            r#"{"prompt_tokens":4294967296}"#,
            r#"{"prompt_tokens":1.5}"#,
        ] {
            assert_eq!(usage(none), None, "{none}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_costs_one_character() {
        let data = delta(r#"{"content":"a\ud83d\\u\ude00 \ud83d\ude00"}"#);
        assert_eq!(parse_chunk(&data).unwrap().content, "a\u{fffd}\\u\u{fffd} \u{1f600}");
    }

    #[test]
    fn errors_are_told() {
        let error = |data: &str| parse_chunk(data).unwrap().error.unwrap();
        let told = error(r#"{"error":{"message":"engine\n died","code":503}}"#);
        assert_eq!((told.message.as_str(), told.code.as_deref()), ("engine died", Some("503")));
        assert_eq!(error(r#"{"error":"gone","error_type":"x"}"#).message, "gone");
        assert_eq!(error(r#"{"object":"error","message":"m","code":"c"}"#).code.as_deref(), Some("c"));
        let named = parse_event("error", "the engine is dead").unwrap();
        assert_eq!(
            (named.kind, named.error.unwrap().message.as_str()),
            (EventKind::Error, "the engine is dead")
        );
        assert_eq!(parse_event("", r#"{"choices":[{"text":"a"}]}"#).unwrap().kind, EventKind::Content);
        let long = parse_chunk(": GATEWAY PROCESSING").unwrap_err().to_string();
        assert!(long.contains("GATEWAY"), "{long}");
        assert!(parse_chunk(&"[".repeat(100_000)).is_err(), "deep nesting is an error, not a crash");
    }
}
