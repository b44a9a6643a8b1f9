use super::{
    ChunkError, DONE, ServerError, Usage, dialect,
    fill::read,
    payload::{Choices, Payload},
    surrogates::without_lone,
};
use plimsoll_record::EventKind;
use serde_json::de::StrRead;
use std::borrow::Cow;

/// What one payload of a stream carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The most telling of the things it carried: an error, text, a finish reason, a role, an empty delta, usage.
    pub kind: EventKind,
    /// Visible text: `delta.content`, `delta.refusal`, the `text` of the completions route, and what stands for them in
    /// the other dialects.
    pub content: Cow<'a, str>,
    /// Reasoning, under whichever of its names.
    pub reasoning: Cow<'a, str>,
    /// Names and arguments of tool calls.
    pub tool_call: Cow<'a, str>,
    /// Number of generated token ids, where the server sends them (`return_token_ids`).
    pub tokens: Option<u32>,
    /// Number of ids of the prompt, told once.
    pub prompt_tokens: Option<u32>,
    /// Why the server stopped, in its own words.
    pub finish_reason: Option<Cow<'a, str>>,
    /// The server's counts, if it told any.
    pub usage: Option<Usage>,
    /// An error told inside the stream.
    pub error: Option<ServerError>,
    /// The answer is over, whatever the body may still bring: `[DONE]`, `message_stop`, `response.completed` and the like.
    pub complete: bool,
}

/// Reads the payload of one event of any of the four dialects, told apart by what it says of itself.
///
/// ```
/// use plimsoll_record::EventKind;
/// use plimsoll_wire::chat::parse_chunk;
///
/// let chunk = parse_chunk(r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}"#)?;
/// assert_eq!((chunk.kind, &*chunk.content), (EventKind::Content, "Hi"));
/// let chunk = parse_chunk(r#"{"type":"response.output_text.delta","delta":"Hi"}"#)?;
/// assert_eq!((chunk.kind, &*chunk.content), (EventKind::Content, "Hi"));
/// let chunk = parse_chunk("[DONE]")?;
/// assert_eq!((chunk.kind, chunk.complete), (EventKind::Done, true));
/// # Ok::<(), plimsoll_wire::chat::ChunkError>(())
/// ```
pub fn parse_chunk(data: &str) -> Result<Chunk<'_>, ChunkError> {
    parse_named("", data)
}

fn parse_named<'a>(name: &str, data: &'a str) -> Result<Chunk<'a>, ChunkError> {
    let data = data.trim();
    if data == DONE {
        return Ok(Chunk { complete: true, ..Chunk::empty(EventKind::Done) });
    }
    if data.is_empty() {
        return Ok(Chunk::empty(EventKind::Empty));
    }
    match chunk_of(name, data) {
        Ok(chunk) => Ok(chunk),
        Err(error) => match without_lone(data) {
            Some(repaired) => {
                chunk_of(name, &repaired).map(Chunk::into_owned).map_err(|error| ChunkError::new(error, data))
            }
            None => Err(ChunkError::new(error, data)),
        },
    }
}

fn chunk_of<'a>(name: &str, data: &'a str) -> Result<Chunk<'a>, serde_json::Error> {
    let mut payload = Payload::default();
    read(StrRead::new(data), &mut payload)?;
    Ok(Chunk::from_payload(payload, name))
}

/// Reads one event: [`parse_chunk`], but an event named `error` is an error whatever its payload, and a payload that
/// does not say what it is is taken for what the event is named.
pub fn parse_event<'a>(name: &str, data: &'a str) -> Result<Chunk<'a>, ChunkError> {
    let chunk = parse_named(name, data);
    if name != "error"
        || chunk.as_ref().is_ok_and(|chunk| chunk.error.is_some() || chunk.kind == EventKind::Done)
    {
        return chunk;
    }
    let message = super::error_message(data.as_bytes());
    Ok(Chunk { error: Some(ServerError { message, code: None }), ..Chunk::empty(EventKind::Error) })
}

impl<'a> Chunk<'a> {
    pub(super) const fn empty(kind: EventKind) -> Self {
        Self {
            kind,
            content: Cow::Borrowed(""),
            reasoning: Cow::Borrowed(""),
            tool_call: Cow::Borrowed(""),
            tokens: None,
            prompt_tokens: None,
            finish_reason: None,
            usage: None,
            error: None,
            complete: false,
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
            tokens: self.tokens,
            prompt_tokens: self.prompt_tokens,
            finish_reason: self.finish_reason.map(|reason| Cow::Owned(reason.into_owned())),
            usage: self.usage,
            error: self.error,
            complete: self.complete,
        }
    }

    /// `event` is the name that the event stream gave, for payloads that do not name themselves.
    pub(super) fn from_payload(mut payload: Payload<'a>, event: &str) -> Self {
        let Choices { any, mut role, channels, finish_reason, tokens, prompt, usage } =
            std::mem::take(&mut payload.choices);
        let mut chunk = Self {
            content: channels.content,
            reasoning: channels.reasoning,
            tool_call: channels.tool_call,
            tokens,
            prompt_tokens: prompt,
            finish_reason: (!finish_reason.is_empty()).then_some(finish_reason),
            usage: payload.usage.or(usage),
            ..Self::empty(EventKind::Empty)
        };
        if let Some(rare) = &payload.rare {
            chunk.error = rare.error.and_then(ServerError::from_raw);
            if chunk.error.is_none() && payload.object == "error" {
                chunk.error = Some(ServerError::from_parts(&rare.message.text, rare.code));
            }
        }
        if !any {
            role |= dialect::take(&mut chunk, payload, event);
        }
        chunk.kind = match () {
            () if chunk.error.is_some() => EventKind::Error,
            () if !chunk.content.is_empty() => EventKind::Content,
            () if !chunk.reasoning.is_empty() => EventKind::Reasoning,
            () if !chunk.tool_call.is_empty() => EventKind::ToolCall,
            () if chunk.finish_reason.is_some() => EventKind::Finish,
            () if chunk.complete => EventKind::Done,
            () if role => EventKind::Role,
            () if !any && chunk.usage.is_some() => EventKind::Usage,
            () => EventKind::Empty,
        };
        chunk
    }
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
