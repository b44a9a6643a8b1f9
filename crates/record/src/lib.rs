//! The vocabulary of a load test: what was planned ([`Plan`]), what happened ([`RequestRecord`],
//! [`PhaseMark`]), what the server said ([`Sample`]) and what this client was busy with
//! ([`ClientSample`]) meanwhile, and under which conditions ([`Conditions`]).
//!
//! The crate is pure: no clock, no files, no network. Every time is a [`Nanos`], nanoseconds since the run's start.
//! The types are the lines and files of a run folder; their names there stand in [`files`].

mod arrivals;
mod client;
mod conditions;
pub mod files;
mod length;
mod level;
mod lines;
mod nanos;
mod outcome;
mod phase;
mod plan;
mod request;
mod sample;
mod span;

pub use arrivals::{Arrivals, ArrivalsError, RampShape};
pub use client::ClientSample;
pub use conditions::{
    Ceiling, ClientLimits, Conditions, Environment, PromptConditions, ServerConditions, TargetConditions,
};
pub use length::{LengthError, LengthLaw};
pub use level::{Level, LevelError, Rate};
pub use lines::{BadLine, Lines, read_lines};
pub use nanos::Nanos;
pub use outcome::{FailureKind, Outcome, TimeLimit};
pub use phase::{FinishReason, Phase, PhaseEdge, PhaseMark};
pub use plan::{Endpoint, HttpVersion, MockEngine, Plan, Redirects, SCRAPE_OFF};
pub use request::{Connection, EventKind, RequestRecord, StreamEvent, TokenSource};
pub use sample::{Counter, Gauge, Histogram, HistogramName, Sample, SampleOutcome, SampleTrigger};
pub use span::{Span, SpanError};

/// Version of `requests.jsonl`, `samples.jsonl`, `client.jsonl` and `phases.jsonl`; it stands in every line as `schema`.
pub const RECORD_SCHEMA: u32 = 1;
