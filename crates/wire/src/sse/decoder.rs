use super::{DEFAULT_EVENT_LIMIT, SseError};
use memchr::{memchr, memchr2};
use std::ops::Range;

/// One event. Borrowed from the decoder's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event` field; empty when there was none, which means `message`.
    pub name: &'a str,
    /// The `data` lines, joined by LF.
    pub data: &'a str,
    /// False when the stream ended before the blank line that ends an event.
    pub terminated: bool,
}

/// Decodes an event stream that comes in pieces.
///
/// ```
/// use plimsoll_wire::sse::SseDecoder;
///
/// let mut decoder = SseDecoder::new();
/// decoder.push(b": ping\n\ndata: one\n\nda");
/// assert_eq!(decoder.next_event().unwrap()?.data, "one");
/// assert!(decoder.next_event().is_none());
/// decoder.push(b"ta: two\r\n");
/// assert!(decoder.next_event().is_none());
/// assert_eq!(decoder.finish().unwrap().data, "two");
/// # Ok::<(), plimsoll_wire::sse::SseError>(())
/// ```
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a byte stream's state")]
pub struct SseDecoder {
    buffer: Vec<u8>,
    /// First byte of the event in work.
    event: usize,
    /// First byte of the line in work.
    line: usize,
    /// Everything before was searched for the line's end.
    scanned: usize,
    /// The event's first data value, relative to `event`.
    first: Option<Range<usize>>,
    /// All its data values, once there is a second.
    joined: Vec<u8>,
    is_joined: bool,
    name: Vec<u8>,
    /// A CR ended the last line: an LF that follows belongs to it.
    after_cr: bool,
    /// Nothing but a possible byte order mark was seen.
    at_start: bool,
    /// The event in work was handed out: it is forgotten by the next call.
    handed_out: bool,
    /// The event in work is beyond the limit: everything up to its end is dropped.
    skipping: bool,
    /// A part of the line in work was dropped: it is not blank.
    skipped_in_line: bool,
    limit: usize,
    invalid_utf8: u32,
    lossy_name: String,
    lossy_data: String,
}

enum Step {
    Event,
    TooLong,
    Pending,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(DEFAULT_EVENT_LIMIT)
    }
}

