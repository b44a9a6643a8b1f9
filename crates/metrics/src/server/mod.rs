//! What the server said of itself inside a window.

mod gauges;
mod histogram;
mod load;
mod track;

pub use histogram::{Bucketed, bucket_quantile};
pub(crate) use load::ServerLoad;
pub(crate) use track::{Fell, RESET, Targets};
