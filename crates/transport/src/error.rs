use plimsoll_record::{FailureKind, TimeLimit};
use std::{fmt, io};
use thiserror::Error;

/// Why an exchange failed.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct TransportError {
    kind: FailureKind,
    time_limit: Option<TimeLimit>,
    usage: bool,
    part: Option<DialPart>,
    message: String,
}

/// What of a way to a server an error is about, where that is not the server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialPart {
    /// The file of certificates to trust.
    CaFile,
    /// This client's own certificate.
    ClientCert,
    /// Its private key.
    ClientKey,
    /// The proxy in between.
    Proxy,
}

impl TransportError {
    /// What the error is about, where that is not the server's address.
    pub const fn part(&self) -> Option<DialPart> {
        self.part
    }

    pub(crate) fn about(self, part: DialPart) -> Self {
        Self { part: Some(part), ..self }
    }

    /// The kind of failure.
    pub const fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The time limit that passed, if one did.
    pub const fn time_limit(&self) -> Option<TimeLimit> {
        self.time_limit
    }

    /// True when no connection could be made.
    pub fn is_connect(&self) -> bool {
        self.kind == FailureKind::Connect && !self.usage
    }

    /// True when options cannot be used, whatever the server does.
    pub const fn is_usage(&self) -> bool {
        self.usage
    }

    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, time_limit: None, usage: false, part: None, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { usage: true, ..Self::new(FailureKind::Connect, message) }
    }

    pub(crate) fn connect(address: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(FailureKind::Connect, format!("cannot connect to {address}: {error}"))
    }

    pub(crate) fn no_address() -> Self {
        Self::new(FailureKind::Connect, "the host name has no address")
    }

    pub(crate) fn timeout(limit: TimeLimit, message: impl Into<String>) -> Self {
        Self { time_limit: Some(limit), ..Self::new(FailureKind::Timeout, message) }
    }

    /// From hyper, before (`head` false) or after the response's head.
    pub(crate) fn from_hyper(error: &hyper::Error, head: bool) -> Self {
        let source = Source::of(error);
        if let Source::Tls(reason) = &source {
            // A server says what it thinks of this client's certificate only after the handshake.
            let kind = if head { FailureKind::Reset } else { FailureKind::Connect };
            return Self::new(kind, format!("TLS: {reason}"));
        }
        let ended = if head { FailureKind::Truncated } else { FailureKind::Closed };
        let kind = match source {
            Source::Reset => FailureKind::Reset,
            Source::Ended => ended,
            #[cfg(feature = "http2")]
            Source::Protocol => FailureKind::BadPayload,
            _ if error.is_parse() => FailureKind::BadPayload,
            _ if error.is_timeout() => FailureKind::Timeout,
            _ if !head || error.is_incomplete_message() => ended,
            _ => FailureKind::BadPayload,
        };
        Self::new(kind, chain(error))
    }
}

/// What lies below an error of hyper.
enum Source {
    /// The peer has torn the connection or the stream.
    Reset,
    /// The peer has ended it.
    Ended,
    /// The peer breaks the rules of HTTP/2.
    #[cfg(feature = "http2")]
    Protocol,
    /// The peer's word on TLS.
    Tls(String),
    Unknown,
}

impl Source {
    fn of(error: &hyper::Error) -> Self {
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                return Self::of_io(io);
            }
            #[cfg(feature = "http2")]
            if let Some(error) = error.downcast_ref::<h2::Error>() {
                return Self::of_http2(error);
            }
            source = error.source();
        }
        Self::Unknown
    }

    fn of_io(error: &io::Error) -> Self {
        if let Some(problem) = crate::tls::problem(error) {
            return Self::Tls(problem);
        }
        match error.kind() {
            // That is what h2 calls an end of the connection in the middle of a stream; the system's has no words inside.
            io::ErrorKind::BrokenPipe if error.get_ref().is_some() => Self::Ended,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                Self::Reset
            }
            io::ErrorKind::UnexpectedEof => Self::Ended,
            _ => Self::Unknown,
        }
    }

    /// RFC 9113: streams are reset (6.4), connections told to go away (6.8).
    #[cfg(feature = "http2")]
    fn of_http2(error: &h2::Error) -> Self {
        match error.get_io() {
            Some(io) => Self::of_io(io),
            None if !error.is_remote() => Self::Protocol,
            None if error.is_reset() => Self::Reset,
            None => Self::Ended,
        }
    }
}

fn chain(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
