use super::input::Route;
use super::stream::AnswerStream;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, SERVER};
use hyper::{Response, StatusCode};
use plimsoll_wire::encode::{ErrorBody, messages_error};
use std::pin::Pin;
use std::task::{Context, Poll};
use thiserror::Error;

pub(super) const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// The body of a response.
#[derive(Debug)]
pub(crate) enum ReplyBody {
    /// All at once; `None` when it was taken.
    Full(Option<Bytes>),
    /// Event by event.
    Stream(Box<AnswerStream>),
    /// Breaks the connection.
    Broken,
}

/// Tells hyper to cut the connection in mid-body.
#[derive(Debug, Error)]
#[error("the connection is cut on purpose")]
pub(crate) struct Cut;

/// Makes responses.
pub(super) struct Reply;

impl Reply {
    pub(super) fn empty() -> Response<ReplyBody> {
        Self::of(StatusCode::OK, None, ReplyBody::Full(None))
    }

    pub(super) fn json(status: StatusCode, body: String) -> Response<ReplyBody> {
        Self::text(status, JSON, body)
    }

    pub(super) fn text(status: StatusCode, content_type: &'static str, body: String) -> Response<ReplyBody> {
        Self::of(status, Some(content_type), ReplyBody::Full(Some(Bytes::from(body))))
    }

    pub(super) fn error(error: &ErrorBody) -> Response<ReplyBody> {
        let status = StatusCode::from_u16(error.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::json(status, error.body())
    }

    /// An error in the route's dialect.
    pub(super) fn refusal(route: Route, error: &ErrorBody) -> Response<ReplyBody> {
        let mut response = Self::error(error);
        if route == Route::Messages {
            let kind = if error.code < 500 { "invalid_request_error" } else { "api_error" };
            let body = messages_error(kind, &error.message);
            *response.body_mut() = ReplyBody::Full(Some(Bytes::from(body)));
        }
        response
    }

    pub(super) fn stream(stream: AnswerStream) -> Response<ReplyBody> {
        Self::of(StatusCode::OK, Some(EVENT_STREAM), ReplyBody::Stream(Box::new(stream)))
    }

    pub(super) fn broken() -> Response<ReplyBody> {
        Self::of(StatusCode::OK, Some(JSON), ReplyBody::Broken)
    }

    pub(super) fn method_not_allowed(allow: &'static str) -> Response<ReplyBody> {
        let body = r#"{"detail":"Method Not Allowed"}"#.to_owned();
        let mut response = Self::json(StatusCode::METHOD_NOT_ALLOWED, body);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        response
    }

    fn of(status: StatusCode, content_type: Option<&'static str>, body: ReplyBody) -> Response<ReplyBody> {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(SERVER, HeaderValue::from_static("plimsoll-mock"));
        if let Some(content_type) = content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        response
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => stream.poll_frame(cx),
            Self::Broken => Poll::Ready(Some(Err(Cut))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(_) | Self::Broken => SizeHint::default(),
        }
    }
}
