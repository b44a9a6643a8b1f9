use crate::{Header, Link, SweepError, header::read_headers};
use plimsoll_record::{Endpoint, Plan, TargetConditions};
use plimsoll_transport::{Dial, DialOptions, DialPart, Head, Proxy, Secret, TlsOptions, TransportError};
use plimsoll_wire::url::BaseUrl;
use std::time::Duration;

/// The version of its API that Anthropic's servers want to be named.
const ANTHROPIC_VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// How every server of a plan is reached: connection options, key and headers, read once.
#[derive(Clone, Debug)]
pub struct Way {
    options: DialOptions,
    key: Option<Secret>,
    headers: Vec<Header>,
    endpoint: Endpoint,
    /// For one connection.
    pub limit: Duration,
}

impl Way {
    /// Reads headers and proxy from where the plan says they are.
    pub fn of_plan(plan: &Plan, key: Option<&Secret>) -> Result<Self, SweepError> {
        let variable = |name: &str| std::env::var(name).ok();
        let proxy = plan.proxy.as_deref().map(|text| Proxy::from_flag(text, variable)).transpose();
        let options = DialOptions {
            http: plan.http,
            tls: TlsOptions {
                ca_file: plan.ca_file.clone(),
                client_cert: plan.client_cert.clone(),
                client_key: plan.client_key.clone(),
                insecure: plan.insecure,
            },
            unix_socket: plan.unix_socket.clone(),
            proxy: proxy.map_err(|error| SweepError::usage(format!("--proxy: {error}")))?,
        };
        Ok(Self {
            options,
            key: key.cloned(),
            headers: read_headers(&plan.header)?,
            endpoint: plan.endpoint,
            limit: plan.connect_timeout.duration(),
        })
    }

    /// Looks the server's name up.
    pub async fn resolve(
        &self,
        base: &BaseUrl,
        link: &Link,
        flag: &str,
    ) -> Result<(Dial, TargetConditions), SweepError> {
        if let Link::Memory(dial) = link {
            let conditions = TargetConditions { url: base.url(""), ..TargetConditions::default() };
            return Ok((Dial::Memory(dial.clone()), conditions));
        }
        let found = Dial::resolve(base, &self.options).await.map_err(|error| refused(flag, &error))?;
        Ok((found.dial.clone(), found.conditions()))
    }

    /// The way to a server of another origin, as a metrics page may be: without the socket, which leads to the first.
    pub fn elsewhere(&self) -> Self {
        let options = DialOptions { unix_socket: None, ..self.options.clone() };
        Self { options, key: None, headers: Vec::new(), ..self.clone() }
    }

    /// What every request to a server carries.
    pub fn head(&self, base: &BaseUrl) -> Result<Head, SweepError> {
        let wrong = |error: TransportError| SweepError::usage(error);
        let mut head = Head::new(&base.authority(), self.key.as_ref()).map_err(wrong)?;
        if let Some(query) = base.query() {
            head = head.with_query(query);
        }
        if self.endpoint == Endpoint::Messages {
            let (name, version) = ANTHROPIC_VERSION;
            head = head.with(name, version);
            if let Some(key) = &self.key {
                head = head.with_secret("x-api-key", key).map_err(wrong)?;
            }
        }
        for header in &self.headers {
            head = head.with_header(header.name(), header.value(), header.is_secret()).map_err(wrong)?;
        }
        Ok(head)
    }
}

/// The flag of a part of the way.
pub const fn flag(part: DialPart) -> &'static str {
    match part {
        DialPart::CaFile => "--ca-file",
        DialPart::ClientCert => "--client-cert",
        DialPart::ClientKey => "--client-key",
        DialPart::Proxy => "--proxy",
    }
}

/// An error of the address that `named` gives, or of another part of the way.
fn refused(named: &str, error: &TransportError) -> SweepError {
    let named = match error.part() {
        Some(part) => flag(part),
        None => named,
    };
    let message = format!("{named}: {error}");
    if error.is_usage() { SweepError::usage(message) } else { SweepError::target(message) }
}
