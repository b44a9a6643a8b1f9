use crate::{Limits, Trace, TransportError, inflate::Inflate};
use hyper::{Response, header};
use plimsoll_record::{EventKind, FailureKind, Nanos, Outcome, StreamEvent};
use plimsoll_wire::{
    chat::{Chunk, ChunkReader, Usage, error_message, parse_body},
    sse::{Sniff, SseDecoder, sniff},
};

/// Largest body of a refusal that is read, bytes.
const ERROR_BODY: usize = 64 << 10;

/// Turns a response's body into a trace.
pub struct Follower {
    limits: Limits,
    status: u16,
    encoding: Encoding,
    /// Where a redirect leads.
    location: Option<String>,
    form: Form,
    state: State,
}

/// What the server has done to the body without being asked.
enum Encoding {
    None,
    Known(Box<Inflate>),
    /// By this name.
    Unknown(String),
}

/// What the body is taken for.
enum Form {
    /// Not known until its first bytes, which are these.
    Unknown {
        prefix: Vec<u8>,
        named_events: bool,
    },
    Events(Box<SseDecoder>),
    /// A refusal, an answer in one piece, or something else: judged at its end.
    Whole(Vec<u8>),
}

#[derive(Default)]
struct State {
    reader: ChunkReader,
    /// The last read that brought an event.
    last_read: Option<u64>,
    /// Tokens that the server has told so far, event by event.
    told: u32,
    /// True once text came without a count, so that a later count is not of its event alone.
    uncounted: bool,
    /// Text came without the ids of its tokens.
    without_ids: bool,
    done: bool,
}

