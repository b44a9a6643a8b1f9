//! The engine model: a discrete-event simulation of continuous batching, without clock or I/O.
//!
//! # Schedule
//! The engine works in steps, one after another, as long as there is a request.
//! - At a step's start, waiting requests join the batch in order of arrival while there is a slot
//!   (`max_num_seqs`) and the KV cache has blocks for the prompt; the first that does not fit holds up the rest.
//!   A request that is submitted at the very instant of a step's start still joins that step.
//! - The step lasts `decode_base + decode_per_seq * batch`, and for every joining request
//!   `prefill_base + prefill_per_token * uncached prompt tokens` more: prefills run one after another and delay
//!   the decoding of the others, as without chunked prefill.
//! - At its end every request of the batch generates one token, in order of admission; those with their last
//!   token leave.
//!
//! A request alone has its `k`-th token `prefill + k * decode step` after its arrival.
//! When a running request needs another block and none is free, the one admitted last is preempted: it goes back
//! to the head of the queue, and its prompt and the tokens so far are computed anew.

mod blocks;
mod error;
mod event;
mod sequence;

pub use error::EngineError;
pub use event::{EngineEvent, EngineRequest, EventKind, FinishReason, RequestId};

use blocks::{BlockPool, block_hashes};
use plimsoll_record::{MockEngine, Nanos, Span};
use sequence::Sequence;
use std::collections::VecDeque;

/// Continuous batching with a slot limit, KV blocks and a prefix cache.
#[derive(Debug)]
pub struct Engine {
    config: MockEngine,
    pool: BlockPool,
    waiting: VecDeque<Sequence>,
    /// In order of admission.
    running: Vec<Sequence>,
    step: Option<Step>,
    events: Vec<EngineEvent>,
    next_id: u64,
    counters: EngineCounters,
}

/// What the engine counts itself, since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Prompt tokens looked up in the prefix cache, at a request's first admission.
    pub prefix_queries: u64,
    /// Of these, found.
    pub prefix_hits: u64,
    /// Preemptions.
    pub preemptions: u64,
    /// Tokens computed in each step that ended since [`Engine::take_step_sizes`].
    step_sizes: Vec<u32>,
}

/// A step that has begun.
#[derive(Debug)]
struct Step {
    start: Nanos,
    end: Nanos,
    tokens: u32,
}

impl Engine {
    /// An idle engine. All numbers of `config` but the times must be at least 1.
    pub fn new(config: &MockEngine) -> Result<Self, EngineError> {
        for (name, value) in [
            ("max-num-seqs", config.max_num_seqs),
            ("max-model-len", config.max_model_len),
            ("block-size", config.block_size),
            ("num-blocks", config.num_blocks),
        ] {
            if value == 0 {
                return Err(EngineError::zero(name));
            }
        }
        Ok(Self {
            config: config.clone(),
            pool: BlockPool::new(config.num_blocks),
            waiting: VecDeque::new(),
            running: Vec::new(),
            step: None,
            events: Vec::new(),
            next_id: 0,
            counters: EngineCounters::default(),
        })
    }

    /// Takes a request at `now`, which must not lie before an earlier call's. What happened up to then is kept
    /// for the next [`Engine::advance`].
    pub fn submit(&mut self, now: Nanos, request: &EngineRequest) -> Result<RequestId, EngineError> {
        if request.prompt.is_empty() || request.max_tokens == 0 || request.eos_after == Some(0) {
            return Err(EngineError::no_tokens());
        }
        let tokens = request.prompt.len() as u64 + u64::from(request.max_tokens);
        let capacity = self.capacity_tokens();
        if tokens > capacity {
            return Err(EngineError::too_large(tokens, capacity));
        }
        self.run_to(now);
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let hashes = block_hashes(&request.prompt, self.config.block_size);
        self.waiting.push_back(Sequence::new(id, request, hashes));
        match &self.step {
            None => self.begin_step(now),
            Some(step) if step.start == now => self.admit(),
            Some(_) => {}
        }
        Ok(id)
    }

    /// Ends a request whose client went away: [`FinishReason::Abort`]. Does nothing when it is over already.
    pub fn cancel(&mut self, now: Nanos, id: RequestId) {
        self.end(now, id, FinishReason::Abort);
    }

    /// Ends a request as failed: [`FinishReason::Error`]. Does nothing when it is over already.
    pub fn fail(&mut self, now: Nanos, id: RequestId) {
        self.end(now, id, FinishReason::Error);
    }

    /// Everything that happened up to and including `now`, in order.
    pub fn advance(&mut self, now: Nanos) -> Vec<EngineEvent> {
        self.run_to(now);
        std::mem::take(&mut self.events)
    }

