use super::CheckRow;
use crate::preflight::Server;
use bytes::Bytes;
use plimsoll_record::Endpoint;
use plimsoll_transport::{FetchLimits, fetch};
use plimsoll_wire::{
    chat::error_message,
    request::{Input, Message, RequestBody},
};

/// Checks that wrong requests are refused with a 4xx: a server that answers them hides the mistakes of its clients,
/// one that fails with a 5xx is not sound.
pub struct Refusals<'a> {
    pub server: &'a Server,
    pub limits: FetchLimits,
    pub model: &'a str,
}

impl Refusals<'_> {
    /// Adds the rows, on the first route that is served.
    pub async fn all(&self, served: &[Endpoint], rows: &mut Vec<CheckRow>) {
        let Some(endpoint) = served.first().copied() else { return };
        let hello = || vec![Message { role: "user", content: "hello" }];
        let (good, empty) = match endpoint {
            Endpoint::Chat | Endpoint::Responses | Endpoint::Messages => {
                (Input::Messages(hello()), r#""messages":[]"#)
            }
            Endpoint::Completions => (Input::Prompt("hello"), r#""prompt":[]"#),
        };
        let mut unknown = RequestBody::new("plimsoll-no-such-model", good, 1);
        (unknown.stream, unknown.include_usage) = (false, false);
        let model = serde_json::Value::from(self.model);
        let bodies = [
            ("refuses an unknown model", unknown.to_bytes()),
            ("refuses malformed JSON", Bytes::from_static(b"{\"model\": \"m\", \"max_tokens\": 1,")),
            ("refuses an empty request", format!(r#"{{"model":{model},{empty},"max_tokens":1}}"#).into()),
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
