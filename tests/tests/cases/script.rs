//! One replay script, and what it will send when: worked out here from the script alone, by other means than the
//! client under test.

use flate2::write::GzDecoder;
use plimsoll_record::Endpoint;
use serde_json::{Map, Value};
use std::{fs, io::Write, path::Path, time::Duration};

/// A script with its expectations.
#[derive(Clone, Debug)]
pub struct Script {
    pub id: String,
    json: Map<String, Value>,
}

/// An event with data, as the script sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The body event that completes it.
    pub index: usize,
    /// The write that completes it, counted over all body events.
    pub write: usize,
    /// When that write is due, after the request.
    pub at: Duration,
}

/// One write of the body.
struct Piece {
    index: usize,
    at: Duration,
    bytes: Vec<u8>,
}

impl Script {
    pub fn read(path: &Path) -> Result<Self, String> {
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        let json: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let json = json.as_object().cloned().ok_or("the script is no object")?;
        Ok(Self { id, json })
    }

    pub fn expect(&self) -> Map<String, Value> {
        self.json.get("expect").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    pub fn endpoint(&self) -> Result<Endpoint, String> {
        self.json.get("endpoint").and_then(Value::as_str).unwrap_or("chat").parse()
    }

    /// Refuses requests by what their bodies hold, so that the right form must be found out before the load.
    pub fn refuses_fields(&self) -> bool {
        let rules = self.json.get("reject_if").and_then(Value::as_array).cloned().unwrap_or_default();
        rules.iter().any(|rule| rule.get("json_has").is_some() || rule.get("json_missing").is_some())
    }

    /// Where a redirect leads.
    pub fn location(&self) -> Option<String> {
        let headers = self.json.get("headers")?;
        let pairs: Vec<(String, String)> = match headers {
            Value::Array(list) => list
                .iter()
                .filter_map(|pair| {
                    Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()))
                })
                .collect(),
            Value::Object(map) => map
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect(),
            _ => Vec::new(),
        };
        pairs.into_iter().find(|(key, _)| key.eq_ignore_ascii_case("location")).map(|(_, value)| value)
    }

    /// What it serves at another page, such as `/health`: one reply after the other.
    pub fn page(&self, path: &str) -> Vec<Value> {
        match self.json.get("aux").and_then(|aux| aux.get(path)) {
            Some(Value::Array(replies)) => replies.clone(),
            Some(reply) => vec![reply.clone()],
            None => Vec::new(),
        }
    }

    /// The script as attempt `number`, from 0, sees it.
    pub fn attempt(&self, number: usize) -> Self {
        let mut json = self.json.clone();
        if let Some(Value::Array(attempts)) = json.get("attempts").cloned()
            && let Some(last) = attempts.len().checked_sub(1)
        {
            let cycle = json.get("attempt_mode").and_then(Value::as_str) == Some("cycle");
            let index = if cycle { number % attempts.len() } else { number.min(last) };
            json.extend(attempts.get(index).and_then(Value::as_object).cloned().unwrap_or_default());
        }
        Self { id: self.id.clone(), json }
    }

    /// How long an answer takes, a pause at its end left out.
    pub fn duration(&self) -> Duration {
        self.writes().last().map_or(self.head_delay(), |write| write.at)
    }

    /// Every event with data, in order.
    pub fn events(&self) -> Vec<Sent> {
        let mut found = Vec::new();
        let (mut line, mut data, mut has_data, mut after_cr) = (Vec::new(), Vec::new(), false, false);
        let writes = self.plain_writes();
        for (number, write) in writes.iter().enumerate() {
            let sent = Sent { index: write.index, write: number, at: write.at };
            for byte in &write.bytes {
                let follows_cr = std::mem::replace(&mut after_cr, *byte == b'\r');
                match byte {
                    b'\n' if follows_cr => {}
                    b'\r' | b'\n' => {
                        let whole = std::mem::take(&mut line);
                        if whole.is_empty() {
                            if has_data && data.iter().any(|byte: &u8| !byte.is_ascii_whitespace()) {
                                found.push(sent);
                            }
                            data.clear();
                            has_data = false;
                        } else if let Some(value) = field(&whole) {
                            has_data = true;
                            data.extend_from_slice(value);
                        }
                    }
                    _ => line.push(*byte),
                }
            }
        }
        // A last event without its empty line; the client may take it at the end of the body.
        if let Some(write) = writes.last()
            && (has_data || field(&line).is_some_and(|value| !value.is_empty()))
        {
            found.push(Sent { index: write.index, write: writes.len() - 1, at: write.at });
        }
        found
    }

    fn number(&self, key: &str) -> u64 {
        self.json.get(key).and_then(Value::as_u64).unwrap_or(0)
    }

    fn head_delay(&self) -> Duration {
        let interim = self.json.get("interim").and_then(Value::as_array).map_or(0, Vec::len) as u64;
        Duration::from_millis(self.number("head_delay_ms") + 5 * interim)
    }

    fn writes(&self) -> Vec<Piece> {
        let mut writes = Vec::new();
        let mut at = self.head_delay();
        let events = self.json.get("body_events").and_then(Value::as_array).cloned().unwrap_or_default();
        for (index, event) in events.iter().enumerate() {
            let number = |key: &str, default: u64| event.get(key).and_then(Value::as_u64).unwrap_or(default);
            at += Duration::from_millis(number("delay_ms", 0));
            let bytes = payload(event);
            let cuts: Vec<usize> = if event.get("byte_by_byte").and_then(Value::as_bool) == Some(true) {
                (1..bytes.len()).collect()
            } else {
                let cuts = event.get("split_at").and_then(Value::as_array).cloned().unwrap_or_default();
                let cuts = cuts.iter().filter_map(|cut| usize::try_from(cut.as_u64()?).ok());
                cuts.filter(|cut| (1..bytes.len()).contains(cut)).collect()
            };
            let mut from = 0;
            for cut in cuts.into_iter().chain([bytes.len()]) {
                if from > 0 {
                    at += Duration::from_millis(number("split_gap_ms", 5));
                }
                writes.push(Piece { index, at, bytes: bytes.get(from..cut).unwrap_or_default().to_vec() });
                from = cut;
            }
        }
        writes
    }

    /// Without a byte order mark and without compression.
    fn plain_writes(&self) -> Vec<Piece> {
        let mut writes = self.writes();
        let first = writes.iter().flat_map(|write| write.bytes.iter().copied()).take(3).collect::<Vec<_>>();
        if first.starts_with(&[0x1f, 0x8b]) {
            let mut inflater = GzDecoder::new(Vec::new());
            for write in &mut writes {
                // What cannot be inflated sends nothing.
                let _ = inflater.write_all(&write.bytes).and_then(|()| inflater.flush());
                write.bytes = std::mem::take(inflater.get_mut());
            }
        } else if first == [0xef, 0xbb, 0xbf] {
            let mut left = 3;
            for write in &mut writes {
                let cut = left.min(write.bytes.len());
                drop(write.bytes.drain(..cut));
                left -= cut;
            }
        }
        writes
    }
}

/// The value of a `data` line.
fn field(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    match rest.strip_prefix(b":") {
        Some(value) => Some(value.strip_prefix(b" ").unwrap_or(value)),
        None => rest.is_empty().then_some(rest),
    }
}

fn payload(event: &Value) -> Vec<u8> {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if event.get("bytes_base64").is_some() {
        return base64(&text(event, "bytes_base64"));
    }
    if let Some(made) = event.get("gen") {
        let times =
            made.get("times").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        return [text(made, "prefix"), text(made, "repeat").repeat(times), text(made, "suffix")]
            .concat()
            .into_bytes();
    }
    text(event, "text").into_bytes()
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes() {
        let Some(value) = ALPHABET.iter().position(|letter| *letter == byte) else { continue };
        bits = (bits << 6) | value as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
