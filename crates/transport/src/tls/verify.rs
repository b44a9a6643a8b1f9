use std::sync::Arc;
use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};

/// Checks certificates as usual, and takes a server's self-signed one if the user has named exactly that.
///
/// Such a certificate is often marked as an authority's (`openssl req -x509` does so), which the usual rules do not let a
/// server use.
#[derive(Debug)]
pub struct Trusting {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl Trusting {
    pub const fn new(usual: Arc<WebPkiServerVerifier>, named: Vec<CertificateDer<'static>>) -> Self {
        Self { usual, named }
    }
}

/// Is the certificate refused for nothing but being an authority's? Its dates have been checked by then.
pub fn is_authority(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.usual.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(reason))
                if is_authority(&reason) && self.named.iter().any(|named| named == certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Takes any certificate, as the user has asked for.
#[derive(Debug)]
pub struct AnyCertificate(Vec<SignatureScheme>);

impl AnyCertificate {
    pub fn new(provider: &CryptoProvider) -> Self {
        Self(provider.signature_verification_algorithms.supported_schemes())
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}
