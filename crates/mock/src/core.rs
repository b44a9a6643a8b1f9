use crate::engine::{Engine, EngineError, EngineRequest, EventKind, FinishReason, RequestId};
use crate::ledger::{Emission, Ledger, LedgerEntry, Refusal};
use crate::stats::{PageState, Stats, metrics_page};
use crate::{MockConfig, tokenizer};
use plimsoll_record::Nanos;
use std::collections::BTreeMap;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Engine, statistics and ledger: all that changes as time passes. Every method is given the time.
#[derive(Debug)]
pub(crate) struct Core {
    engine: Engine,
    stats: Stats,
    ledger: Ledger,
    outputs: BTreeMap<RequestId, UnboundedSender<Output>>,
}

/// A token on its way to a connection. At most `max_model_len` of a request wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) index: u32,
    pub(crate) planned: Nanos,
    /// With the last token: why it is the last.
    pub(crate) last: Option<FinishReason>,
}

/// A valid request.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) response_id: String,
    pub(crate) prompt: Vec<u32>,
    pub(crate) max_tokens: u32,
    pub(crate) eos_after: Option<u32>,
}

impl Core {
    pub(crate) fn new(config: &MockConfig) -> Result<Self, EngineError> {
        Ok(Self {
            engine: Engine::new(&config.engine)?,
            stats: Stats::new(config.engine.max_model_len),
            ledger: Ledger::default(),
            outputs: BTreeMap::new(),
        })
    }

    pub(crate) fn next_event_time(&self) -> Option<Nanos> {
        self.engine.next_event_time()
    }

    pub(crate) fn capacity_tokens(&self) -> u64 {
        self.engine.capacity_tokens()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Passes on what the engine did up to `now`.
    pub(crate) fn pump(&mut self, now: Nanos) {
        let mut events = self.engine.advance(now).into_iter().peekable();
        while let Some(event) = events.next() {
            match event.kind {
                EventKind::Admitted { cached } => self.note(event.id, |entry| {
                    entry.admission = Some(event.at);
                    entry.cached_tokens = cached.min(entry.prompt_tokens);
                }),
                EventKind::Preempted => self.note(event.id, |entry| entry.preemptions += 1),
                EventKind::Token { index } => {
                    let last = events.peek().and_then(|next| match next.kind {
                        EventKind::Finished { reason } if next.id == event.id => Some(reason),
                        _ => None,
                    });
                    if let Some(output) = self.outputs.get(&event.id) {
                        // Without a receiver the client is gone, and the request is about to be given up.
                        let _ = output.send(Output { index, planned: event.at, last });
                    }
                }
                EventKind::Finished { .. } => {
                    self.outputs.remove(&event.id);
                }
            }
        }
        let sizes = self.engine.take_step_sizes();
        self.stats.steps(&sizes);
    }

    pub(crate) fn submit(
        &mut self,
        now: Nanos,
        submission: Submission,
    ) -> Result<(RequestId, UnboundedReceiver<Output>), EngineError> {
        self.pump(now);
        let Submission { response_id, prompt, max_tokens, eos_after } = submission;
        let prompt_tokens = prompt.len() as u32;
        let first_block = tokenizer::first_block_hash(&prompt);
        let id = self.engine.submit(now, &EngineRequest { prompt, max_tokens, eos_after })?;
        self.ledger.requests.push(LedgerEntry {
            id,
            response_id,
            arrival: now,
            admission: None,
            prompt_tokens,
            cached_tokens: 0,
            max_tokens,
            first_block,
            tokens: Vec::new(),
            preemptions: 0,
            finish: None,
            reason: None,
        });
        let (sender, receiver) = unbounded_channel();
        self.outputs.insert(id, sender);
        self.pump(now);
        Ok((id, receiver))
    }

    /// A token was handed to its connection.
    pub(crate) fn emitted(&mut self, now: Nanos, id: RequestId, output: Output) {
        let Some(entry) = self.ledger.requests.get_mut(id.0 as usize) else { return };
        entry.tokens.push(Emission { planned: output.planned, actual: now });
        self.stats.token(entry);
        if let Some(reason) = output.last {
            entry.finish = Some(now);
            entry.reason = Some(reason);
            self.stats.finish(entry);
        }
    }

    /// Ends a request before its last token was emitted. Does nothing when it is over.
    pub(crate) fn give_up(&mut self, now: Nanos, id: RequestId, reason: FinishReason) {
        let Some(entry) = self.ledger.requests.get_mut(id.0 as usize) else { return };
        if entry.finish.is_some() {
            return;
        }
        entry.finish = Some(now);
        entry.reason = Some(reason);
        self.stats.finish(entry);
        self.outputs.remove(&id);
        if reason == FinishReason::Abort {
            self.engine.cancel(now, id);
        } else {
            self.engine.fail(now, id);
        }
        self.pump(now);
    }

    pub(crate) fn refused(&mut self, now: Nanos, status: u16) {
        self.ledger.refused.push(Refusal { at: now, status });
    }

    pub(crate) fn page(&mut self, now: Nanos, config: &MockConfig, started: f64) -> String {
        self.pump(now);
        let counters = self.engine.counters();
        let state = PageState {
            config: &config.engine,
            running: self.engine.running(),
            waiting: self.engine.waiting(),
            kv_usage: self.engine.kv_usage(),
            prefix_queries: counters.prefix_queries,
            prefix_hits: counters.prefix_hits,
            preemptions: counters.preemptions,
            started,
        };
        metrics_page(&self.stats, &state)
    }

    fn note(&mut self, id: RequestId, change: impl FnOnce(&mut LedgerEntry)) {
        if let Some(entry) = self.ledger.requests.get_mut(id.0 as usize) {
            change(entry);
        }
    }
}
