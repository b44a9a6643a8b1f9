use super::TargetFlags;
use clap::Args;
use plimsoll_record::{Plan, Span};

/// Flags of `check`.
#[derive(Debug, Args)]
pub struct CheckFlags {
    #[command(flatten)]
    target: TargetFlags,
    /// Limit for each request.
    #[arg(long, value_name = "TIME", default_value = "60s", help_heading = "Connection")]
    timeout: Span,
    /// Requests of the small load at the end; 0: none.
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = "Small load", value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub requests: u32,
    /// How many of these at once.
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Small load", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub concurrency: u32,
    /// Most tokens of each answer.
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Small load", value_parser = clap::value_parser!(u32).range(1..))]
    pub output_tokens: u32,
    /// Sampling temperature.
    #[arg(long, value_name = "T", default_value_t = 0.7, help_heading = "Small load")]
    pub temperature: f64,
}

impl CheckFlags {
    /// The target, as a plan names it.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan { timeout: self.timeout, ..Plan::default() };
        self.target.apply(&mut plan);
        plan
    }
}
