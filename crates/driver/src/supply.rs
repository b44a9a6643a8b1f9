use bytes::Bytes;
use plimsoll_record::Phase;

/// Warm-up requests are drawn from another stream than all others, so that no measured prompt was ever seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// For warm-up.
    Warmup,
    /// For measured and filler requests.
    Load,
}

/// A request ready to be sent.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Number of the request in its stream.
    pub id: u64,
    /// The body as it goes out.
    pub body: Bytes,
    /// Prompt tokens that the plan asked for.
    pub asked_input_tokens: Option<u32>,
    /// `max_tokens`.
    pub max_tokens: u32,
}

/// Gives a worker its next request. Requests are made ahead of their use, off the thread that sends them.
pub trait Supply {
    /// The next request of the stream; `None` when there will be no more.
    fn next(&mut self, stream: Stream) -> Option<Prepared>;

    /// Requests so far that were asked for before they had been made.
    fn starved(&self) -> u32 {
        0
    }

    /// Called once before the level begins: waits until so many first requests of the warm-up and of the load are made, so that
    /// the first wave waits for none.
    fn prepare(&mut self, _warmups: usize, _loads: usize) {}
}

impl Stream {
    /// The stream that serves a phase.
    pub const fn of(phase: Phase) -> Self {
        match phase {
            Phase::Warmup => Self::Warmup,
            Phase::Measure | Phase::Filler => Self::Load,
        }
    }
}
