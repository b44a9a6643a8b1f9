//! Sweeps of real servers, which the recipes install and start themselves.

mod assertions;
mod server;
mod vllm;

use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Server {
    /// vLLM on the CPU, with a tiny model of random weights and four slots.
    Vllm(Options),
}

#[derive(Debug, Args)]
pub struct Options {
    /// Port that the server listens on.
    #[arg(long, default_value_t = 8100)]
    port: u16,
    /// Leave the server running.
    #[arg(long)]
    keep: bool,
}

pub fn run(server: &Server) -> Result<()> {
    match server {
        Server::Vllm(options) => vllm::run(options),
    }
}
