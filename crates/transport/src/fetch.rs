use crate::{
    Dial, Head, TransportError,
    address::Address,
    connection::Connection,
    inflate::Inflate,
    redirect::{self, Step},
};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, header::CONTENT_ENCODING};
use plimsoll_record::{FailureKind, Redirects, TimeLimit};
use std::{pin::pin, time::Duration};
use tokio::time::{Instant, timeout};

/// Bounds of a small request.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// Largest body, bytes.
    pub body: usize,
    /// For the whole exchange, the connection included.
    pub time: Duration,
    /// What to do about redirects; one that is not followed is the reply.
    pub redirects: Redirects,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { body: 16 << 20, time: Duration::from_secs(10), redirects: Redirects::Refuse }
    }
}

/// A whole response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Status.
    pub status: u16,
    /// Headers whose values are text, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Bytes,
    /// When the request was handed to the socket.
    pub sent: Instant,
    /// The read that completed the head.
    pub first_byte: Instant,
    /// The read that completed the body.
    pub ended: Instant,
}

impl Reply {
    /// Value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Where a redirect leads: without query, user and password, bounded.
    pub fn redirected_to(&self) -> Option<String> {
        redirect::is(self.status).then(|| redirect::shown(self.header("location")?)).flatten()
    }
}

/// One request over a connection of its own: `GET` without a body, `POST` of JSON with one.
pub async fn fetch(
    dial: &Dial,
    head: &Head,
    path: &str,
    body: Option<Bytes>,
    limits: FetchLimits,
) -> Result<Reply, TransportError> {
    let whole = timeout(limits.time, follow(dial, head, path, body.as_ref(), limits)).await;
    whole.unwrap_or_else(|_| {
        let message = format!("no complete answer from {path} within {:.1?}", limits.time);
        Err(TransportError::timeout(TimeLimit::Total, message))
    })
}

async fn follow(
    dial: &Dial,
    head: &Head,
    path: &str,
    body: Option<&Bytes>,
    limits: FetchLimits,
) -> Result<Reply, TransportError> {
    let mut asked = Asked { dial, head, address: Address::new(dial, head, path)?, body, limits, followed: 0 };
    loop {
        match asked.once(path).await? {
            Answer::Reply(reply) => return Ok(reply),
            Answer::Moved(address) => {
                asked.address = address;
                asked.followed += 1;
            }
        }
    }
}

struct Asked<'a> {
    dial: &'a Dial,
    head: &'a Head,
    address: Address,
    body: Option<&'a Bytes>,
    limits: FetchLimits,
    /// Redirects so far.
    followed: u32,
}

enum Answer {
    Reply(Reply),
    /// Ask there.
    Moved(Address),
}

impl Asked<'_> {
    /// One exchange; `path` is the one asked for, for errors.
    async fn once(&self, path: &str) -> Result<Answer, TransportError> {
        let Self { dial, address, body, .. } = self;
        let limit = self.limits.body;
        let head = self.head.clone().dressed(dial);
        let mut connection = Connection::open(dial).await?;
        let sensor = connection.sensor.clone();
        let mut request = Request::new(Full::new(body.cloned().unwrap_or_default()));
        request.headers_mut().clone_from(&head.headers);
        if body.is_some() {
            *request.method_mut() = Method::POST;
            request.headers_mut().insert(
                hyper::header::CONTENT_TYPE,
                hyper::header::HeaderValue::from_static("application/json"),
            );
        }
        address.put(&mut request, &connection);
        sensor.arm();
        let response = {
            let (sender, mut wheel) = connection.parts();
            wheel.drive(pin!(sender.send_request(request))).await
        }
        .map_err(|error| TransportError::from_hyper(&error, false))?;
        let (policy, method) =
            (self.limits.redirects, if body.is_some() { Method::POST } else { Method::GET });
        if let Some(Step::Follow(address)) =
            redirect::step(&response, policy, &method, address, self.followed)
        {
            return Ok(Answer::Moved(address));
        }
        let first_byte = sensor.last_read();
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), head.blot_text(value.to_str().ok()?.to_owned())))
            })
            .collect();
        let mut inflate = undoing(&response, limit)?;
        let mut incoming = response.into_body();
        let mut bytes = BytesMut::new();
        let too_long = || {
            TransportError::new(
                FailureKind::BadPayload,
                format!("the body of {path} is larger than {limit} bytes"),
            )
        };
        let mut keep = |piece: &[u8]| {
            if bytes.len() + piece.len() > limit {
                return Err(too_long());
            }
            bytes.extend_from_slice(piece);
            Ok(true)
        };
        while let Some(frame) = connection.drive(pin!(incoming.frame())).await {
            let frame = frame.map_err(|error| TransportError::from_hyper(&error, true))?;
            let Ok(data) = frame.into_data() else { continue };
            match &mut inflate {
                Some(inflate) => inflate.push(&data, &mut keep)?,
                None => {
                    keep(&data)?;
                }
            }
        }
        let sent = sensor.first_write().unwrap_or(first_byte);
        let body = head.blot_body(bytes.freeze());
        Ok(Answer::Reply(Reply { status, headers, body, sent, first_byte, ended: sensor.last_read() }))
    }
}

/// What undoes the encoding of the body, if it has one.
fn undoing<B>(response: &Response<B>, limit: usize) -> Result<Option<Inflate>, TransportError> {
    let encoding = response.headers().get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) else {
        return Ok(None);
    };
    let Some(inflate) = Inflate::new(encoding, limit) else {
        let encoding: String = encoding.chars().take(60).collect();
        let message = format!("the body has Content-Encoding {encoding}, which was not asked for");
        return Err(TransportError::new(FailureKind::BadPayload, message));
    };
    Ok(Some(inflate))
}
