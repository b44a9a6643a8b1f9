//! The open loop: an absolute schedule, so that neither a slow server nor a late client moves a later request.
//!
//! [`Agenda`] holds the schedule and says what each arrival is for, [`Line`] is the line at a cap on requests in
//! flight, [`Pool`] keeps the connections that are not busy, and [`run`] sends what is due.

mod agenda;
mod decide;
mod line;
mod pool;
mod run;

pub use agenda::Agenda;
pub use line::Line;
pub use pool::Pool;
pub use run::run;

#[cfg(test)]
mod tests;
