//! The vocabulary of a load test: what was planned ([`Plan`]), what happened ([`RequestRecord`],
//! [`PhaseMark`]), what the server said meanwhile ([`Sample`]) and under which conditions ([`Conditions`]).
//!
//! The crate is pure: no clock, no files, no network. Every time is a [`Nanos`], nanoseconds since the run's start.
//! The types are the lines and files of a run folder; their names there stand in [`files`].

mod conditions;
pub mod files;
mod length;
mod lines;
mod nanos;
mod outcome;
mod phase;
mod plan;
mod request;
mod sample;
mod span;

pub use conditions::{Conditions, Environment, PromptConditions, ServerConditions};
pub use length::{LengthError, LengthLaw};
pub use lines::{BadLine, Lines, read_lines};
pub use nanos::Nanos;
pub use outcome::{FailureKind, Outcome};
pub use phase::{FinishReason, Phase, PhaseEdge, PhaseMark};
pub use plan::{Endpoint, MockEngine, Plan, SCRAPE_OFF};
pub use request::{Connection, EventKind, RequestRecord, StreamEvent, TokenSource};
pub use sample::{Counter, Gauge, Histogram, HistogramName, Sample, SampleOutcome, SampleTrigger};
pub use span::{Span, SpanError};

/// Version of `requests.jsonl`, `samples.jsonl` and `phases.jsonl`; it stands in every line as `schema`.
pub const RECORD_SCHEMA: u32 = 1;
