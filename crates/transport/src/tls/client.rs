use super::{
    Agreed,
    problem::problem,
    verify::{AnyCertificate, Trusting},
};
use crate::{DialPart, TlsOptions, TransportError, connection::Layer, io::SensorIo};
use plimsoll_record::{FailureKind, HttpVersion};
use std::{fmt, path::Path, sync::Arc};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, ProtocolVersion, RootCertStore,
        client::{WebPkiServerVerifier, danger::ServerCertVerifier},
        crypto::ring,
        pki_types::{
            CertificateDer, PrivateKeyDer, ServerName,
            pem::{self, PemObject},
        },
    },
};

/// Makes a TLS connection of a byte stream. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
    http: HttpVersion,
}

impl Tls {
    /// Reads all files. `host` is a name or an address without brackets.
    pub fn new(host: &str, http: HttpVersion, options: &TlsOptions) -> Result<Self, TransportError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TransportError::usage(format!("`{host}` is no name that a certificate can have")))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TransportError::usage(format!("TLS: {error}")))?;
        let verifier: Arc<dyn ServerCertVerifier> = if options.insecure {
            Arc::new(AnyCertificate::new(&provider))
        } else {
            let (roots, own) = trusted(options.ca_file.as_deref())?;
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| TransportError::usage(format!("the trusted certificates: {error}")))?;
            Arc::new(Trusting::new(verifier, own))
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = match (&options.client_cert, &options.client_key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(chain), Some(key)) => builder
                .with_client_auth_cert(certificates(chain, DialPart::ClientCert)?, private_key(key)?)
                .map_err(|error| {
                    let (chain, key) = (chain.display(), key.display());
                    TransportError::usage(format!(
                        "the client certificate {chain} with the key {key} cannot be used: {error}"
                    ))
                    .about(DialPart::ClientCert)
                })?,
            _ => {
                return Err(TransportError::usage(
                    "a client certificate needs its key, and a key its certificate; give both files",
                ));
            }
        };
        let (one, two) = (b"http/1.1".to_vec(), b"h2".to_vec());
        config.alpn_protocols = match http {
            HttpVersion::Two => vec![two],
            HttpVersion::Auto if cfg!(feature = "http2") => vec![two, one],
            HttpVersion::One | HttpVersion::Auto => vec![one],
        };
        Ok(Self { connector: Arc::new(config).into(), name, http })
    }

    /// Shakes hands. `authority` names the server in errors.
    pub async fn handshake(&self, io: SensorIo, authority: &str) -> Result<(Layer, Agreed), TransportError> {
        let failed = |reason: &str| {
            TransportError::new(FailureKind::Connect, format!("no TLS connection with {authority}: {reason}"))
        };
        let stream =
            self.connector.connect(self.name.clone(), io).await.map_err(|error| match problem(&error) {
                Some(reason) => failed(&reason),
                None => failed(&format!("{error}; does it speak TLS at that port?")),
            })?;
        let (_, session) = stream.get_ref();
        let http2 = session.alpn_protocol() == Some(b"h2");
        if self.http == HttpVersion::Two && !http2 {
            return Err(failed(
                "the server does not offer HTTP/2; use HTTP/1.1 (--http 1) or leave it to the server (--http auto)",
            ));
        }
        let version = match session.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "1.2",
            _ => "1.3",
        };
        Ok((Layer::tls(stream), Agreed { http2, version }))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The system's roots and those of the file; and the file's certificates once more.
fn trusted(file: Option<&Path>) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TransportError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    let own = file.map(|file| certificates(file, DialPart::CaFile)).transpose()?.unwrap_or_default();
    for certificate in &own {
        roots.add(certificate.clone()).map_err(|error| {
            let file = file.unwrap_or(Path::new("")).display();
            TransportError::usage(format!("a certificate of {file} cannot be trusted: {error}"))
                .about(DialPart::CaFile)
        })?;
    }
    if roots.is_empty() {
        let why = system.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
        return Err(TransportError::usage(format!(
            "this system has no trusted certificates{why}; install them (ca-certificates), name some with --ca-file, or take any certificate with --insecure"
        )));
    }
    Ok((roots, own))
}

fn certificates(file: &Path, part: DialPart) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    let unreadable = |reason: &dyn fmt::Display| {
        TransportError::usage(format!("the certificates in {} cannot be read: {reason}", file.display()))
            .about(part)
    };
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&reason(error)))?.collect();
    match found {
        Ok(found) if found.is_empty() => Err(unreadable(&"there is none in PEM (BEGIN CERTIFICATE)")),
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(&reason(error))),
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TransportError> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| {
        let advice = "it must be in PEM and have no password";
        TransportError::usage(format!(
            "the private key in {} cannot be read: {}; {advice}",
            file.display(),
            reason(error)
        ))
        .about(DialPart::ClientKey)
    })
}

/// The system's own words where it is the file that cannot be read.
fn reason(error: pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}
