//! The server's own statistics, under the names, labels and buckets of vLLM 0.32's metrics page.
//!
//! They are fed from what the ledger holds, with actual emission instants, so that a page and a ledger of the
//! same moment agree. As in vLLM, the first token brings the prompt's tokens and the time to first token, each
//! token a generated token and a gap, and the end everything else. A request that was given up counts in
//! `request_success_total` and in what it had emitted, and nowhere else.

mod histogram;
mod page;

pub(crate) use page::{PageState, metrics_page};

use crate::engine::FinishReason;
use crate::ledger::LedgerEntry;
use histogram::{
    Histogram, PARAMS_N, PREEMPTIONS, REQUEST_TIME, STEP_TOKENS, TOKEN_TIME, TTFT, token_bounds,
};
use plimsoll_record::Nanos;

/// Counts and histograms since the start.
#[derive(Debug)]
pub(crate) struct Stats {
    prompt_tokens: u64,
    cached_tokens: u64,
    generation_tokens: u64,
    finished: [u64; FinishReason::ALL.len()],
    ttft: Histogram,
    itl: Histogram,
    tpot: Histogram,
    e2e: Histogram,
    queue: Histogram,
    inference: Histogram,
    prefill: Histogram,
    decode: Histogram,
    request_prompt: Histogram,
    request_generation: Histogram,
    request_computed: Histogram,
    request_preemptions: Histogram,
    params_n: Histogram,
    params_max_tokens: Histogram,
    step_tokens: Histogram,
}

impl Stats {
    pub(crate) fn new(max_model_len: u32) -> Self {
        let tokens = token_bounds(max_model_len);
        Self {
            prompt_tokens: 0,
            cached_tokens: 0,
            generation_tokens: 0,
            finished: [0; FinishReason::ALL.len()],
            ttft: Histogram::of_times(TTFT),
            itl: Histogram::of_times(TOKEN_TIME),
            tpot: Histogram::of_times(TOKEN_TIME),
            e2e: Histogram::of_times(REQUEST_TIME),
            queue: Histogram::of_times(REQUEST_TIME),
            inference: Histogram::of_times(REQUEST_TIME),
            prefill: Histogram::of_times(REQUEST_TIME),
            decode: Histogram::of_times(REQUEST_TIME),
            request_prompt: Histogram::of_counts(&tokens),
            request_generation: Histogram::of_counts(&tokens),
            request_computed: Histogram::of_counts(&tokens),
            request_preemptions: Histogram::of_counts(PREEMPTIONS),
            params_n: Histogram::of_counts(PARAMS_N),
            params_max_tokens: Histogram::of_counts(&tokens),
            step_tokens: Histogram::of_counts(STEP_TOKENS),
        }
    }

    /// The engine ended steps of these sizes.
    pub(crate) fn steps(&mut self, sizes: &[u32]) {
        for size in sizes {
            self.step_tokens.observe(u64::from(*size));
        }
    }

    /// The last token in the entry was just emitted.
    pub(crate) fn token(&mut self, entry: &LedgerEntry) {
        self.generation_tokens += 1;
        match entry.tokens.as_slice() {
            [] => {}
            [first] => {
                self.prompt_tokens += u64::from(entry.prompt_tokens);
                self.cached_tokens += u64::from(entry.cached_tokens);
                self.ttft.observe_time(first.actual - entry.arrival);
            }
            [.., before, last] => self.itl.observe_time(last.actual - before.actual),
        }
    }

    /// The entry just got its finish.
    pub(crate) fn finish(&mut self, entry: &LedgerEntry) {
        let Some(reason) = entry.reason else { return };
        for (count, known) in self.finished.iter_mut().zip(FinishReason::ALL) {
            *count += u64::from(known == reason);
        }
        if !entry.completed() {
            return;
        }
        let (Some(admission), [first, ..], [.., last]) =
            (entry.admission, entry.tokens.as_slice(), entry.tokens.as_slice())
        else {
            return;
        };
        let tokens = entry.tokens.len() as u64;
        let decode = last.actual - first.actual;
        self.e2e.observe_time(last.actual - entry.arrival);
        self.queue.observe_time(admission - entry.arrival);
        self.prefill.observe_time(first.actual - admission);
        self.decode.observe_time(decode);
        self.inference.observe_time(last.actual - admission);
        self.tpot.observe_time(Nanos(decode.0.checked_div(tokens - 1).unwrap_or(0)));
        self.request_prompt.observe(u64::from(entry.prompt_tokens));
        self.request_computed.observe(u64::from(entry.prompt_tokens.saturating_sub(entry.cached_tokens)));
        self.request_generation.observe(tokens);
        self.request_preemptions.observe(u64::from(entry.preemptions));
        self.params_n.observe(1);
        self.params_max_tokens.observe(u64::from(entry.max_tokens));
    }
}
