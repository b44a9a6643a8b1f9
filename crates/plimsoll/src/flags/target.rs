use super::{given, set};
use clap::Args;
use plimsoll_record::{HttpVersion, Plan, Redirects, Span};
use std::path::PathBuf;

/// Where the server is and what it is asked for: the same for every command that talks to one.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetFlags {
    /// Base address of the server, with or without /v1; several, repeated or parted by commas, share the requests in
    /// turn [default: the embedded mock, where the command has one].
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub url: Option<Vec<String>>,
    /// Model name [default: the one that the server serves].
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Name of the environment variable that holds the API key [default: no key].
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// File that holds the API key [default: no key].
    #[arg(long, value_name = "FILE", conflicts_with = "api_key_env")]
    api_key_file: Option<PathBuf>,
    /// Further header, "Name: value"; may be repeated. A value `env:NAME` or `file:PATH` is read from there and never
    /// written down; secrets must be given so.
    #[arg(long, value_name = "HEADER")]
    header: Option<Vec<String>>,
    /// Address of the metrics page, or off [default: /metrics of the server].
    #[arg(long, value_name = "URL|off")]
    scrape: Option<String>,
    #[command(flatten)]
    connection: ConnectionFlags,
}

/// How the server is connected to.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
struct ConnectionFlags {
    /// Certificates (PEM) to trust beside the system's [default: none].
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// This client's own certificate chain (PEM) [default: none].
    #[arg(long, value_name = "FILE")]
    client_cert: Option<PathBuf>,
    /// Its private key (PEM) [default: none].
    #[arg(long, value_name = "FILE")]
    client_key: Option<PathBuf>,
    /// Take any certificate; every report says so [default: false].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    insecure: Option<bool>,
    /// HTTP version: 1, 2, or auto (with TLS what the server prefers, else 1) [default: auto].
    #[arg(long, value_name = "VERSION")]
    http: Option<HttpVersion>,
    /// Unix socket to connect to, in place of the address's host and port [default: none].
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// HTTP proxy; those that the environment names are never used [default: none].
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// Redirects: refuse, or same-host, which pays them in latency [default: refuse].
    #[arg(long, value_name = "POLICY")]
    redirects: Option<Redirects>,
    /// Limit for a connection: TCP, proxy and TLS [default: 10s].
    #[arg(long, value_name = "TIME")]
    connect_timeout: Option<Span>,
    /// Limit from sending a request to its first token [default: none].
    #[arg(long, value_name = "TIME")]
    first_token_timeout: Option<Span>,
    /// Limit between two reads of a stream [default: 1m].
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<Span>,
}

impl TargetFlags {
    /// Puts what was given over the plan.
    pub fn apply(&self, plan: &mut Plan) {
        let Self { url, model, api_key_env, api_key_file, header, scrape, connection } = self;
        // One of the two says where the key is; a flag takes the place of either in the plan.
        if api_key_env.is_some() || api_key_file.is_some() {
            (plan.api_key_env, plan.api_key_file) = (api_key_env.clone(), api_key_file.clone());
        }
        set(&mut plan.url, url.as_ref());
        given(&mut plan.model, model.as_ref());
        set(&mut plan.header, header.as_ref());
        given(&mut plan.scrape, scrape.as_ref());
        given(&mut plan.ca_file, connection.ca_file.as_ref());
        given(&mut plan.client_cert, connection.client_cert.as_ref());
        given(&mut plan.client_key, connection.client_key.as_ref());
        set(&mut plan.insecure, connection.insecure.as_ref());
        set(&mut plan.http, connection.http.as_ref());
        given(&mut plan.unix_socket, connection.unix_socket.as_ref());
        given(&mut plan.proxy, connection.proxy.as_ref());
        set(&mut plan.redirects, connection.redirects.as_ref());
        set(&mut plan.connect_timeout, connection.connect_timeout.as_ref());
        given(&mut plan.first_token_timeout, connection.first_token_timeout.as_ref());
        set(&mut plan.idle_timeout, connection.idle_timeout.as_ref());
    }
}
