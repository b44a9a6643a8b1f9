use clap::Args;
use plimsoll_record::Span;

/// Flags of `selftest`.
#[derive(Debug, Args)]
pub struct SelftestFlags {
    /// Threads that send, as `sweep --workers`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub workers: u32,
    /// About how long it takes.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub time: Span,
    /// Most streams to hold at once.
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub streams: u32,
}
