use plimsoll_record::FailureKind;
use std::{fmt, io};
use thiserror::Error;

/// Why an exchange failed.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct TransportError {
    kind: FailureKind,
    usage: bool,
    message: String,
}

impl TransportError {
    /// The kind of failure.
    pub const fn kind(&self) -> FailureKind {
        self.kind
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
        Self { kind, usage: false, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Connect, usage: true, message: message.into() }
    }

    pub(crate) fn connect(address: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(FailureKind::Connect, format!("cannot connect to {address}: {error}"))
    }

    pub(crate) fn no_address() -> Self {
        Self::new(FailureKind::Connect, "the host name has no address")
    }

    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Timeout, message)
    }

    /// From hyper, before (`head` false) or after the response's head.
    pub(crate) fn from_hyper(error: &hyper::Error, head: bool) -> Self {
        let io = io_kind(error);
        let kind = match io {
            Some(
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted,
            ) => FailureKind::Reset,
            _ if error.is_parse() => FailureKind::BadPayload,
            _ if error.is_timeout() => FailureKind::Timeout,
            _ if !head => FailureKind::Closed,
            _ if error.is_incomplete_message() || io == Some(io::ErrorKind::UnexpectedEof) => {
                FailureKind::Truncated
            }
            _ => FailureKind::BadPayload,
        };
        Self::new(kind, chain(error))
    }
}

fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        source = error.source();
    }
    None
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
