//! Prometheus text pages, read as servers send them rather than as the format demands.
//!
//! One line that cannot be read never costs another: it is skipped and counted. Types and help are not needed here;
//! what a metric means is told by its name (see [`crate::concepts`]).

mod line;
mod page;

pub use line::PromSample;
pub use page::{Page, PageError};
