//! Runs one level of load: a closed loop of slots, each sending its next request when the last one has ended.
//!
//! The load of a level has one shape, with no drain before its end:
//!
//! ```text
//! ramp (staggered starts) -> warm-up -> window [t0, t1) -> filler -> drain
//! ```
//!
//! [`Control`] decides what each next request is for; [`run_slots`] is one worker's share of the slots on the current
//! runtime, [`run_level`] the whole level on threads of its own. Requests come prepared from a [`Supply`], records and
//! phase marks go out through a [`Sink`]. Nothing here formats, tokenizes or computes statistics.

mod control;
mod error;
mod level;
mod pacer;
mod supply;
mod user;
mod worker;

pub use control::{Control, FailureRow, Progress};
pub use error::DriverError;
pub use level::{Cohort, LevelPlan};
pub use pacer::Pacer;
pub use supply::{Prepared, Stream, Supply};
pub use user::{Event, Sink};
pub use worker::{Stop, Target, Worker, run_level, run_slots};
