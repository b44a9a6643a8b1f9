use super::answer::engine_failed;
use super::input::Route;
use bytes::Bytes;
use plimsoll_wire::encode::{
    ChunkEncoder, DONE, MessagesEncoder, ResponsesEncoder, StreamKind, TokenIds, UsageCounts,
};

/// The events of one streamed answer in its route's dialect.
#[derive(Debug)]
pub(super) enum Encoder {
    Chat(ChunkEncoder),
    Completion(ChunkEncoder),
    Responses(ResponsesEncoder),
    Messages(MessagesEncoder),
}

impl Encoder {
    pub(super) fn new(route: Route, id: &str, created: u64, model: &str) -> Self {
        match route {
            Route::Chat => Self::Chat(ChunkEncoder::new(StreamKind::Chat, id, created, model)),
            Route::Completion => {
                Self::Completion(ChunkEncoder::new(StreamKind::Completion, id, created, model))
            }
            Route::Responses => Self::Responses(ResponsesEncoder::new(id, created, model)),
            Route::Messages => Self::Messages(MessagesEncoder::new(id, model)),
        }
    }

    /// What comes before the first text. `prompt` is the prompt's length, unless usage is left out.
    pub(super) fn opening(
        &mut self,
        prompt_ids: Option<&[u32]>,
        continuous: Option<UsageCounts>,
        prompt: Option<u32>,
    ) -> Vec<Bytes> {
        match self {
            Self::Chat(chunks) => vec![chunks.role(prompt_ids, continuous)],
            Self::Completion(_) => Vec::new(),
            Self::Responses(events) => events.opening(),
            Self::Messages(events) => events.opening(prompt),
        }
    }

    /// Text, more to come.
    pub(super) fn delta(&mut self, text: &str, ids: TokenIds<'_>, continuous: Option<UsageCounts>) -> Bytes {
        match self {
            Self::Chat(chunks) | Self::Completion(chunks) => chunks.delta(text, ids, continuous),
            Self::Responses(events) => events.delta(text),
            Self::Messages(events) => events.delta(text),
        }
    }

    /// The last text and all that follows.
    pub(super) fn last(
        &mut self,
        text: &str,
        ids: TokenIds<'_>,
        reason: &str,
        continuous: Option<UsageCounts>,
        usage: Option<UsageCounts>,
    ) -> Vec<Bytes> {
        match self {
            Self::Chat(chunks) | Self::Completion(chunks) => {
                let mut events = vec![chunks.last(text, ids, reason, continuous, usage.is_some())];
                events.extend(usage.map(|usage| chunks.usage(usage)));
                events.push(Bytes::from_static(DONE));
                events
            }
            Self::Responses(events) => {
                let delta = events.delta(text);
                [vec![delta], events.closing(reason, usage)].concat()
            }
            Self::Messages(events) => [vec![events.delta(text)], events.closing(reason, usage)].concat(),
        }
    }

    /// The engine failed; nothing follows.
    pub(super) fn failed(&mut self, message: &str) -> Vec<Bytes> {
        match self {
            Self::Chat(_) | Self::Completion(_) => {
                vec![engine_failed(message).event(), Bytes::from_static(DONE)]
            }
            Self::Responses(events) => vec![events.failed(message)],
            Self::Messages(events) => vec![events.failed(message)],
        }
    }
}
