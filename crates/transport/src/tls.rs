use crate::{TlsOptions, TransportError};
use plimsoll_record::HttpVersion;

#[derive(Clone, Debug)]
pub struct Tls {}

impl Tls {
    pub fn new(_host: &str, _http: HttpVersion, _options: &TlsOptions) -> Result<Self, TransportError> {
        Err(TransportError::usage("https is not supported yet"))
    }
}
