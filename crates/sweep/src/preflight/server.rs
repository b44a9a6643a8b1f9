use super::{Way, way};
use crate::{Link, SweepError};
use plimsoll_record::{Conditions, Redirects, TargetConditions};
use plimsoll_transport::{Dial, DialPart, FetchLimits, Head, Reply, TransportError, fetch};
use plimsoll_wire::{
    chat::error_message,
    models::{Model, parse_models, parse_version},
    url::BaseUrl,
};
use std::time::Duration;

/// A server that can be connected to.
pub struct Server {
    pub dial: Dial,
    pub head: Head,
    /// What is known of the way to it.
    pub conditions: TargetConditions,
    base: BaseUrl,
}

/// What a server told of itself.
pub struct About {
    models: Vec<Model>,
    pub version: Option<String>,
    software: Option<String>,
    /// Why there is no list of models.
    no_list: Option<String>,
    shown: String,
}

impl Server {
    /// Resolves the address.
    pub async fn reach(link: &Link, url: &str, way: &Way) -> Result<Self, SweepError> {
        let url = match link {
            Link::Url => url,
            Link::Embedded(url) => url.as_str(),
            Link::Memory(_) => "http://memory",
        };
        let base: BaseUrl = url.parse().map_err(|error| SweepError::usage(format!("--url: {error}")))?;
        let (dial, conditions) = way.resolve(&base, link, "--url").await?;
        Ok(Self { dial, head: way.head(&base)?, conditions, base })
    }

    /// Opens one connection and closes it, for its times and versions.
    pub async fn connect(&mut self, limit: Duration) -> Result<(), SweepError> {
        if self.dial.is_memory() {
            return Ok(());
        }
        let probe = tokio::time::timeout(limit, self.dial.probe()).await.map_err(|_| {
            SweepError::target(format!(
                "{} does not take a connection within {limit:?} (--connect-timeout); is it up, and do packets reach it?",
                self.shown()
            ))
        })?;
        probe.map_err(|error| unreachable(&self.shown(), &error))?.describe(&mut self.conditions);
        Ok(())
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

    /// Its own metrics page.
    pub fn metrics_page(&self) -> plimsoll_scrape::Target {
        plimsoll_scrape::Target::with_head(self.dial.clone(), &self.base, self.head.clone())
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
            status => (Vec::new(), Some(refusal(status, &reply, limits.redirects))),
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

    /// Why another server of the same run cannot serve `model`, if it cannot.
    pub fn lacks(&self, model: &str) -> Option<String> {
        let names: Vec<&str> = self.models.iter().map(|known| known.id.as_str()).collect();
        (!names.is_empty() && !names.contains(&model)).then(|| {
            format!("--url: {} does not serve `{}`; it serves {}", self.shown, shown(model), list(&names))
        })
    }

    /// The longest prompt plus answer, tokens.
    pub fn max_model_len(&self, model: &str) -> Option<u32> {
        self.models.iter().find(|known| known.id == model).and_then(|known| known.max_model_len)
    }

    /// Writes what is known into the conditions.
    pub fn describe(&self, model: &str, conditions: &mut Conditions) {
        let server = &mut conditions.server;
        model.clone_into(&mut server.model);
        server.models = self.models.iter().map(|model| model.id.clone()).collect();
        server.version.clone_from(&self.version);
        server.software.clone_from(&self.software);
        server.max_model_len = self.max_model_len(model);
        if let Some(reason) = &self.no_list {
            conditions.notes.push(format!(
                "the server has no list of models ({reason}); `{}` was not checked",
                shown(model)
            ));
        }
    }
}

/// What a reply without success says: where it leads and what to do about it, or the server's words.
pub fn refusal(status: u16, reply: &Reply, policy: Redirects) -> String {
    let Some(location) = reply.redirected_to() else {
        return format!("HTTP {status}: {}", error_message(&reply.body));
    };
    let advice = match policy {
        Redirects::Refuse => "follow it with --redirects same-host, or name the final address with --url",
        Redirects::SameHost => {
            "not followed, as it leads to another origin or is one too many; name the final address with --url"
        }
    };
    format!("HTTP {status}: redirected to {location}; {advice}")
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

/// An address as it may be shown: without user, password and query.
pub fn without_credentials(url: &str) -> String {
    url.parse::<BaseUrl>().map_or_else(|_| String::new(), |base| base.url(""))
}

fn unreachable(shown: &str, error: &TransportError) -> SweepError {
    let place = match error.part() {
        Some(part) => way::flag(part),
        None => shown,
    };
    SweepError::target(format!("{place}: {error}{}", advice(shown, error)))
}

/// What to look at when the server at `shown` gives no answer.
pub fn advice(shown: &str, error: &TransportError) -> &'static str {
    if error.part() == Some(DialPart::Proxy) {
        "; is the proxy up, and are its host and port right?"
    } else if error.is_connect() {
        "; is the server up, and are host and port right?"
    } else if shown.starts_with("http://") {
        "; is this an HTTP server? If it speaks TLS at that port, write https:// in the address"
    } else {
        "; is this an HTTP server?"
    }
}

pub fn unauthorized(shown: &str, reply: &Reply) -> SweepError {
    SweepError::target(format!(
        "{shown} refuses access (HTTP {}: {}); name the environment variable that holds the right API key with --api-key-env",
        reply.status,
        error_message(&reply.body)
    ))
}
