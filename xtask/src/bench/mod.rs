//! What the client costs, by itself and beside others.

mod measure;
mod mock;
mod peers;
mod results;
mod table;
mod templates;
mod truth;

use crate::recipes;
use anyhow::Result;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Run every known load client that is on this machine, and Plimsoll, against the mock with the same load; compare
    /// what each costs, and what each reports with what the mock did.
    Peers(peers::Options),
    /// The mock for one client; tells its ledger when its standard input ends.
    #[command(hide = true)]
    Mock(mock::Options),
}

pub fn run(bench: Option<&Bench>) -> Result<()> {
    match bench {
        None => recipes::bench(),
        Some(Bench::Peers(options)) => peers::run(options),
        Some(Bench::Mock(options)) => mock::run(options),
    }
}
