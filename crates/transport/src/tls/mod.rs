//! TLS between the socket and HTTP.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod client;
#[cfg(feature = "tls")]
mod problem;
#[cfg(feature = "tls")]
mod verify;

#[cfg(not(feature = "tls"))]
pub use absent::{Tls, problem};
#[cfg(feature = "tls")]
pub use client::Tls;
#[cfg(feature = "tls")]
pub use problem::problem;

/// What a handshake agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Agreed {
    pub http2: bool,
    pub version: &'static str,
}
