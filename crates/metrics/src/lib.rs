//! To be written.
mod summary;
pub use summary::*;
