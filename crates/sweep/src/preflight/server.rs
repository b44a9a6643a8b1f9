use crate::{Link, SweepError};
use plimsoll_record::Conditions;
use plimsoll_transport::{Dial, FetchLimits, Head, Reply, Secret, TransportError, fetch};
use plimsoll_wire::{
    chat::error_message,
    models::{Model, parse_models, parse_version},
    url::BaseUrl,
};

/// A server that can be connected to.
pub struct Server {
    pub dial: Dial,
    pub head: Head,
    base: BaseUrl,
}

/// What a server told of itself.
pub struct About {
    models: Vec<Model>,
    version: Option<String>,
    software: Option<String>,
    /// Why there is no list of models.
    no_list: Option<String>,
    shown: String,
}

impl Server {
    /// Resolves the address.
    pub async fn reach(link: &Link, url: Option<&str>, key: Option<&Secret>) -> Result<Self, SweepError> {
        let url = match link {
            Link::Url => url.ok_or_else(|| SweepError::usage("--url: no address given"))?,
            Link::Embedded(url) => url.as_str(),
            Link::Memory(_) => "http://memory",
        };
        let base: BaseUrl = url.parse().map_err(|error| SweepError::usage(format!("--url: {error}")))?;
        let dial = match link {
            Link::Memory(dial) => Dial::Memory(dial.clone()),
            _ => resolve_host(&base, "--url").await?,
        };
        let head = Head::new(&base.authority(), key).map_err(SweepError::usage)?;
        Ok(Self { dial, head, base })
    }

    /// Its address, for display.
    pub fn shown(&self) -> String {
        self.base.url("")
    }

    /// Path of a route.
    pub fn path(&self, route: &str) -> String {
        self.base.path(route)
    }

    pub const fn base(&self) -> &BaseUrl {
        &self.base
    }

    /// Asks for models and version.
    pub async fn ask(&self, limits: FetchLimits) -> Result<About, SweepError> {
        let path = self.path("/v1/models");
        let reply = fetch(&self.dial, &self.head, &path, None, limits).await;
        let reply = reply.map_err(|error| unreachable(&self.shown(), &error))?;
        let shown = self.base.url("/v1/models");
        let (models, no_list) = match reply.status {
            200 => match parse_models(&reply.body) {
                Ok(models) if !models.is_empty() => (models, None),
                Ok(_) => (Vec::new(), Some("it names none".to_owned())),
                Err(error) => {
                    return Err(SweepError::target(format!(
                        "{shown} does not answer as an OpenAI-compatible server does: {error}; is it another service's port?"
                    )));
                }
            },
            401 | 403 => return Err(unauthorized(&shown, &reply)),
            status => (Vec::new(), Some(format!("HTTP {status}: {}", error_message(&reply.body)))),
        };
        let version = match fetch(&self.dial, &self.head, &self.path("/version"), None, limits).await {
            Ok(reply) if reply.status == 200 => parse_version(&reply.body),
            _ => None,
        };
        let software =
            reply.header("server").map(|text| text.chars().filter(|c| !c.is_control()).take(200).collect());
        Ok(About { models, version, software, no_list, shown })
    }
}

impl About {
    /// The model to ask for.
    pub fn choose_model(&self, asked: Option<&str>) -> Result<String, SweepError> {
        let names: Vec<&str> = self.models.iter().map(|model| model.id.as_str()).collect();
        match (asked, names.as_slice()) {
            (Some(asked), []) => Ok(asked.to_owned()),
            (Some(asked), names) if names.contains(&asked) => Ok(asked.to_owned()),
            (Some(asked), names) => Err(SweepError::target(format!(
                "--model: the server does not serve `{}`; it serves {}",
                shown(asked),
                list(names)
            ))),
            (None, [only]) => Ok((*only).to_owned()),
            (None, []) => Err(SweepError::target(format!(
                "{} tells no model ({}); is this an OpenAI-compatible server? If it is, name the model with --model",
                self.shown,
                self.no_list.as_deref().unwrap_or("it names none")
            ))),
            (None, names) => Err(SweepError::usage(format!(
                "--model: the server serves several; choose one of {}",
                list(names)
            ))),
        }
    }

    /// Writes what is known into the conditions.
    pub fn describe(&self, model: &str, conditions: &mut Conditions) {
        let server = &mut conditions.server;
        model.clone_into(&mut server.model);
        server.models = self.models.iter().map(|model| model.id.clone()).collect();
        server.version.clone_from(&self.version);
        server.software.clone_from(&self.software);
        server.max_model_len =
            self.models.iter().find(|known| known.id == model).and_then(|known| known.max_model_len);
        if let Some(reason) = &self.no_list {
            conditions.notes.push(format!(
                "the server has no list of models ({reason}); `{}` was not checked",
                shown(model)
            ));
        }
    }
}

/// Names, bounded, quoted.
fn list(names: &[&str]) -> String {
    let mut text =
        names.iter().take(20).map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ");
    if names.len() > 20 {
        text.push_str(" and others");
    }
    text
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// Looks a host's addresses up.
pub async fn resolve_host(base: &BaseUrl, flag: &str) -> Result<Dial, SweepError> {
    let found = tokio::net::lookup_host((base.host(), base.port())).await;
    let addresses: Vec<_> = found
        .map_err(|error| {
            SweepError::target(format!("{flag}: the host `{}` cannot be found: {error}", base.host()))
        })?
        .collect();
    Ok(Dial::Tcp(addresses))
}

/// An address as it may be shown: without user, password and query.
pub fn without_credentials(url: &str) -> String {
    url.parse::<BaseUrl>().map_or_else(|_| String::new(), |base| base.url(""))
}

pub fn unreachable(shown: &str, error: &TransportError) -> SweepError {
    let advice = if error.is_connect() {
        "; is the server up, and are host and port right?"
    } else {
        "; is this an HTTP server?"
    };
    SweepError::target(format!("{shown}: {error}{advice}"))
}

pub fn unauthorized(shown: &str, reply: &Reply) -> SweepError {
    SweepError::target(format!(
        "{shown} refuses access (HTTP {}: {}); name the environment variable that holds the right API key with --api-key-env",
        reply.status,
        error_message(&reply.body)
    ))
}
