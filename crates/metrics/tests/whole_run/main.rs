//! Whole runs with a known truth: a server of four slots, each request a second long.

#![expect(clippy::unwrap_used, reason = "what tests share")]

mod closed_loop;
mod open_loop;
mod server;
mod wire;
