use super::CheckRow;
use crate::{preflight::Server, template::Template};
use bytes::Bytes;
use plimsoll_record::Endpoint;
use plimsoll_transport::{FetchLimits, fetch};
use plimsoll_wire::chat::error_message;
use plimsoll_workload::Prompt;

/// Checks that wrong requests are refused with a 4xx: a server that answers them hides the mistakes of its clients,
/// one that fails with a 5xx is not sound.
pub struct Refusals<'a> {
    pub server: &'a Server,
    pub limits: FetchLimits,
    pub model: &'a str,
}

impl Refusals<'_> {
    /// Adds the rows, on the first route that is served, in the form that it takes.
    pub async fn all(&self, served: &[Template], rows: &mut Vec<CheckRow>) {
        let Some(template) = served.first() else { return };
        let endpoint = template.endpoint;
        let empty = match endpoint {
            Endpoint::Chat | Endpoint::Responses | Endpoint::Messages => r#""messages":[]"#,
            Endpoint::Completions => r#""prompt":[]"#,
        };
        let unknown = Template { model: "plimsoll-no-such-model".to_owned(), ..template.clone() };
        let limit = template.form.limit;
        let model = serde_json::Value::from(self.model);
        let bodies = [
            ("refuses an unknown model", unknown.whole(&Prompt::user("hello"), 1)),
            ("refuses malformed JSON", Bytes::from_static(b"{\"model\": \"m\", \"max_tokens\": 1,")),
            ("refuses an empty request", format!(r#"{{"model":{model},{empty},"{limit}":1}}"#).into()),
        ];
        for (name, body) in bodies {
            rows.push(self.one(endpoint, name, body).await);
        }
    }

    async fn one(&self, endpoint: Endpoint, name: &str, body: Bytes) -> CheckRow {
        let path = self.server.path(endpoint.path());
        match fetch(&self.server.dial, &self.server.head, &path, Some(body), self.limits).await {
            Ok(reply) => {
                let message = error_message(&reply.body);
                let short: String = message.chars().take(120).collect();
                match reply.status {
                    400..500 => CheckRow::pass(name, format!("HTTP {}: {short}", reply.status)),
                    200..300 => CheckRow::warn(
                        name,
                        format!("answered with HTTP {} as if all were well", reply.status),
                    ),
                    status => CheckRow::warn(name, format!("HTTP {status} where a 4xx is due: {short}")),
                }
            }
            Err(error) => CheckRow::warn(name, format!("no answer: {error}")),
        }
    }
}
