use crate::Exit;
use plimsoll_sweep::SweepError;
use std::fmt;

/// Why a command ended early: what was wrong, where, and what to do.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub fn other(message: impl fmt::Display) -> Self {
        Self::new(Exit::Other, message)
    }

    pub const fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        Self::new(error.kind().into(), error)
    }
}
