use super::answer::ENGINE_FAILED;
use super::encoder::Encoder;
use super::reply::Cut;
use crate::engine::FinishReason;
use crate::faults::{RoleChunk, StreamShape};
use crate::feed::{Feed, FeedItem};
use crate::tokenizer::{answer_id, answer_word};
use bytes::Bytes;
use hyper::body::Frame;
use plimsoll_wire::encode::{TokenIds, UsageCounts};
use std::collections::VecDeque;
use std::task::{Context, Poll, ready};

/// What a stream says beside its tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
    pub(super) continuous_usage: bool,
    pub(super) prompt_tokens: u32,
    pub(super) prompt_hash: u64,
}

/// Ids of tokens that no event has carried yet.
#[derive(Debug)]
struct HeldIds {
    prompt: Option<Vec<u32>>,
    output: Vec<u32>,
}

/// The events of one answer: each a chunk of its own, handed over as soon as its token is there.
#[derive(Debug)]
pub(crate) struct AnswerStream {
    feed: Feed,
    encoder: Encoder,
    options: StreamOptions,
    shape: StreamShape,
    ready: VecDeque<Bytes>,
    /// Text that no event has carried yet.
    held: String,
    /// Where ids are asked for.
    ids: Option<HeldIds>,
    tokens: u32,
    /// Tokens since the last event.
    unsent: u32,
    text_events: u32,
    over: bool,
}

impl AnswerStream {
    pub(super) fn new(
        feed: Feed,
        encoder: Encoder,
        options: StreamOptions,
        prompt_ids: Option<Vec<u32>>,
        shape: StreamShape,
    ) -> Self {
        let mut stream = Self {
            feed,
            encoder,
            options,
            shape,
            ready: VecDeque::new(),
            held: String::new(),
            ids: prompt_ids.map(|prompt| HeldIds { prompt: Some(prompt), output: Vec::new() }),
            tokens: 0,
            unsent: 0,
            text_events: 0,
            over: false,
        };
        stream.role_if(RoleChunk::Early);
        stream
    }

    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(event))));
            }
            if self.over {
                return Poll::Ready(None);
            }
            match ready!(self.feed.poll_next(cx)) {
                FeedItem::Token { index, last } => self.token(index, last),
                FeedItem::Failed => {
                    self.over = true;
                    self.ready.extend(self.encoder.failed(ENGINE_FAILED));
                }
                FeedItem::Cut => {
                    self.over = true;
                    return Poll::Ready(Some(Err(Cut)));
                }
            }
        }
    }

    fn token(&mut self, index: u32, last: Option<FinishReason>) {
        if index == 0 {
            self.role_if(RoleChunk::WithFirstToken);
        }
        self.held.push_str(answer_word(self.options.prompt_hash, index));
        if let Some(ids) = &mut self.ids {
            ids.output.push(answer_id(self.options.prompt_hash, index));
        }
        self.tokens += 1;
        self.unsent += 1;
        let usage_asked = self.options.include_usage && !self.shape.no_usage;
        if let Some(reason) = last {
            let usage = usage_asked.then(|| self.counts());
            let continuous = self.continuous();
            let ids = token_ids(self.ids.as_ref());
            self.ready.extend(self.encoder.last(&self.held, ids, reason.name(), continuous, usage));
            self.over = true;
        } else if index == 0 || self.unsent >= self.shape.interval.get() {
            self.unsent = 0;
            self.text_events += 1;
            let empty =
                self.shape.empty_every.is_some_and(|every| self.text_events.is_multiple_of(every.get()));
            let text = if empty { "" } else { self.held.as_str() };
            let continuous = self.continuous();
            let ids = token_ids(self.ids.as_ref());
            self.ready.push_back(self.encoder.delta(text, ids, continuous));
            // Ids do not wait for text: a token whose text is held back is told with the event that has none.
            if let Some(ids) = &mut self.ids {
                ids.prompt = None;
                ids.output.clear();
            }
            if !empty {
                self.held.clear();
            }
        }
    }

    fn role_if(&mut self, when: RoleChunk) {
        if self.shape.role == when {
            let prompt = (!self.shape.no_usage).then_some(self.options.prompt_tokens);
            let continuous = self.continuous();
            let prompt_ids = self.ids.as_ref().and_then(|ids| ids.prompt.as_deref());
            self.ready.extend(self.encoder.opening(prompt_ids, continuous, prompt));
        }
    }

    /// vLLM heeds `continuous_usage_stats` only together with `include_usage`.
    fn continuous(&self) -> Option<UsageCounts> {
        let asked = self.options.include_usage && self.options.continuous_usage && !self.shape.no_usage;
        asked.then(|| self.counts())
    }

    fn counts(&self) -> UsageCounts {
        UsageCounts { prompt: self.options.prompt_tokens, completion: self.tokens }
    }
}

fn token_ids(held: Option<&HeldIds>) -> TokenIds<'_> {
    held.map_or_else(TokenIds::default, |ids| TokenIds {
        prompt: ids.prompt.as_deref(),
        output: Some(&ids.output),
    })
}
