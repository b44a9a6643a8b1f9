use super::verify::is_authority;
use std::io;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// What went wrong with TLS, and what to do about it; `None` when `error` has nothing to do with TLS.
pub fn problem(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(reason) => certificate(reason),
        Error::AlertReceived(alert) => self::alert(*alert),
        Error::InvalidMessage(_) => {
            "what it sends is not TLS; if the server speaks plain HTTP, write http:// in the address"
                .to_owned()
        }
        Error::PeerIncompatible(reason) => {
            format!("it speaks no version or cipher that this client takes, TLS 1.2 and 1.3 ({reason:?})")
        }
        other => other.to_string(),
    })
}

fn certificate(reason: &CertificateError) -> String {
    const TRUST: &str = "name the certificate of the authority that issued it with --ca-file, or take any certificate with --insecure";
    match reason {
        CertificateError::UnknownIssuer => {
            format!("its certificate comes from an authority that is not trusted here (unknown issuer); {TRUST}")
        }
        reason if is_authority(reason) => {
            "its certificate is self-signed and not trusted here; name it with --ca-file, or take any certificate with --insecure".to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            format!("its certificate has expired, {days} days ago; renew it, or take any certificate with --insecure")
        }
        CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; is the clock of this host right?".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().take(5).map(|name| shown(name)).collect();
            let names = if names.is_empty() { "no host name".to_owned() } else { names.join(", ") };
            format!(
                "its certificate is not for {} but for {names}; use a name that it has, or take any certificate with --insecure",
                expected.to_str()
            )
        }
        other => format!("its certificate is not valid: {}; take any certificate with --insecure", shown(&other.to_string())),
    }
}

fn alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "it asks for a client certificate; give one with --client-cert and --client-key".to_owned()
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::AccessDenied => {
            format!("it does not take this client's certificate (--client-cert): alert {alert:?}")
        }
        AlertDescription::NoApplicationProtocol => {
            "it does not offer the HTTP version asked for; leave it to the server (--http auto)".to_owned()
        }
        AlertDescription::HandshakeFailure => {
            "it refused the handshake: it may ask for a client certificate (--client-cert), or share no cipher with this client".to_owned()
        }
        AlertDescription::UnrecognisedName => "it does not know the host name that was asked for".to_owned(),
        other => format!("it sent the alert {other:?}"),
    }
}

/// The names of a certificate are the server's words: without control characters, bounded.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
