//! One pass over a payload of any dialect. What only some events have is set apart, so that a chunk with text stays
//! small.

use super::{
    delta::{Channels, Delta, Length},
    fill::{Fill, Place, each, skip, text},
    lenient::{Object, Text, append},
    usage::Usage,
};
use serde::{
    Deserialize,
    de::{MapAccess, SeqAccess},
};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Where the text of a choice is looked for first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum First {
    /// In a stream: a `message` beside a `delta` repeats what came before.
    #[default]
    Delta,
    /// In a whole body.
    Message,
}

/// A payload as it was read.
#[derive(Debug, Default)]
pub struct Payload<'a> {
    pub first: First,
    pub choices: Choices<'a>,
    /// `type`: names the event in the responses and messages dialects.
    pub name: Cow<'a, str>,
    pub object: Cow<'a, str>,
    /// Of the responses and messages dialects.
    pub delta: Delta<'a>,
    pub usage: Option<Usage>,
    pub rare: Option<Box<Rare<'a>>>,
}

/// All choices of a payload together.
#[derive(Debug, Default)]
pub struct Choices<'a> {
    pub any: bool,
    pub role: bool,
    pub channels: Channels<'a>,
    pub finish_reason: Cow<'a, str>,
    /// Number of token ids, where the choices have a list of them.
    pub tokens: Option<u32>,
    /// The same of the prompt; some routes have it beside the choices.
    pub prompt: Option<u32>,
    /// The place where some servers put it.
    pub usage: Option<Usage>,
}

/// What few payloads have.
#[derive(Debug, Default)]
pub struct Rare<'a> {
    pub error: Option<&'a RawValue>,
    pub code: Option<&'a RawValue>,
    /// As a text: the message of an error.
    pub message: Message<'a>,
    /// The responses dialect: the response as far as it has come.
    pub response: Response<'a>,
    /// The responses dialect: an item of the output that begins.
    pub item: Option<Item<'a>>,
    /// `part` or `content_block`: a piece of the answer that begins.
    pub part: Option<Item<'a>>,
    /// A whole body of the responses dialect.
    pub output: Channels<'a>,
    pub status: Cow<'a, str>,
    pub incomplete: Incomplete<'a>,
    /// A whole body of the messages dialect.
    pub content: Channels<'a>,
    pub stop_reason: Cow<'a, str>,
}

/// A `message` at the top: an error's, or the beginning of an answer in the messages dialect.
#[derive(Debug, Default)]
pub struct Message<'a> {
    pub text: Cow<'a, str>,
    pub usage: Option<Usage>,
}

/// The `response` object of an event.
#[derive(Debug, Default)]
pub struct Response<'a> {
    pub status: Cow<'a, str>,
    pub error: Option<&'a RawValue>,
    pub usage: Option<Usage>,
    pub incomplete: Incomplete<'a>,
}

/// Why a response is incomplete.
#[derive(Debug, Default)]
pub struct Incomplete<'a>(pub Cow<'a, str>);

impl<'de> Fill<'de> for Response<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum ResponseKey {
            Status,
            Error,
            Usage,
            IncompleteDetails,
            #[serde(other)]
            Other,
        }
        while let Some(key) = map.next_key::<ResponseKey>()? {
            match key {
                ResponseKey::Status => self.status = text(&mut map)?,
                ResponseKey::Error => self.error = map.next_value()?,
                ResponseKey::Usage => self.usage = Usage::read(&mut map)?,
                ResponseKey::IncompleteDetails => map.next_value_seed(Place(&mut self.incomplete))?,
                ResponseKey::Other => skip(&mut map)?,
            }
        }
        Ok(())
    }
}

impl<'de> Fill<'de> for Incomplete<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum DetailKey {
            Reason,
            #[serde(other)]
            Other,
        }
        while let Some(key) = map.next_key::<DetailKey>()? {
            match key {
                DetailKey::Reason => self.0 = text(&mut map)?,
                DetailKey::Other => skip(&mut map)?,
            }
        }
        Ok(())
    }
}

/// An item, part or content block; which of the fields it has depends on its type.
#[derive(Debug, Deserialize)]
pub struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow, default)]
    pub role: Text<'a>,
    #[serde(borrow, default)]
    pub text: Text<'a>,
    #[serde(borrow, default)]
    pub refusal: Text<'a>,
    #[serde(borrow, default)]
    pub thinking: Text<'a>,
    #[serde(borrow, default)]
    pub name: Text<'a>,
    #[serde(borrow, default)]
    pub arguments: Text<'a>,
    /// Arguments of a tool call in the messages dialect: an object, kept as it stands.
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    /// Of its parts, joined.
    #[serde(borrow, default)]
    pub content: Text<'a>,
    #[serde(borrow, default)]
    pub summary: Text<'a>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Choices,
    Usage,
    Error,
    Object,
    Message,
    Code,
    Type,
    Delta,
    Response,
    Item,
    #[serde(alias = "content_block")]
    Part,
    Output,
    Status,
    IncompleteDetails,
    Content,
    StopReason,
    XGroq,
    PromptTokenIds,
    #[serde(other)]
    Other,
}

impl<'a> Item<'a> {
    /// The text of an item that begins: what follows comes in deltas.
    pub fn begun(self) -> Channels<'a> {
        let mut all = Channels { content: self.text.0, reasoning: self.thinking.0, tool_call: self.name.0 };
        append(&mut all.content, self.refusal.0);
        if self.kind.0.contains("reasoning") {
            all.reasoning = std::mem::take(&mut all.content);
        }
        all
    }

    /// The text of a complete item.
    fn whole(mut self) -> Channels<'a> {
        let mut arguments = std::mem::take(&mut self.arguments.0);
        if let Some(input) = self.input {
            append(&mut arguments, Cow::Borrowed(input.get()));
        }
        append(&mut self.text.0, std::mem::take(&mut self.content.0));
        if self.text.0.is_empty() {
            // A summary repeats the reasoning in short.
            self.text.0 = std::mem::take(&mut self.summary.0);
        }
        let mut all = self.begun();
        append(&mut all.tool_call, arguments);
        all
    }
}

