use crate::Proxy;
use plimsoll_record::HttpVersion;
use std::path::PathBuf;

/// How to reach a server, beside its address.
#[derive(Clone, Debug, Default)]
pub struct DialOptions {
    /// HTTP version.
    pub http: HttpVersion,
    /// For addresses with `https`; has no effect on others.
    pub tls: TlsOptions,
    /// Unix socket to connect to, in place of the address's host and port. These still stand in every request.
    pub unix_socket: Option<PathBuf>,
    /// Proxy in between. None that the environment names is ever used.
    pub proxy: Option<Proxy>,
}

/// Whom to trust, and who this client is.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Certificates in PEM that are trusted beside the system's: of authorities, or of the server itself.
    pub ca_file: Option<PathBuf>,
    /// This client's certificate chain in PEM, its own first.
    pub client_cert: Option<PathBuf>,
    /// Its private key in PEM.
    pub client_key: Option<PathBuf>,
    /// Takes any certificate: who can redirect the traffic can read it.
    pub insecure: bool,
}
