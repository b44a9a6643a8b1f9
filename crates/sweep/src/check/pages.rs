use super::{CheckOptions, CheckRow};
use crate::{
    Link,
    preflight::{Server, Way, advice, refusal},
};
use plimsoll_record::Redirects;
use plimsoll_transport::{FetchLimits, Reply, TransportError, fetch};
use plimsoll_wire::{
    chat::error_message,
    concepts::Concepts,
    models::{parse_models, parse_version},
    prometheus::Page,
    url::BaseUrl,
};

/// Checks what a server tells of itself.
pub struct Pages<'a> {
    pub server: &'a Server,
    pub way: &'a Way,
    pub options: &'a CheckOptions,
    pub limits: FetchLimits,
}

impl Pages<'_> {
    pub async fn connection(&self) -> CheckRow {
        let name = "connection";
        let limit = self.limits.time.min(self.way.limit);
        match tokio::time::timeout(limit, self.server.dial.probe()).await {
            Ok(Ok(probe)) => {
                let tls = probe.tls.map_or_else(String::new, |tls| {
                    format!(", TLS {} in {}", probe.tls_version.unwrap_or("?"), ms(tls.as_secs_f64()))
                });
                CheckRow::pass(
                    name,
                    format!(
                        "{} in {}{tls}, HTTP/{}",
                        self.server.shown(),
                        ms(probe.connect.as_secs_f64()),
                        probe.http
                    ),
                )
            }
            Ok(Err(error)) => {
                CheckRow::fail(name, format!("{error}{}", advice(&self.server.shown(), &error)))
            }
            Err(_) => CheckRow::fail(
                name,
                format!("{} did not accept a connection within {limit:?}", self.server.shown()),
            ),
        }
    }

    pub async fn health(&self) -> CheckRow {
        let name = "GET /health";
        match self.get("/health").await {
            Ok(reply) if reply.status == 200 => CheckRow::pass(name, format!("200 in {}", took(&reply))),
            Ok(reply) => CheckRow::warn(name, format!("HTTP {}; a sweep does not need it", reply.status)),
            Err(error) => CheckRow::warn(name, error.to_string()),
        }
    }

    /// Also the model to ask for, when there is one.
    pub async fn models(&self) -> (CheckRow, Option<String>) {
        let name = "GET /v1/models";
        let asked = self.options.plan.model.clone();
        let reply = match self.get("/v1/models").await {
            Ok(reply) => reply,
            Err(error) => {
                let detail = format!("{error}{}", advice(&self.server.shown(), &error));
                return (CheckRow::fail(name, detail), None);
            }
        };
        match reply.status {
            200 => {}
            401 | 403 => {
                let detail = format!(
                    "access refused (HTTP {}: {}); name the environment variable that holds the key with --api-key-env",
                    reply.status,
                    error_message(&reply.body)
                );
                return (CheckRow::fail(name, detail), None);
            }
            status => {
                let detail = refusal(status, &reply, self.limits.redirects);
                return match asked {
                    Some(_) => (CheckRow::warn(name, detail), asked),
                    None => (
                        CheckRow::fail(
                            name,
                            format!("{detail}; if this is an LLM server, name its model with --model"),
                        ),
                        None,
                    ),
                };
            }
        }
        let models = match parse_models(&reply.body) {
            Ok(models) => models,
            Err(error) => {
                return (CheckRow::fail(name, format!("{error}; is it another service's port?")), None);
            }
        };
        let names: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
        let list = names.iter().take(20).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match (asked, names.as_slice()) {
            (Some(asked), names) if names.contains(&asked.as_str()) => {
                (CheckRow::pass(name, format!("serves {list}")), Some(asked))
            }
            (Some(asked), _) => {
                (CheckRow::fail(name, format!("does not serve `{asked}`; it serves {list}")), None)
            }
            (None, []) => (CheckRow::fail(name, "names no model; name one with --model"), None),
            (None, [only]) => (CheckRow::pass(name, format!("serves {list}")), Some((*only).to_owned())),
            (None, [first, ..]) => {
                let detail =
                    format!("serves several; checked with the first of {list}; choose one with --model");
                (CheckRow::warn(name, detail), Some((*first).to_owned()))
            }
        }
    }

    pub async fn version(&self) -> CheckRow {
        let name = "GET /version";
        match self.get("/version").await {
            Ok(reply) if reply.status == 200 => match parse_version(&reply.body) {
                Some(version) => CheckRow::pass(name, version),
                None => CheckRow::warn(name, "names no version; write it down yourself"),
            },
            Ok(reply) => CheckRow::warn(
                name,
                format!("HTTP {}; the version must be written down by hand", reply.status),
            ),
            Err(error) => CheckRow::warn(name, error.to_string()),
        }
    }

    pub async fn metrics(&self, model: &str) -> CheckRow {
        let name = "GET /metrics";
        if self.options.plan.scrape.as_deref() == Some(plimsoll_record::SCRAPE_OFF) {
            return CheckRow::warn(
                name,
                "not looked at (--scrape off): a sweep would have no verdict on the server",
            );
        }
        let reply = match &self.options.plan.scrape {
            None => self.get_metrics(self.server.base()).await,
            Some(url) => match url.parse::<BaseUrl>() {
                Ok(base) => self.get_metrics(&base).await,
                Err(error) => return CheckRow::fail(name, format!("--scrape: {error}")),
            },
        };
        let reply = match reply {
            Ok(reply) if reply.status == 200 => reply,
            Ok(reply) => {
                let moved = reply.redirected_to().map_or_else(String::new, |location| {
                    format!(" (redirected to {location}; if the page is there, name it with --scrape)")
                });
                return CheckRow::warn(
                    name,
                    format!("HTTP {}{moved}: no server metrics, so no bottleneck verdict", reply.status),
                );
            }
            Err(error) => {
                return CheckRow::warn(name, format!("{error}: no server metrics, so no bottleneck verdict"));
            }
        };
        let page = match Page::parse(&reply.body) {
            Ok(page) => page,
            Err(error) => return CheckRow::warn(name, format!("not a Prometheus page: {error}")),
        };
        let concepts = Concepts::read(&page, Some(model));
        let size = format!("{} kB in {}", reply.body.len().div_ceil(1000), took(&reply));
        if concepts.is_empty() {
            return CheckRow::warn(name, format!("{size}, but no metric of a known LLM server"));
        }
        let found = concepts.sources.len();
        if concepts.missing.is_empty() {
            return CheckRow::pass(name, format!("{size}, all {found} concepts found"));
        }
        CheckRow::warn(
            name,
            format!("{size}, {found} concepts found, missing: {}", concepts.missing.join(", ")),
        )
    }

    async fn get(&self, route: &str) -> Result<Reply, TransportError> {
        fetch(&self.server.dial, &self.server.head, &self.server.path(route), None, self.limits).await
    }

    async fn get_metrics(&self, base: &BaseUrl) -> Result<Reply, String> {
        // Key and headers go to the server that they are for, and to no other.
        let own = base.origin() == self.server.base().origin();
        let (dial, head) = if own {
            (self.server.dial.clone(), self.server.head.clone())
        } else {
            let way = self.way.elsewhere();
            let found = way.resolve(base, &Link::Url, "--scrape").await.map_err(|error| error.to_string())?;
            (found.0, way.head(base).map_err(|error| error.to_string())?)
        };
        let head = head.with("accept", "text/plain;version=0.0.4");
        // A sweep follows one of the same server, too: it costs no request of the load.
        let limits = FetchLimits { redirects: Redirects::SameHost, ..self.limits };
        let reply = fetch(&dial, &head, &base.path("/metrics"), None, limits).await;
        reply.map_err(|error| error.to_string())
    }
}

fn took(reply: &Reply) -> String {
    ms(reply.ended.saturating_duration_since(reply.sent).as_secs_f64())
}

/// Seconds, shown in milliseconds.
pub fn ms(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}