impl<'a> Payload<'a> {
    fn rare(&mut self) -> &mut Rare<'a> {
        self.rare.get_or_insert_default()
    }
}

impl<'de> Fill<'de> for Payload<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Choices => {
                    map.next_value_seed(Place(&mut ChoiceList {
                        first: self.first,
                        all: &mut self.choices,
                    }))?;
                }
                Key::Usage => self.usage = Usage::read(&mut map)?.or(self.usage),
                Key::Object => self.object = text(&mut map)?,
                Key::Type => self.name = text(&mut map)?,
                Key::Delta => map.next_value_seed(Place(&mut self.delta))?,
                Key::Error => {
                    if let Some(error) = map.next_value()? {
                        self.rare().error = Some(error);
                    }
                }
                Key::Code => self.rare().code = map.next_value()?,
                Key::Message => map.next_value_seed(Place(&mut self.rare().message))?,
                Key::Response => map.next_value_seed(Place(&mut self.rare().response))?,
                Key::Item => self.rare().item = map.next_value::<Object<_>>()?.0,
                Key::Part => self.rare().part = map.next_value::<Object<_>>()?.0,
                Key::Output => map.next_value_seed(Place(&mut Items(&mut self.rare().output)))?,
                Key::Content => map.next_value_seed(Place(&mut Items(&mut self.rare().content)))?,
                Key::Status => self.rare().status = text(&mut map)?,
                Key::StopReason => self.rare().stop_reason = text(&mut map)?,
                Key::IncompleteDetails => map.next_value_seed(Place(&mut self.rare().incomplete))?,
                Key::PromptTokenIds => self.choices.prompt = length(&mut map)?.or(self.choices.prompt),
                Key::XGroq => {
                    let mut extra = Message::default();
                    map.next_value_seed(Place(&mut extra))?;
                    self.usage = self.usage.or(extra.usage);
                }
                Key::Other => skip(&mut map)?,
            }
        }
        Ok(())
    }
}

/// Length of a list that is the next value, if it is one.
fn length<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<u32>, A::Error> {
    let mut length = Length::default();
    map.next_value_seed(Place(&mut length))?;
    Ok(length.0)
}

/// The text of a list's items, each taken as soon as it is read.
struct Items<'f, 'a>(&'f mut Channels<'a>);

impl<'de> Fill<'de> for Items<'_, 'de> {
    fn seq<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<(), A::Error> {
        while let Some(item) = seq.next_element::<Object<Item<'de>>>()? {
            if let Some(item) = item.0 {
                self.0.take(item.whole());
            }
        }
        Ok(())
    }
}

struct ChoiceList<'f, 'a> {
    first: First,
    all: &'f mut Choices<'a>,
}

impl<'de> Fill<'de> for ChoiceList<'_, 'de> {
    fn seq<A: SeqAccess<'de>>(&mut self, seq: A) -> Result<(), A::Error> {
        each(seq, &mut Choice { first: self.first, all: &mut *self.all })
    }
}

struct Choice<'f, 'a> {
    first: First,
    all: &'f mut Choices<'a>,
}

impl<'de> Fill<'de> for Choice<'_, 'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum ChoiceKey {
            Delta,
            Message,
            Text,
            FinishReason,
            TokenIds,
            PromptTokenIds,
            Usage,
            #[serde(other)]
            Other,
        }
        let all = &mut *self.all;
        all.any = true;
        let mut delta = Delta::default();
        let mut message = None;
        while let Some(key) = map.next_key::<ChoiceKey>()? {
            match key {
                ChoiceKey::Delta => map.next_value_seed(Place(&mut delta))?,
                ChoiceKey::Message => map.next_value_seed(Place(message.insert(Delta::default())))?,
                ChoiceKey::Text => append(&mut all.channels.content, text(&mut map)?),
                ChoiceKey::FinishReason => {
                    let reason = text(&mut map)?;
                    if !reason.is_empty() {
                        all.finish_reason = reason;
                    }
                }
                ChoiceKey::TokenIds => {
                    if let Some(length) = length(&mut map)? {
                        all.tokens = Some(all.tokens.unwrap_or(0).saturating_add(length));
                    }
                }
                ChoiceKey::PromptTokenIds => all.prompt = length(&mut map)?.or(all.prompt),
                ChoiceKey::Usage => all.usage = Usage::read(&mut map)?.or(all.usage),
                ChoiceKey::Other => skip(&mut map)?,
            }
        }
        let chosen = match message.filter(|message| message.object) {
            Some(message) if self.first == First::Message || !delta.object => message,
            _ => delta,
        };
        all.role |= chosen.role;
        all.channels.take(chosen.channels);
        Ok(())
    }
}

impl<'de> Fill<'de> for Message<'de> {
    fn text(&mut self, text: Cow<'de, str>) {
        self.text = text;
    }

    fn map<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum MessageKey {
            Usage,
            #[serde(other)]
            Other,
        }
        while let Some(key) = map.next_key::<MessageKey>()? {
            match key {
                MessageKey::Usage => self.usage = Usage::read(&mut map)?,
                MessageKey::Other => skip(&mut map)?,
            }
        }
        Ok(())
    }
}
