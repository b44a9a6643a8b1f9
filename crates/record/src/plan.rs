use crate::{Arrivals, LengthLaw, Level, Rate, Span};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The value of [`Plan::scrape`] that turns scraping off.
pub const SCRAPE_OFF: &str = "off";

/// Everything that decides what a run sends and how it is judged: `plan.toml`, every default spelled out.
/// The keys are the command line's flags. Secrets are never part of it: `api-key-env` names a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Plan {
    /// Base addresses of the server, with or without `/v1`. Several share the requests in turn. Empty: the embedded mock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub url: Vec<String>,
    /// Model name. Absent: the one that the server serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which route carries the load.
    pub endpoint: Endpoint,
    /// Levels of a closed loop: requests in flight at once, rising.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concurrency: Vec<u32>,
    /// Levels of an open loop, instead: arrivals per second, rising.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<f64>"))]
    pub rate: Vec<Rate>,
    /// How requests arrive in an open loop.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub arrivals: Arrivals,
    /// Most requests in flight in an open loop. A request that must wait for it makes the run no open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<u32>,
    /// Measured requests per level. Absent with `duration`: the window, or the rule of `min-window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// Length of the measured window per level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub duration: Option<Span>,
    /// With neither `requests` nor `duration`: the shortest window per level.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub min_window: Span,
    /// Warm-up requests per level. Absent: two per slot, at least four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u32>,
    /// How often each level is run.
    pub repeats: u32,
    /// Prompt length, tokens, of generated prompts.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub input_tokens: LengthLaw,
    /// `max_tokens` of each request.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub output_tokens: LengthLaw,
    /// File of prompts, used instead of generated ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PathBuf>,
    /// File with a system prompt shared by all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<PathBuf>,
    /// Sampling temperature.
    pub temperature: f64,
    /// Seed of everything that is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Service level objectives: `at 10: ttft p95 < 1s, tpot p95 < 50ms`; several are parted by `;`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
    /// Address of the metrics page, or `off`. Absent: `/metrics` of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrape: Option<String>,
    /// Time between two scrapes.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub scrape_interval: Span,
    /// Name of the environment variable that holds the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// File that holds the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    /// Further headers, `Name: value`. A value `env:NAME` or `file:PATH` is read from there and never written down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub header: Vec<String>,
    /// Certificates in PEM that are trusted beside the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// This client's own certificate chain in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<PathBuf>,
    /// Its private key in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<PathBuf>,
    /// Takes any certificate. Every report of the run says so.
    pub insecure: bool,
    /// HTTP version.
    pub http: HttpVersion,
    /// Unix socket to connect to, in place of the address's host and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_socket: Option<PathBuf>,
    /// HTTP proxy. Proxies named in the environment are never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// What to do about redirects.
    pub redirects: Redirects,
    /// How often a request that failed before any event is sent again.
    pub retries: u32,
    /// A `tokenizer.json`, to make prompts of exact length and to count output where the server sends no usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<PathBuf>,
    /// Asks the server to generate all `max_tokens`.
    pub ignore_eos: bool,
    /// Limit for a whole request, retries included.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub timeout: Span,
    /// Limit for a connection: TCP, proxy and TLS.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub connect_timeout: Span,
    /// Limit from sending a request to its first token. Absent: only `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub first_token_timeout: Option<Span>,
    /// Limit between two reads of a stream, from its first token on.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub idle_timeout: Span,
    /// Worker threads that send.
    pub workers: u32,
    /// Where run folders are made.
    pub out: PathBuf,
    /// Engine of the embedded mock; used only without `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mock: Option<MockEngine>,
}

/// Which route carries the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`, as Anthropic defines it.
    Messages,
}

/// Which HTTP version to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[serde(rename = "1")]
    One,
    /// HTTP/2, without TLS by prior knowledge.
    #[serde(rename = "2")]
    Two,
    /// With TLS what the server prefers, else HTTP/1.1.
    #[default]
    #[serde(rename = "auto")]
    Auto,
}

