//! Runs one level of load. In a closed loop ([`Load::Closed`]) each of a number of slots sends its next request when the
//! last one has ended; in an open loop ([`OpenLoop`]) requests are sent when they are due, by an absolute schedule,
//! whatever the server does.
//!
//! The load of a level has one shape, with no drain before its end:
//!
//! ```text
//! ramp (staggered starts) -> warm-up -> window [t0, t1) -> filler -> drain       closed loop
//!                            warm-up -> window [t0, t1) -> filler -> drain       open loop
//! ```
//!
//! [`Control`] decides what each next request is for; [`run_slots`] is one worker's share of the load on the current
//! runtime, [`run_level`] the whole level on threads of its own. Requests come prepared from a [`Supply`], records and
//! phase marks go out through a [`Sink`]. Nothing here formats, tokenizes or computes statistics.
//!
//! A worker's thread also has a heartbeat, whose [`Event::Client`] tells how late the thread gets to what is ready.

mod attempt;
mod beat;
mod brake;
mod control;
mod error;
mod level;
mod open;
mod pacer;
mod site;
mod sorted;
mod stop;
mod supply;
mod tally;
mod user;
mod worker;

pub use control::{Control, Marks};
pub use error::DriverError;
pub use level::{Cohort, LevelPlan, Load, OpenLoop};
pub use pacer::Pacer;
pub use stop::Stop;
pub use supply::{Prepared, Stream, Supply};
pub use tally::{FailureRow, Progress};
pub use user::{Event, Sink};
pub use worker::{Target, Worker, run_level, run_slots};
