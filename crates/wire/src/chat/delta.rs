use super::{
    fill::{Fill, Place, each, skip, text},
    lenient::append,
};
use serde::{
    Deserialize,
    de::{IgnoredAny, MapAccess, SeqAccess},
};
use std::borrow::Cow;

/// Generated text by channel.
#[derive(Debug, Default)]
pub struct Channels<'a> {
    pub content: Cow<'a, str>,
    pub reasoning: Cow<'a, str>,
    pub tool_call: Cow<'a, str>,
}

/// A `delta` or `message` of whichever dialect: the names of their fields do not clash.
#[derive(Debug, Default)]
pub struct Delta<'a> {
    pub channels: Channels<'a>,
    /// It is an object.
    pub object: bool,
    /// It names a role.
    pub role: bool,
    /// `stop_reason`, which the messages dialect has here.
    pub stop_reason: Cow<'a, str>,
    /// It is not an object but this text, whose channel the event's type tells: the responses dialect.
    pub bare: Cow<'a, str>,
}

impl<'a> Channels<'a> {
    /// Takes all text of another.
    pub fn take(&mut self, other: Channels<'a>) {
        append(&mut self.content, other.content);
        append(&mut self.reasoning, other.reasoning);
        append(&mut self.tool_call, other.tool_call);
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DeltaKey {
    Role,
    Content,
    Text,
    Refusal,
    #[serde(
        alias = "reasoning",
        alias = "reasoning_text",
        alias = "reasoning_summary",
        alias = "thinking",
        alias = "thought",
        alias = "thoughts",
        alias = "reasoning_details",
        alias = "thinking_blocks"
    )]
    ReasoningContent,
    ToolCalls,
    /// The form before `tool_calls`.
    FunctionCall,
    /// Arguments of a tool call in the messages dialect.
    PartialJson,
    StopReason,
    #[serde(other)]
    Other,
}

impl<'de> Fill<'de> for Delta<'de> {
    fn text(&mut self, text: Cow<'de, str>) {
        self.bare = text;
    }

    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        self.object = true;
        let Channels { content, reasoning, tool_call } = &mut self.channels;
        let mut plain = Cow::Borrowed("");
        while let Some(key) = map.next_key::<DeltaKey>()? {
            match key {
                DeltaKey::Content => map.next_value_seed(Place(&mut Content { content, reasoning }))?,
                DeltaKey::Refusal => append(content, text(&mut map)?),
                DeltaKey::Text => plain = text(&mut map)?,
                DeltaKey::ReasoningContent => {
                    let mut told = Cow::Borrowed("");
                    map.next_value_seed(Place(&mut Reasoning(&mut told)))?;
                    // Some servers send the same text under several names: the first counts.
                    if reasoning.is_empty() {
                        *reasoning = told;
                    }
                }
                DeltaKey::ToolCalls | DeltaKey::FunctionCall => {
                    map.next_value_seed(Place(&mut ToolCall(tool_call)))?;
                }
                DeltaKey::PartialJson => append(tool_call, text(&mut map)?),
                DeltaKey::Role => self.role |= !text(&mut map)?.is_empty(),
                DeltaKey::StopReason => self.stop_reason = text(&mut map)?,
                DeltaKey::Other => skip(&mut map)?,
            }
        }
        // The messages dialect's name for it; elsewhere a repetition.
        if content.is_empty() {
            *content = plain;
        }
        Ok(())
    }
}

/// A text, or a list of parts, some of which may be reasoning.
struct Content<'f, 'a> {
    content: &'f mut Cow<'a, str>,
    reasoning: &'f mut Cow<'a, str>,
}

impl<'de> Fill<'de> for Content<'_, 'de> {
    fn text(&mut self, text: Cow<'de, str>) {
        append(self.content, text);
    }

    fn seq<A: SeqAccess<'de>>(&mut self, seq: A) -> Result<(), A::Error> {
        each(seq, self)
    }

    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum PartKey {
            Text,
            Thinking,
            #[serde(other)]
            Other,
        }
        while let Some(key) = map.next_key::<PartKey>()? {
            match key {
                PartKey::Text => append(self.content, text(&mut map)?),
                PartKey::Thinking => append(self.reasoning, text(&mut map)?),
                PartKey::Other => skip(&mut map)?,
            }
        }
        Ok(())
    }
}

/// A text, or blocks that have one under one of a few names.
struct Reasoning<'f, 'a>(&'f mut Cow<'a, str>);

impl<'de> Fill<'de> for Reasoning<'_, 'de> {
    fn text(&mut self, text: Cow<'de, str>) {
        append(self.0, text);
    }

    fn seq<A: SeqAccess<'de>>(&mut self, seq: A) -> Result<(), A::Error> {
        each(seq, self)
    }

    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum BlockKey {
            #[serde(alias = "summary", alias = "thinking", alias = "content")]
            Text,
            #[serde(other)]
            Other,
        }
        while let Some(key) = map.next_key::<BlockKey>()? {
            match key {
                BlockKey::Text => append(self.0, text(&mut map)?),
                BlockKey::Other => skip(&mut map)?,
            }
        }
        Ok(())
    }
}

/// Names and arguments of calls: a list of them, or one.
struct ToolCall<'f, 'a>(&'f mut Cow<'a, str>);

impl<'de> Fill<'de> for ToolCall<'_, 'de> {
    fn seq<A: SeqAccess<'de>>(&mut self, seq: A) -> Result<(), A::Error> {
        each(seq, self)
    }

    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum CallKey {
            #[serde(alias = "custom")]
            Function,
            Name,
            #[serde(alias = "input")]
            Arguments,
            #[serde(other)]
            Other,
        }
        while let Some(key) = map.next_key::<CallKey>()? {
            match key {
                CallKey::Function => map.next_value_seed(Place(&mut *self))?,
                CallKey::Name | CallKey::Arguments => append(self.0, text(&mut map)?),
                CallKey::Other => skip(&mut map)?,
            }
        }
        Ok(())
    }
}

/// How many items a list has; absent for any other value.
#[derive(Debug, Default)]
pub struct Length(pub Option<u32>);

impl<'de> Fill<'de> for Length {
    fn seq<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<(), A::Error> {
        let mut length = 0_u32;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            length = length.saturating_add(1);
        }
        self.0 = Some(length);
        Ok(())
    }
}
