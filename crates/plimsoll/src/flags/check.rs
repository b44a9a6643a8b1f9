use clap::Args;
use plimsoll_record::Span;

/// Flags of `check`.
#[derive(Debug, Args)]
pub struct CheckFlags {
    /// Base address of the server, http only, with or without /v1.
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Model name [default: the one that it serves].
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Name of the environment variable that holds the API key [default: no key].
    #[arg(long, value_name = "VARIABLE")]
    pub api_key_env: Option<String>,
    /// Address of the metrics page [default: /metrics of the server].
    #[arg(long, value_name = "URL")]
    pub scrape: Option<String>,
    /// Limit for each request.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub timeout: Span,
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