impl SseDecoder {
    /// A decoder whose events are bounded by [`DEFAULT_EVENT_LIMIT`].
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder that drops every event or comment longer than `limit` bytes, field names included.
    pub const fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            event: 0,
            line: 0,
            scanned: 0,
            first: None,
            joined: Vec::new(),
            is_joined: false,
            name: Vec::new(),
            after_cr: false,
            at_start: true,
            handed_out: false,
            skipping: false,
            skipped_in_line: false,
            limit,
            invalid_utf8: 0,
            lossy_name: String::new(),
            lossy_data: String::new(),
        }
    }

    /// The event of a piece that is just one, `data: …` and a blank line, with nothing else pending: what servers that flush
    /// each token send. Such a piece is read in place. `None` takes nothing: [`Self::push`] the piece.
    pub fn take_whole<'a>(&mut self, piece: &'a [u8]) -> Option<SseEvent<'a>> {
        let line = piece.strip_suffix(b"\n\n")?;
        let value = line.strip_prefix(b"data:")?;
        self.forget_handed_out();
        let rest = self.at_start || self.skipping || self.event < self.buffer.len();
        let fields = self.first.is_some() || self.is_joined || !self.name.is_empty();
        if rest || fields || piece.len() > self.limit || memchr2(b'\n', b'\r', value).is_some() {
            return None;
        }
        let data = std::str::from_utf8(value.strip_prefix(b" ").unwrap_or(value)).ok()?;
        Some(SseEvent { name: "", data, terminated: true })
    }

    /// Takes the next bytes of the stream. Call [`Self::next_event`] until it gives `None` after each piece.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.event == self.buffer.len() {
            self.buffer.clear();
            (self.event, self.line, self.scanned) = (0, 0, 0);
        } else if self.event > self.buffer.len() / 2 {
            // Fewer bytes move than were used up, so that the cost stays linear.
            self.buffer.drain(..self.event);
            self.line -= self.event;
            self.scanned -= self.event;
            self.event = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event, or the error that one was dropped; the stream goes on after it.
    pub fn next_event(&mut self) -> Option<Result<SseEvent<'_>, SseError>> {
        match self.step() {
            Step::Event => Some(Ok(self.hand_out(true))),
            Step::TooLong => Some(Err(SseError { limit: self.limit })),
            Step::Pending => None,
        }
    }

    /// The stream ended: what is left of an event, as servers leave out the last blank line (the standard would drop
    /// it). Call it when [`Self::next_event`] gives `None`.
    pub fn finish(&mut self) -> Option<SseEvent<'_>> {
        self.forget_handed_out();
        let end = self.buffer.len();
        if !self.skipping && self.line < end {
            self.read_line(self.line..end);
        }
        self.line = end;
        let left = !self.skipping && (self.is_joined || self.first.is_some());
        self.skipping = false;
        left.then(|| self.hand_out(false))
    }

    /// How many events held invalid UTF-8, which was replaced by U+FFFD.
    pub const fn invalid_utf8(&self) -> u32 {
        self.invalid_utf8
    }

    fn step(&mut self) -> Step {
        self.forget_handed_out();
        if !self.pass_byte_order_mark() {
            return Step::Pending;
        }
        loop {
            if self.after_cr && self.line < self.buffer.len() {
                self.after_cr = false;
                if self.buffer.get(self.line) == Some(&b'\n') {
                    self.event += usize::from(self.event == self.line);
                    self.line += 1;
                    self.scanned = self.line;
                }
            }
            let unscanned = self.buffer.get(self.scanned..).unwrap_or_default();
            let Some(offset) = memchr2(b'\n', b'\r', unscanned) else {
                self.scanned = self.buffer.len();
                return self.partial_line();
            };
            let line = self.line..self.scanned + offset;
            self.after_cr = unscanned.get(offset) == Some(&b'\r');
            (self.line, self.scanned) = (line.end + 1, line.end + 1);
            if self.skipping {
                self.skipping = !line.is_empty() || self.skipped_in_line;
                self.skipped_in_line = false;
                self.event = self.line;
            } else if self.size(line.end) > self.limit {
                self.drop_event();
                self.skipping = !line.is_empty();
                self.skipped_in_line = false;
                return Step::TooLong;
            } else if !line.is_empty() {
                self.read_line(line);
            } else if self.is_joined || self.first.is_some() {
                return Step::Event;
            } else {
                // Without data there is no event, whatever its name.
                self.name.clear();
                self.event = self.line;
            }
        }
    }

    /// False while the first bytes may still be the beginning of a byte order mark.
    fn pass_byte_order_mark(&mut self) -> bool {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        if self.at_start {
            if self.buffer.len() < MARK.len() && MARK.starts_with(&self.buffer) {
                return false;
            }
            self.at_start = false;
            if self.buffer.starts_with(MARK) {
                (self.event, self.line, self.scanned) = (MARK.len(), MARK.len(), MARK.len());
            }
        }
        true
    }

    /// The end of the line has not come yet: keeps the bound and waits.
    fn partial_line(&mut self) -> Step {
        let end = self.buffer.len();
        if self.skipping {
            self.skipped_in_line |= self.line < end;
            (self.event, self.line) = (end, end);
        } else if self.size(end) > self.limit {
            self.drop_event();
            self.skipped_in_line = self.line < end;
            (self.event, self.line) = (end, end);
            return Step::TooLong;
        }
        Step::Pending
    }

    /// Bytes that the event in work holds, up to `end` in the buffer.
    fn size(&self, end: usize) -> usize {
        self.joined.len() + end.saturating_sub(self.event)
    }

    fn drop_event(&mut self) {
        self.skipping = true;
        self.handed_out = true;
        self.forget_handed_out();
        self.event = self.line;
    }

    /// Takes one line, not blank, into the event in work.
    fn read_line(&mut self, line: Range<usize>) {
        let bytes = self.buffer.get(line.clone()).unwrap_or_default();
        let colon = memchr(b':', bytes).unwrap_or(bytes.len());
        let (name, rest) = bytes.split_at(colon);
        let value = rest.strip_prefix(b":").unwrap_or(rest);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" if self.is_joined => {
                self.joined.push(b'\n');
                self.joined.extend_from_slice(value);
            }
            b"data" => match self.first.take() {
                None => {
                    let start = line.end - value.len();
                    self.first = Some(start - self.event..line.end - self.event);
                }
                Some(first) => {
                    let first = self.buffer.get(self.event + first.start..self.event + first.end);
                    self.joined.extend_from_slice(first.unwrap_or_default());
                    self.joined.push(b'\n');
                    self.joined.extend_from_slice(value);
                    self.is_joined = true;
                }
            },
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Comments, `id`, `retry` and unknown fields.
            _ => {}
        }
        if self.first.is_none() {
            // Nothing of the event is in the buffer: what was read need not be kept.
            self.event = self.line;
        }
    }

    fn hand_out(&mut self, terminated: bool) -> SseEvent<'_> {
        let data = match &self.first {
            Some(first) => self.buffer.get(self.event + first.start..self.event + first.end),
            None => Some(self.joined.as_slice()),
        };
        self.event = self.line;
        self.scanned = self.line;
        self.handed_out = true;
        let mut invalid = false;
        let data = text(data.unwrap_or_default(), &mut self.lossy_data, &mut invalid);
        let name = text(&self.name, &mut self.lossy_name, &mut invalid);
        self.invalid_utf8 = self.invalid_utf8.saturating_add(u32::from(invalid));
        SseEvent { name, data, terminated }
    }

    /// What was handed out is borrowed from here until the next call.
    fn forget_handed_out(&mut self) {
        if self.handed_out {
            self.handed_out = false;
            self.first = None;
            self.joined.clear();
            self.is_joined = false;
            self.name.clear();
        }
    }
}

fn text<'a>(bytes: &'a [u8], lossy: &'a mut String, invalid: &mut bool) -> &'a str {
    std::str::from_utf8(bytes).unwrap_or_else(|_| {
        *invalid = true;
        *lossy = String::from_utf8_lossy(bytes).into_owned();
        lossy
    })
}