    /// When [`Engine::advance`] will next have something to say; `None` when idle.
    pub fn next_event_time(&self) -> Option<Nanos> {
        self.events.first().map(|event| event.at).or_else(|| self.step.as_ref().map(|step| step.end))
    }

    /// Requests in the batch.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Requests in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Share of the KV blocks that requests hold, 0 to 1.
    pub fn kv_usage(&self) -> f64 {
        f64::from(self.pool.in_use()) / f64::from(self.pool.capacity())
    }

    /// Counts since the start.
    pub fn counters(&self) -> &EngineCounters {
        &self.counters
    }

    /// Tokens computed in each step that ended since the last call.
    pub fn take_step_sizes(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.counters.step_sizes)
    }

    /// Largest prompt plus answer: the model's length, or the whole KV cache if that is less.
    pub fn capacity_tokens(&self) -> u64 {
        let cache = u64::from(self.config.block_size) * u64::from(self.config.num_blocks);
        cache.min(u64::from(self.config.max_model_len))
    }

    fn emit(&mut self, at: Nanos, id: RequestId, kind: EventKind) {
        self.events.push(EngineEvent { at, id, kind });
    }

    fn run_to(&mut self, now: Nanos) {
        while let Some(step) = self.step.take_if(|step| step.end <= now) {
            self.finish_step(&step);
            self.begin_step(step.end);
        }
    }

    fn begin_step(&mut self, start: Nanos) {
        self.make_room(start);
        let decoding = self.running.len() as u32;
        let end =
            start + Nanos(self.config.decode_base.nanos()) + times(self.config.decode_per_seq, decoding);
        self.step = Some(Step { start, end, tokens: decoding });
        self.admit();
        if self.running.is_empty() {
            self.step = None;
        }
    }

    /// Blocks for the token that each running request is about to compute; preempts the last admitted if needed.
    fn make_room(&mut self, now: Nanos) {
        let mut index = 0;
        while let Some(sequence) = self.running.get_mut(index) {
            if !sequence.needs_block(self.config.block_size) || sequence.grow(&mut self.pool) {
                index += 1;
            } else if let Some(mut victim) = self.running.pop() {
                victim.release(&mut self.pool);
                victim.was_preempted = true;
                self.counters.preemptions += 1;
                self.emit(now, victim.id, EventKind::Preempted);
                self.waiting.push_front(victim);
            }
        }
    }

    /// Lets waiting requests join the step that begins now, and lengthens it by what they cost.
    fn admit(&mut self) {
        let Some(mut step) = self.step.take() else { return };
        while self.running.len() < self.config.max_num_seqs as usize {
            let Some(sequence) = self.waiting.front_mut() else { break };
            let Some(lookup) = sequence.admit(&mut self.pool, self.config.block_size) else { break };
            let Some(sequence) = self.waiting.pop_front() else { break };
            if !sequence.was_preempted {
                self.counters.prefix_queries += u64::from(lookup.queried);
                self.counters.prefix_hits += u64::from(lookup.cached);
            }
            let computed = lookup.queried - lookup.cached;
            step.end = step.end
                + Nanos(self.config.decode_per_seq.nanos())
                + Nanos(self.config.prefill_base.nanos())
                + times(self.config.prefill_per_token, computed);
            step.tokens += computed;
            self.emit(step.start, sequence.id, EventKind::Admitted { cached: lookup.cached });
            self.running.push(sequence);
        }
        self.step = Some(step);
    }

    fn finish_step(&mut self, step: &Step) {
        self.counters.step_sizes.push(step.tokens);
        let batch = std::mem::take(&mut self.running);
        for mut sequence in batch {
            let index = sequence.generated;
            sequence.generated += 1;
            self.emit(step.end, sequence.id, EventKind::Token { index });
            match sequence.finished() {
                None => self.running.push(sequence),
                Some(reason) => {
                    sequence.release(&mut self.pool);
                    self.emit(step.end, sequence.id, EventKind::Finished { reason });
                }
            }
        }
    }

    /// The step under way is not shortened: its work has begun.
    fn end(&mut self, now: Nanos, id: RequestId, reason: FinishReason) {
        self.run_to(now);
        let ended = if let Some(at) = self.running.iter().position(|sequence| sequence.id == id) {
            Some(self.running.remove(at))
        } else {
            let at = self.waiting.iter().position(|sequence| sequence.id == id);
            at.and_then(|at| self.waiting.remove(at))
        };
        if let Some(mut sequence) = ended {
            sequence.release(&mut self.pool);
            self.emit(now, id, EventKind::Finished { reason });
        }
    }
}

/// Saturates, as a sum of [`Nanos`] does: a plan may ask for centuries.
fn times(span: Span, count: u32) -> Nanos {
    Nanos(span.nanos().saturating_mul(u64::from(count)))
}
