use std::{fmt, io, path::Path};
use thiserror::Error;

/// Why a sweep could not be made, or its folder not be read.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct SweepError {
    kind: ErrorKind,
    message: String,
}

/// What the program does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The plan or a file that it names is wrong.
    Usage,
    /// The server cannot be used.
    Target,
    /// The run ended before its load was complete.
    Invalid,
    /// Anything else, such as a full disk.
    Other,
}

impl SweepError {
    /// What the program does about it.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// A wrong plan or a wrong file.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::Usage, message: message.to_string() }
    }

    /// An unusable server.
    pub fn target(message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::Target, message: message.to_string() }
    }

    /// A run that is not complete.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::Invalid, message: message.to_string() }
    }

    /// Anything else.
    pub fn other(message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::Other, message: message.to_string() }
    }

    pub(crate) fn write(path: &Path, error: &io::Error) -> Self {
        Self::other(format!("cannot write {}: {error}", path.display()))
    }

    pub(crate) fn read(path: &Path, error: &io::Error) -> Self {
        Self::usage(format!("cannot read {}: {error}", path.display()))
    }
}