/// What to do about redirects. A load test that follows them pays two round trips a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Redirects {
    /// A redirect is a failure that names its location.
    #[default]
    Refuse,
    /// Follow 307 and 308 on the same host.
    SameHost,
}

/// The engine model of the mock server: continuous batching with a slot limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MockEngine {
    /// Name of the model that it serves.
    pub model: String,
    /// Largest number of requests in the running batch.
    pub max_num_seqs: u32,
    /// Largest prompt plus answer, tokens.
    pub max_model_len: u32,
    /// Prefill: fixed part per request.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub prefill_base: Span,
    /// Prefill: per prompt token.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub prefill_per_token: Span,
    /// Decode step: fixed part.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub decode_base: Span,
    /// Decode step: per sequence in the batch.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub decode_per_seq: Span,
    /// Size of a KV-cache block, tokens.
    pub block_size: u32,
    /// KV-cache blocks.
    pub num_blocks: u32,
}

impl Endpoint {
    /// The path below the base address.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }
}

impl std::str::FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "chat" => Ok(Self::Chat),
            "completions" => Ok(Self::Completions),
            "responses" => Ok(Self::Responses),
            "messages" => Ok(Self::Messages),
            _ => Err(format!("`{text}` is not a route; write chat, completions, responses or messages")),
        }
    }
}

impl std::str::FromStr for HttpVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1" | "1.1" => Ok(Self::One),
            "2" => Ok(Self::Two),
            "auto" => Ok(Self::Auto),
            _ => Err(format!("`{text}` is not an HTTP version; write 1, 2 or auto")),
        }
    }
}

impl std::str::FromStr for Redirects {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "same-host" => Ok(Self::SameHost),
            _ => Err(format!("`{text}` is no way to treat redirects; write refuse or same-host")),
        }
    }
}

impl Plan {
    /// The levels of the load, of either kind, as they stand in the plan.
    pub fn levels(&self) -> Vec<Level> {
        let rates = self.rate.iter().copied().map(Level::Rate);
        self.concurrency.iter().copied().map(Level::Concurrency).chain(rates).collect()
    }
}

impl Default for MockEngine {
    /// Eight slots: a sweep from 1 to 32 shows a knee at 8.
    fn default() -> Self {
        Self {
            model: "mock".to_owned(),
            max_num_seqs: 8,
            max_model_len: 8192,
            prefill_base: Span::from_millis(10),
            prefill_per_token: Span::new(std::time::Duration::from_micros(20)),
            decode_base: Span::from_millis(4),
            decode_per_seq: Span::new(std::time::Duration::from_micros(50)),
            block_size: 16,
            num_blocks: 8192,
        }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            url: Vec::new(),
            model: None,
            endpoint: Endpoint::Chat,
            concurrency: vec![1, 2, 4, 8, 16, 32],
            rate: Vec::new(),
            arrivals: Arrivals::Poisson,
            cap: None,
            requests: None,
            duration: None,
            min_window: Span::from_millis(30_000),
            warmup: None,
            repeats: 1,
            input_tokens: LengthLaw::Fixed(256),
            output_tokens: LengthLaw::Fixed(128),
            prompts: None,
            system: None,
            temperature: 0.0,
            seed: None,
            slo: None,
            scrape: None,
            scrape_interval: Span::from_millis(500),
            api_key_env: None,
            api_key_file: None,
            header: Vec::new(),
            ca_file: None,
            client_cert: None,
            client_key: None,
            insecure: false,
            http: HttpVersion::Auto,
            unix_socket: None,
            proxy: None,
            redirects: Redirects::Refuse,
            retries: 0,
            tokenizer: None,
            ignore_eos: false,
            timeout: Span::from_millis(600_000),
            connect_timeout: Span::from_millis(10_000),
            first_token_timeout: None,
            idle_timeout: Span::from_millis(60_000),
            workers: 1,
            out: PathBuf::from("runs"),
            mock: None,
        }
    }
}
