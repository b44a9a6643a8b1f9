//! One HTTP exchange over one connection, every event of the stream stamped where its bytes leave the socket.
//!
//! A [`Slot`] is one virtual user: it keeps a connection alive, opens a new one when the old is stale, and turns one
//! prepared request into a [`Trace`]: what came when, which text, which usage, and how it ended. Requests are never
//! retried here: one call is one POST.
//!
//! ```no_run
//! use plimsoll_transport::{Clock, Dial, Head, Limits, Slot, Trace};
//!
//! # async fn example(body: bytes::Bytes) -> Result<(), plimsoll_transport::TransportError> {
//! let dial = Dial::Tcp(vec![([127, 0, 0, 1], 8000).into()]);
//! let mut slot = Slot::new(dial, Head::new("127.0.0.1:8000", None)?, "/v1/chat/completions", Limits::default())?;
//! let mut trace = Trace::default();
//! slot.post(body, Clock::start(), &mut trace).await;
//! println!("first token after {:?}, {:?}: {}", trace.first_token, trace.outcome, trace.text);
//! # Ok(())
//! # }
//! ```
//!
//! The example `stream` prints a whole stream with its stamps; `plimsoll_wire::request` makes bodies.
//!
//! **Ways to a server.** [`Dial::resolve`] takes an address and [`DialOptions`]: TLS, HTTP version, unix socket, proxy. It
//! looks names up and reads certificates, so that no request has to; [`Dial::probe`] opens one connection and tells
//! what that took and what was agreed on. A proxy is used only when it is given: no environment variable is looked at.
//! TLS and HTTP/2 are the features `tls` and `http2`; a build without them refuses what needs them. With HTTP/2 each slot
//! still has a connection of its own and one stream at a time, so that slots do not share a window.
//!
//! ```no_run
//! # #[cfg(all(feature = "tls", feature = "http2"))]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use plimsoll_transport::{Dial, DialOptions, TlsOptions};
//!
//! let tls = TlsOptions { ca_file: Some("ca.pem".into()), ..TlsOptions::default() };
//! let options = DialOptions { tls, ..DialOptions::default() };
//! let resolved = Dial::resolve(&"https://localhost:8443".parse()?, &options).await?;
//! let probe = resolved.dial.probe().await?;
//! println!("{:?}: HTTP/{}, TLS {:?}", resolved.addresses, probe.http, probe.tls_version);
//! # Ok(())
//! # }
//! ```
//!
//! **What servers do unasked.** Redirects are failures unless [`Limits::redirects`] lets those of the same origin be
//! followed; credentials never go to another origin. `gzip` and `deflate` are undone as the bytes come, within bounds; any
//! other encoding is a bad payload. Secrets that a server repeats, also inside JSON, are taken out of all that is kept.
//!
//! **Stamps.** hyper hands a body's frame to its consumer in a later poll than the one that read it from the socket.
//! Under load that is microseconds at the median and milliseconds at the tail, so stamps are taken in the `poll_read`
//! of an I/O wrapper ([`Sensor`]). hyper reads no further while a frame waits for its consumer, hence the sensor's
//! last read is the read that brought the frame. Under TLS the wrapper is below TLS: a stamp is that of the read which
//! completed the record. HTTP/2 reads all that is there before it hands frames over; frames that came in another read of
//! the same poll share the last stamp of that poll, which is microseconds. The time from that read to the frame's use is kept as `client_lag`.
//!
//! [`fetch`] makes one small request of another kind (metrics pages, model lists) over a connection of its own.

mod address;
mod advice;
mod connection;
mod dial;
mod error;
mod exchange;
mod fetch;
mod gate;
mod head;
mod inflate;
mod io;
mod kernel;
mod probe;
mod proxy;
mod redirect;
mod secret;
mod sensor;
mod slot;
mod spelling;
mod stream;
mod tls;
mod trace;
mod watchdog;

pub use dial::{Dial, DialOptions, MemoryDial, Resolved, Route, TlsOptions};
pub use error::{DialPart, TransportError};
pub use exchange::Limits;
pub use fetch::{FetchLimits, Reply, fetch};
pub use head::Head;
pub use probe::Probe;
pub use proxy::Proxy;
pub use secret::Secret;
pub use sensor::Sensor;
pub use slot::Slot;
pub use trace::{Clock, Trace};
pub use watchdog::TimeLimits;
