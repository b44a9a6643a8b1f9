//! What must hold for any bytes. Shared by the fuzz targets and by the test that replays their corpus.

use plimsoll_record::{ClientSample, EventKind, Plan, RequestRecord, Sample, read_lines};
use plimsoll_wire::{
    chat::{self, Chunk, ChunkReader},
    concepts::Concepts,
    models,
    prometheus::Page,
    sse::SseDecoder,
    url::BaseUrl,
};
use serde::{Serialize, de::DeserializeOwned};

/// A target's name, and what it does with its input.
type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 8] = [
    ("sse", sse),
    ("chat_event", chat_event),
    ("body", body),
    ("prometheus", prometheus),
    ("models_errors", models_errors),
    ("url", url),
    ("refusal", refusal),
    ("records", records),
];

/// Runs one target.
pub fn run(target: &str, data: &[u8]) {
    let (_, check) = TARGETS.iter().find(|(name, _)| *name == target).expect("a target");
    check(data);
}

type Seen = Option<(String, String, bool)>;

/// The first byte bounds the events, the second says how to cut; the rest is the stream.
fn sse(data: &[u8]) {
    let [limit, cut, stream @ ..] = data else { return };
    let want = plainly(stream);
    assert_eq!(decode(&[stream], usize::MAX), want, "in one piece");
    let pieces = cuts(stream, *cut);
    assert_eq!(decode(&pieces, usize::MAX), want, "in pieces");
    let bound = usize::from(*limit);
    let bounded = decode(&pieces, bound);
    assert_eq!(bounded, decode(&[stream], bound), "the bound depends on the pieces");
    for (name, data, _) in bounded.iter().flatten() {
        // A byte that is no UTF-8 becomes three.
        assert!(name.len() <= 3 * bound && data.len() <= 3 * bound, "an event beyond the bound");
    }
}

/// Pieces of lengths that a small generator gives.
fn cuts(stream: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut state = u32::from(seed) + 1;
    let mut rest = stream;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (piece, after) = rest.split_at(rest.len().min((state >> 28) as usize));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn decode(pieces: &[&[u8]], limit: usize) -> Vec<Seen> {
    let mut decoder = SseDecoder::with_limit(limit);
    let mut seen = Vec::new();
    for piece in pieces {
        if let Some(event) = decoder.take_whole(piece) {
            seen.push(Some((event.name.to_owned(), event.data.to_owned(), event.terminated)));
            continue;
        }
        decoder.push(piece);
        while let Some(event) = decoder.next_event() {
            seen.push(event.ok().map(|event| (event.name.to_owned(), event.data.to_owned(), true)));
        }
    }
    seen.extend(decoder.finish().map(|event| Some((event.name.to_owned(), event.data.to_owned(), false))));
    seen
}

/// WHATWG HTML 9.2.6, byte by byte.
fn plainly(stream: &[u8]) -> Vec<Seen> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let (mut events, mut line) = (Vec::new(), Vec::new());
    let (mut name, mut data) = (Vec::new(), Vec::new());
    let mut take = |line: &mut Vec<u8>, end: bool| {
        let line = std::mem::take(line);
        if !line.is_empty() {
            let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
            let value = line.get(colon + 1..).unwrap_or_default();
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &line[..colon] {
                b"data" => {
                    data.extend_from_slice(value);
                    data.push(b'\n');
                }
                b"event" => name = value.to_vec(),
                _ => {}
            }
        }
        if line.is_empty() || end {
            if data.pop().is_some() {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                events.push(Some((text(&name), text(&data), !end)));
            }
            name.clear();
            data.clear();
        }
    };
    let mut bytes = stream.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' | b'\n' => {
                if *byte == b'\r' {
                    bytes.next_if_eq(&&b'\n');
                }
                take(&mut line, false);
            }
            other => line.push(*other),
        }
    }
    take(&mut line, true);
    events
}

/// Each line is an event of the same stream; a tab parts its name from its payload.
fn chat_event(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut reader = ChunkReader::new();
    for line in text.split('\n') {
        let (name, data) = line.split_once('\t').unwrap_or(("", line));
        let parsed = chat::parse_event(name, data).map_err(|error| error.to_string());
        let read = reader.event(name, data).map_err(|error| error.to_string());
        assert_eq!(read, parsed, "the reader and the parser differ");
        if let Ok(chunk) = parsed {
            is_sound(&chunk, data);
        } else {
            // Only JSON that is none, or that names a field of a rare object twice, is beyond reading.
            let valid = serde_json::from_str::<serde_json::Value>(data).is_ok_and(|value| value.is_object());
            let twice = read.is_err_and(|error| error.contains("duplicate field"));
            assert!(!valid || twice, "JSON that cannot be read");
        }
    }
}

