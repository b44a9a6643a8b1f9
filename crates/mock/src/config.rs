use crate::Faults;
use plimsoll_record::MockEngine;
use std::fmt;

/// Everything that a mock is made from.
#[derive(Clone, Default)]
pub struct MockConfig {
    /// The engine model.
    pub engine: MockEngine,
    /// With a key, `/v1/*` answers 401 without `Authorization: Bearer <key>`; the other routes stay open.
    pub api_key: Option<String>,
    /// What goes wrong, and how streams look.
    pub faults: Faults,
}

impl MockConfig {
    /// A healthy mock of this engine, without a key.
    pub fn of_engine(engine: MockEngine) -> Self {
        Self { engine, ..Self::default() }
    }
}

/// Without the key.
impl fmt::Debug for MockConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockConfig")
            .field("engine", &self.engine)
            .field("api_key", &self.api_key.as_ref().map(|_| "set"))
            .field("faults", &self.faults)
            .finish()
    }
}
