//! What stands in place of TLS in a build without it.

use super::Agreed;
use crate::{TlsOptions, TransportError, connection::Layer, io::SensorIo};
use plimsoll_record::HttpVersion;
use std::{convert::Infallible, io};

/// Cannot be made.
#[derive(Clone, Debug)]
pub struct Tls(Infallible);

impl Tls {
    pub fn new(_: &str, _: HttpVersion, _: &TlsOptions) -> Result<Self, TransportError> {
        Err(TransportError::usage("this build has no TLS, so that https addresses cannot be used"))
    }

    #[expect(clippy::unused_async, reason = "stands in place of what a build with TLS has")]
    pub async fn handshake(&self, _: SensorIo, _: &str) -> Result<(Layer, Agreed), TransportError> {
        match self.0 {}
    }
}

pub fn problem(_: &io::Error) -> Option<String> {
    None
}