impl Follower {
    pub fn new<B>(response: &Response<B>, limits: Limits) -> Self {
        let status = response.status();
        let encoding = response.headers().get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let encoding = match encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            None => Encoding::None,
            Some(name) => match Inflate::new(name, limits.body) {
                Some(inflate) => Encoding::Known(Box::new(inflate)),
                None => Encoding::Unknown(bounded(name, 60)),
            },
        };
        let media =
            response.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes().to_ascii_lowercase());
        let named_events = media.is_some_and(|media| media.starts_with(b"text/event-stream"));
        let whole = !status.is_success() || !limits.stream;
        let form =
            if whole { Form::Whole(Vec::new()) } else { Form::Unknown { prefix: Vec::new(), named_events } };
        let location = response.headers().get(header::LOCATION).filter(|_| status.is_redirection());
        let location = location.and_then(|value| value.to_str().ok()?.split('?').next());
        let location = location.map(|location| bounded(location, 200));
        Self { limits, status: status.as_u16(), encoding, location, form, state: State::default() }
    }

    /// True when the answer is complete, or told to have failed, though the body may go on.
    pub const fn is_done(&self) -> bool {
        self.state.done
    }

    /// Takes bytes that the read number `read` brought at `at`. An error ends the exchange.
    pub fn push(
        &mut self,
        bytes: &[u8],
        at: Nanos,
        read: u64,
        trace: &mut Trace,
    ) -> Result<(), TransportError> {
        match std::mem::replace(&mut self.encoding, Encoding::None) {
            Encoding::None => self.plain(bytes, at, read, trace),
            Encoding::Unknown(name) => {
                Err(bad(format!("the body has Content-Encoding {name}, which was not asked for")))
            }
            Encoding::Known(mut inflate) => {
                trace.encoding.get_or_insert_with(|| inflate.name().to_owned());
                let pushed = inflate.push(bytes, &mut |piece| {
                    self.plain(piece, at, read, trace)?;
                    Ok(!self.is_done())
                });
                self.encoding = Encoding::Known(inflate);
                pushed
            }
        }
    }

    /// The same of bytes without encoding.
    fn plain(&mut self, bytes: &[u8], at: Nanos, read: u64, trace: &mut Trace) -> Result<(), TransportError> {
        let known;
        let bytes = if let Form::Unknown { prefix, named_events } = &mut self.form {
            prefix.extend_from_slice(bytes);
            let Some(events) = is_events(prefix, *named_events) else { return Ok(()) };
            known = std::mem::take(prefix);
            self.form = if events {
                Form::Events(Box::new(SseDecoder::with_limit(self.limits.line)))
            } else {
                Form::Whole(Vec::new())
            };
            &known
        } else {
            bytes
        };
        match &mut self.form {
            Form::Unknown { .. } => Ok(()),
            Form::Whole(body) => {
                let refused = !(200..300).contains(&self.status);
                let limit = if refused { ERROR_BODY } else { self.limits.body };
                if body.len() + bytes.len() <= limit {
                    body.extend_from_slice(bytes);
                    return Ok(());
                }
                if refused {
                    self.state.done = true;
                    trace.fail(
                        FailureKind::HttpStatus,
                        format!("HTTP {}: {}", self.status, error_message(body)),
                    );
                    return Ok(());
                }
                Err(bad(format!("the body is larger than {limit} bytes")))
            }
            Form::Events(decoder) => {
                if let Some(event) = decoder.take_whole(bytes) {
                    return self.state.event(event.name, event.data, at, read, self.limits, trace);
                }
                decoder.push(bytes);
                while let Some(event) = decoder.next_event() {
                    let event = event.map_err(|error| bad(error.to_string()))?;
                    self.state.event(event.name, event.data, at, read, self.limits, trace)?;
                    if self.state.done {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// The body has ended, well or not: what is left in the decoder.
    pub fn finish(&mut self, at: Nanos, read: u64, trace: &mut Trace) {
        if self.state.done {
            return;
        }
        if let Form::Events(decoder) = &mut self.form
            && let Some(event) = decoder.finish()
            && let Err(error) = self.state.event(event.name, event.data, at, read, self.limits, trace)
        {
            trace.fail(error.kind(), error.to_string());
        }
        if self.state.done {
            self.judge(trace);
        }
    }

    /// The body has ended well, or the answer is complete: how did it go?
    pub fn judge(&mut self, trace: &mut Trace) {
        if trace.outcome.is_some() {
            return;
        }
        if let Form::Whole(body) = &mut self.form {
            let body = std::mem::take(body);
            self.judge_whole(&body, trace);
            return;
        }
        let complete = self.state.done || trace.finish_reason.is_some();
        let nothing = trace.first_token.is_none() && trace.output_tokens.unwrap_or(0) == 0;
        trace.outcome = Some(match () {
            () if trace.events.is_empty() => failed(FailureKind::Empty, "the body has no event"),
            () if !complete => {
                failed(FailureKind::Truncated, "the stream ended with neither [DONE] nor a finish reason")
            }
            () if nothing => failed(FailureKind::Empty, "the stream ended well without any generated text"),
            () => Outcome::Ok,
        });
    }

    fn judge_whole(&self, body: &[u8], trace: &mut Trace) {
        let status = self.status;
        if !(200..300).contains(&status) {
            let told = match &self.location {
                Some(location) => {
                    format!("redirected to {location}, which is not followed; use that address")
                }
                None => error_message(body),
            };
            trace.fail(FailureKind::HttpStatus, format!("HTTP {status}: {told}"));
            return;
        }
        let answer = match parse_body(body) {
            Ok(answer) => answer,
            Err(error) => {
                trace.fail(FailureKind::BadPayload, format!("{error}"));
                return;
            }
        };
        if let Some(error) = &answer.error {
            trace.fail(FailureKind::StreamError, told(error));
            return;
        }
        for text in answer.texts() {
            keep(text, self.limits.text, trace);
        }
        trace.finish_reason = answer.finish_reason.as_deref().map(|reason| bounded(reason, 64));
        (trace.input_tokens, trace.output_ids) = (answer.prompt_tokens, answer.tokens);
        if let Some(usage) = answer.usage {
            take_usage(usage, trace);
        }
        trace.outcome = Some(if self.limits.stream {
            failed(
                FailureKind::BadPayload,
                "the server did not stream: it sent the whole answer as one JSON body",
            )
        } else {
            Outcome::Ok
        });
    }
}

/// Is a body with these first bytes an event stream? Content types lie both ways, so the bytes have the last word.
fn is_events(prefix: &[u8], named_events: bool) -> Option<bool> {
    let first = prefix.trim_ascii_start().first();
    match sniff(prefix) {
        Sniff::EventStream => Some(true),
        Sniff::Undecided => (prefix.len() > 1024).then_some(named_events),
        Sniff::Other => Some(named_events && !matches!(first, Some(b'{' | b'[' | b'<'))),
    }
}

impl State {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        at: Nanos,
        read: u64,
        limits: Limits,
        trace: &mut Trace,
    ) -> Result<(), TransportError> {
        if data.trim().is_empty() {
            return Ok(());
        }
        if trace.events.len() >= limits.events {
            return Err(bad(format!("the stream has more than {} events", limits.events)));
        }
        let coalesced = self.last_read == Some(read);
        self.last_read = Some(read);
        trace.first_event.get_or_insert(at);
        let Ok(chunk) = self.reader.event(name, data) else {
            trace.malformed += 1;
            trace.events.push(StreamEvent { at_ns: at, kind: EventKind::Malformed, tokens: None, coalesced });
            return Ok(());
        };
        let tokens = self.tokens(&chunk);
        trace.events.push(StreamEvent { at_ns: at, kind: chunk.kind, tokens, coalesced });
        let text = !(chunk.content.is_empty() && chunk.reasoning.is_empty() && chunk.tool_call.is_empty());
        trace.input_tokens = trace.input_tokens.or(chunk.prompt_tokens);
        self.without_ids |= text && chunk.tokens.is_none();
        trace.output_ids = match (self.without_ids, chunk.tokens) {
            (true, _) => None,
            (false, Some(ids)) => Some(trace.output_ids.unwrap_or(0).saturating_add(ids)),
            (false, None) => trace.output_ids,
        };
        // An event that the server counts a token for is one, though its text may still be to come.
        if text || tokens.is_some_and(|tokens| tokens > 0) {
            trace.first_token.get_or_insert(at);
            trace.last_token = Some(at);
        }
        for text in chunk.texts() {
            keep(text, limits.text, trace);
        }
        if let Some(reason) = &chunk.finish_reason {
            trace.finish_reason = Some(bounded(reason, 64));
        }
        if let Some(usage) = chunk.usage {
            take_usage(usage, trace);
        }
        if let Some(error) = &chunk.error {
            trace.fail(FailureKind::StreamError, told(error));
            self.done = true;
        }
        self.done |= chunk.complete;
        Ok(())
    }

    /// Tokens of one event: its token ids, or, where usage comes with each, the rise of the server's count. Servers that
    /// send usage once, on the event with the finish reason, count the whole answer there, which is no token of that event.
    fn tokens(&mut self, chunk: &Chunk<'_>) -> Option<u32> {
        if chunk.kind == EventKind::Usage {
            return None;
        }
        let total = chunk.usage.and_then(|usage| usage.completion_tokens);
        if let Some(ids) = chunk.tokens {
            self.told = self.told.saturating_add(ids).max(total.unwrap_or(0));
            return Some(ids);
        }
        let Some(total) = total else {
            self.uncounted |= chunk.kind.is_text();
            return None;
        };
        let rise = total.saturating_sub(self.told);
        self.told = self.told.max(total);
        (!self.uncounted).then_some(rise)
    }
}

/// Counts are cumulative: the last one holds, field by field.
fn take_usage(usage: Usage, trace: &mut Trace) {
    trace.input_tokens = usage.prompt_tokens.or(trace.input_tokens);
    trace.cached_tokens = usage.cached_tokens.or(trace.cached_tokens);
    trace.output_tokens = usage.completion_tokens.or(trace.output_tokens);
}

fn keep(text: &str, limit: usize, trace: &mut Trace) {
    if trace.text_cut {
        return;
    }
    let room = limit.saturating_sub(trace.text.len());
    if text.len() <= room {
        trace.text.push_str(text);
        return;
    }
    trace.text.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    trace.text_cut = true;
}

fn bounded(text: &str, limit: usize) -> String {
    text.get(..text.floor_char_boundary(limit)).unwrap_or_default().to_owned()
}

fn told(error: &plimsoll_wire::chat::ServerError) -> String {
    match &error.code {
        Some(code) => format!("{} (code {code})", error.message),
        None => error.message.clone(),
    }
}

fn failed(kind: FailureKind, message: &str) -> Outcome {
    Outcome::Failed { kind, message: message.to_owned() }
}

fn bad(message: String) -> TransportError {
    TransportError::new(FailureKind::BadPayload, message)
}
