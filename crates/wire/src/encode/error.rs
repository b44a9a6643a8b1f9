use super::{json, sse_event};
use bytes::Bytes;

/// An error as the OpenAI interface of vLLM tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    /// What is wrong.
    pub message: String,
    /// For example `BadRequestError`.
    pub kind: &'static str,
    /// The parameter at fault.
    pub param: Option<String>,
    /// The HTTP status, or the one that it would have been.
    pub code: u16,
}

impl ErrorBody {
    /// The body of a refusal.
    pub fn body(&self) -> String {
        let Self { message, kind, param, code } = self;
        format!(
            r#"{{"error":{{"message":{},"type":{},"param":{},"code":{code}}}}}"#,
            json(message),
            json(kind),
            json(param)
        )
    }

    /// The event that tells of it inside a stream that began well. vLLM writes this one with spaces.
    pub fn event(&self) -> Bytes {
        let Self { message, kind, param, code } = self;
        sse_event(&format!(
            r#"{{"error": {{"message": {}, "type": {}, "param": {}, "code": {code}}}}}"#,
            json(message),
            json(kind),
            json(param)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_the_captured_bytes() {
        let unknown_model = ErrorBody {
            message: "The model `nope` does not exist. Valid aliases: tiny.".to_owned(),
            kind: "NotFoundError",
            param: Some("model".to_owned()),
            code: 404,
        };
        assert_eq!(
            unknown_model.body(),
            r#"{"error":{"message":"The model `nope` does not exist. Valid aliases: tiny.","type":"NotFoundError","param":"model","code":404}}"#
        );
        let engine = ErrorBody {
            message: "EngineCore encountered an issue. See stack trace (above) for the root cause."
                .to_owned(),
            kind: "InternalServerError",
            param: None,
            code: 500,
        };
        assert_eq!(
            &engine.event()[..],
            b"data: {\"error\": {\"message\": \"EngineCore encountered an issue. See stack trace (above) for the root cause.\", \"type\": \"InternalServerError\", \"param\": null, \"code\": 500}}\n\n"
        );
    }
}
