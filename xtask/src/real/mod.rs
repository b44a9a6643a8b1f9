//! Sweeps of real servers, which the recipes install and start themselves.

mod assertions;
mod folder;
mod llamacpp;
mod server;
mod vllm;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use std::{env, path::PathBuf};

#[derive(Debug, Subcommand)]
pub enum Server {
    /// vLLM on the CPU, with a tiny model of random weights and four slots.
    Vllm(Options),
    /// llama.cpp on the CPU, with a small model of real weights and four slots. Building it takes 20 minutes of two
    /// processors, so this recipe is no part of `.ci/run`.
    Llamacpp(Options),
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
        Server::Llamacpp(options) => llamacpp::run(options),
    }
}

/// Where servers are installed.
pub fn servers() -> Result<PathBuf> {
    match (env::var_os("PLIMSOLL_SERVERS"), env::var_os("HOME")) {
        (Some(root), _) => Ok(PathBuf::from(root)),
        (None, Some(home)) => Ok(PathBuf::from(home).join(".cache/plimsoll-servers")),
        (None, None) => bail!("set PLIMSOLL_SERVERS to a folder with 6 GB to spare"),
    }
}
