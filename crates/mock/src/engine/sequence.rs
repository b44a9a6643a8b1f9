use super::blocks::{BlockPool, Holding};
use super::{EngineRequest, FinishReason, RequestId};

/// A request inside the engine.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) id: RequestId,
    /// Tokens generated so far.
    pub(super) generated: u32,
    pub(super) was_preempted: bool,
    prompt_tokens: u32,
    hashes: Vec<u64>,
    max_tokens: u32,
    eos_after: Option<u32>,
    holding: Holding,
}

/// The look-up in the prefix cache at admission, tokens.
pub(super) struct Lookup {
    pub(super) queried: u32,
    pub(super) cached: u32,
}

impl Sequence {
    pub(super) fn new(id: RequestId, request: &EngineRequest, hashes: Vec<u64>) -> Self {
        Self {
            id,
            generated: 0,
            was_preempted: false,
            prompt_tokens: request.prompt.len() as u32,
            hashes,
            max_tokens: request.max_tokens,
            eos_after: request.eos_after,
            holding: Holding::default(),
        }
    }

    /// Takes the blocks for all tokens so far; `None` when there are not enough. At least the last token is
    /// always computed, as the step needs its output.
    pub(super) fn admit(&mut self, pool: &mut BlockPool, block_size: u32) -> Option<Lookup> {
        let tokens = self.prompt_tokens + self.generated;
        let private = tokens.div_ceil(block_size) - self.hashes.len() as u32;
        let cached = (pool.hits(&self.hashes) * block_size).min((tokens - 1) / block_size * block_size);
        self.holding = pool.take(&self.hashes, private)?;
        Some(Lookup { queried: tokens, cached })
    }

    /// True when the next step would write beyond the blocks held.
    pub(super) fn needs_block(&self, block_size: u32) -> bool {
        (self.prompt_tokens + self.generated).div_ceil(block_size) > self.holding.len()
    }

    pub(super) fn grow(&mut self, pool: &mut BlockPool) -> bool {
        pool.grow(&mut self.holding)
    }

    pub(super) fn release(&mut self, pool: &mut BlockPool) {
        pool.give_back(std::mem::take(&mut self.holding));
    }

    /// The end of the model's text comes before the limit when both fall on one token.
    pub(super) fn finished(&self) -> Option<FinishReason> {
        if self.eos_after.is_some_and(|eos| self.generated >= eos) {
            Some(FinishReason::Stop)
        } else if self.generated >= self.max_tokens {
            Some(FinishReason::Length)
        } else {
            None
        }
    }
}
