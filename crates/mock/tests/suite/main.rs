//! Tests of the mock through its public face.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod captures;
mod common;
mod dialects;
mod engine;
mod faults;
mod ledger;
mod metrics_page;
mod thread;