fn is_sound(chunk: &Chunk<'_>, data: &str) {
    let text = chunk.texts().map(str::len).sum::<usize>();
    assert!(text <= data.len(), "more text than there is");
    assert_eq!(chunk.kind == EventKind::Error, chunk.error.is_some());
    match chunk.kind {
        EventKind::Content => assert!(!chunk.content.is_empty()),
        EventKind::Reasoning => assert!(!chunk.reasoning.is_empty()),
        EventKind::ToolCall => assert!(!chunk.tool_call.is_empty()),
        EventKind::Error => {}
        _ => assert_eq!(text, 0, "text in an event without"),
    }
    if let Some(error) = &chunk.error {
        assert!(!error.message.is_empty() && error.message.len() <= chat::MESSAGE_LIMIT);
    }
    let same = chunk.clone().into_owned();
    assert_eq!(&same, chunk);
}

fn body(data: &[u8]) {
    let message = match chat::parse_body(data) {
        Ok(body) => {
            let text = body.texts().map(str::len).sum::<usize>();
            assert!(text <= data.len(), "more text than there is");
            body.error.map(|error| error.message)
        }
        Err(error) => Some(error.to_string()),
    };
    assert!(message.is_none_or(|message| message.len() <= chat::MESSAGE_LIMIT + 512));
}

fn prometheus(data: &[u8]) {
    let Ok(page) = Page::parse(data) else { return };
    for model in [None, Some("tiny")] {
        let concepts = Concepts::read(&page, model);
        for histogram in concepts.histograms.values() {
            let rising = |pair: &[(f64, f64)]| matches!(pair, [a, b] if a.0 < b.0);
            assert!(histogram.buckets.windows(2).all(rising), "bounds do not rise");
        }
    }
}

fn models_errors(data: &[u8]) {
    if let Ok(models) = models::parse_models(data) {
        assert!(models.iter().all(|model| !model.id.is_empty()));
    }
    assert!(models::parse_version(data).is_none_or(|version| version.len() <= 200));
    let message = chat::error_message(data);
    assert!(!message.is_empty() && message.len() <= chat::MESSAGE_LIMIT);
    assert!(!message.contains(char::is_control), "control characters");
}

fn url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(base) = text.parse::<BaseUrl>() else { return };
    let shown = base.to_string();
    let _: BaseUrl = shown.parse().expect("an address as it is shown");
    // The address of a route is that of its server. (That a prefix may look like a route keeps this from being so of
    // the base address alone.) A prefix that itself ends in a version (`/v1/v1`) is cut off behind the metrics page: only
    // whoever wrote it knows which of the two is the API's.
    let routes = ["/v1/chat/completions", "/metrics"];
    for route in &routes[..if shown.ends_with("/v1") { 1 } else { 2 }] {
        let again: BaseUrl = base.url(route).parse().expect("a route's address");
        assert_eq!((again.host(), again.port()), (base.host(), base.port()));
        assert_eq!(again.url(route), base.url(route));
    }
    for route in ["/v1/chat/completions", "/metrics"] {
        assert!(base.path(route).bytes().all(|byte| byte.is_ascii_graphic()), "no path of a request");
    }
}

/// The first byte says which status.
fn refusal(data: &[u8]) {
    const FIELDS: [&str; 4] = ["max_tokens", "max_completion_tokens", "stream_options", "temperature"];
    let [status, body @ ..] = data else { return };
    let status = [400, 422, 500][usize::from(*status) % 3];
    if let Some(refused) = chat::refused_field(status, body, &FIELDS) {
        assert!(status != 500 && FIELDS.contains(&refused.field));
        assert!(refused.message.len() <= 500);
        assert!(refused.instead.is_none_or(|name| name != refused.field && name.len() <= 64));
    }
}

fn records(data: &[u8]) {
    lines::<RequestRecord>(data);
    lines::<Sample>(data);
    lines::<ClientSample>(data);
    lines::<Plan>(data);
}

/// What could be read can be written and read again, and no line is lost.
fn lines<T: DeserializeOwned + Serialize>(data: &[u8]) {
    let lines = read_lines::<T>(data);
    let full = data.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    assert!(lines.records.len() + lines.bad.len() <= full + 1, "lines out of nothing");
    assert!(lines.records.len() + lines.bad.len() >= full, "a line is lost");
    for record in &lines.records {
        let written = serde_json::to_vec(record).expect("a record can be written");
        let again = read_lines::<T>(&written);
        assert_eq!((again.records.len(), again.bad), (1, Vec::new()));
    }
}
