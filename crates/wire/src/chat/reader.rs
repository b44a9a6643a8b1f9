use super::{Chunk, ChunkError, parse_event};
use plimsoll_record::EventKind;
use std::borrow::Cow;

/// [`parse_event`] for the events of one stream, at a fraction of the cost: what a server sends differs from event to event in
/// the text alone, mostly. An event whose bytes before and after the text are those of the event before means what that
/// one meant, with another text. Any other event is parsed.
///
/// ```
/// use plimsoll_wire::chat::ChunkReader;
///
/// let mut reader = ChunkReader::new();
/// for text in ["Hi", " there", " \\u0021"] {
///     let data = format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
///     println!("{}", reader.event("", &data)?.content);
/// }
/// # Ok::<(), plimsoll_wire::chat::ChunkError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChunkReader {
    /// Name of the event, and its bytes before and after the text.
    name: String,
    before: String,
    after: String,
    /// Where the text belongs; absent when there is no event to go by.
    channel: Option<Channel>,
    tokens: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Channel {
    Content,
    Reasoning,
}

/// Bytes around the text that are kept, at most.
const KEPT: usize = 2048;

impl ChunkReader {
    /// For a new stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next event; the same as [`parse_event`].
    pub fn event<'a>(&mut self, name: &str, data: &'a str) -> Result<Chunk<'a>, ChunkError> {
        if let Some(chunk) = self.like_the_last(name, data) {
            return Ok(chunk);
        }
        let chunk = parse_event(name, data)?;
        self.learn(name, data, &chunk);
        Ok(chunk)
    }

    fn like_the_last<'a>(&self, name: &str, data: &'a str) -> Option<Chunk<'a>> {
        let channel = self.channel?;
        let text = data.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        // Only a string that means itself: no end, no escape, nothing that JSON forbids in a string.
        let plain =
            !text.is_empty() && text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
        if !plain || name != self.name {
            return None;
        }
        let text = Cow::Borrowed(text);
        let (kind, content, reasoning) = match channel {
            Channel::Content => (EventKind::Content, text, Cow::Borrowed("")),
            Channel::Reasoning => (EventKind::Reasoning, Cow::Borrowed(""), text),
        };
        Some(Chunk { content, reasoning, tokens: self.tokens, ..Chunk::empty(kind) })
    }

    fn learn(&mut self, name: &str, data: &str, chunk: &Chunk<'_>) {
        let (channel, text, other) = match chunk.kind {
            EventKind::Content => (Channel::Content, &chunk.content, &chunk.reasoning),
            EventKind::Reasoning => (Channel::Reasoning, &chunk.reasoning, &chunk.content),
            // Others come in between; the next text is like the last.
            _ => return,
        };
        let alone = other.is_empty()
            && chunk.tool_call.is_empty()
            && chunk.finish_reason.is_none()
            && chunk.usage.is_none()
            && chunk.prompt_tokens.is_none()
            && !chunk.complete;
        let Cow::Borrowed(text) = *text else { return };
        if !alone || data.len() - text.len() > KEPT {
            return;
        }
        // The text is a piece of the data: where?
        let start = (text.as_ptr() as usize).wrapping_sub(data.as_ptr() as usize);
        let (Some(before), Some(after)) = (data.get(..start), data.get(start.saturating_add(text.len())..))
        else {
            return;
        };
        if !(before.ends_with('"') && after.starts_with('"')) {
            return;
        }
        name.clone_into(&mut self.name);
        before.clone_into(&mut self.before);
        after.clone_into(&mut self.after);
        (self.channel, self.tokens) = (Some(channel), chunk.tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(reader: &mut ChunkReader, name: &str, data: &str) -> bool {
        let by_the_last = reader.like_the_last(name, data).is_some();
        let want = parse_event(name, data).map(Chunk::into_owned).map_err(|error| error.to_string());
        let got = reader.event(name, data).map(Chunk::into_owned).map_err(|error| error.to_string());
        assert_eq!(got, want, "{data}");
        by_the_last
    }

    #[test]
    fn only_events_that_differ_in_text_alone_are_taken_by_the_last() {
        let chat =
            |text: &str| format!(r#"{{"id":1,"choices":[{{"delta":{{"content":"{text}"}},"t":null}}]}}"#);
        let mut reader = ChunkReader::new();
        let cases = [
            (chat("a"), false),
            (chat("b"), true),
            (chat("\u{6e2f}"), true),
            (chat(""), false),
            (chat("\\n"), false),
            (chat("c"), true),
            (
                chat("a\"},\"t\":null}],\"error\":{\"message\":\"x\"},\"y\":[{\"delta\":{\"content\":\"z"),
                false,
            ),
            (chat("d\u{1}"), false),
            (chat("e").replace("content", "reasoning"), false),
            (chat("f").replace("content", "reasoning"), true),
            (chat("g"), false),
            (chat("h").replace("null", "[7]"), false),
            ("[DONE]".to_owned(), false),
            (chat("i").replace("null", "[7]"), true),
            (chat("j").replace(r#""t":null"#, r#""token_ids":[1,2]"#), false),
            (chat("k").replace(r#""t":null"#, r#""token_ids":[1,2]"#), true),
            (chat("l").replace(r#""t":null"#, r#""token_ids":[1]"#), false),
            (chat("m").replace(r#""t":null"#, r#""finish_reason":"stop""#), false),
            (chat("n").replace(r#""t":null"#, r#""finish_reason":"stop""#), false),
            (chat("o")[..30].to_owned(), false),
        ];
        for (data, want) in cases {
            assert_eq!(both(&mut reader, "", &data), want, "{data}");
        }
    }

    #[test]
    fn the_events_name_counts() {
        let bare = |text: &str| format!(r#"{{"delta":"{text}"}}"#);
        let mut reader = ChunkReader::new();
        assert!(!both(&mut reader, "response.output_text.delta", &bare("a")));
        assert!(both(&mut reader, "response.output_text.delta", &bare("b")));
        assert!(!both(&mut reader, "response.reasoning_text.delta", &bare("c")));
        assert!(!both(&mut reader, "error", &bare("d")));
        assert!(!both(&mut reader, "", &bare("e")));
    }
}
