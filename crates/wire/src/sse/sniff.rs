/// What the first bytes of a body say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// It begins as an event stream does.
    EventStream,
    /// It does not.
    Other,
    /// More bytes are needed.
    Undecided,
}

const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// Tells an event stream by its first bytes, for a body whose content type does not say so: a comment or one of the
/// fields `data`, `event`, `id`, `retry` with its colon, after blank lines and a byte order mark.
pub fn sniff(prefix: &[u8]) -> Sniff {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    if prefix.len() < BOM.len() && BOM.starts_with(prefix) {
        return Sniff::Undecided;
    }
    let text = prefix.strip_prefix(BOM).unwrap_or(prefix).trim_ascii_start();
    if text.is_empty() {
        return Sniff::Undecided;
    }
    let name = text.split(|byte| *byte == b':').next().unwrap_or_default();
    let colon = name.len() < text.len();
    match colon {
        true if name.is_empty() || FIELDS.contains(&name) => Sniff::EventStream,
        false if FIELDS.iter().any(|field| field.starts_with(name)) => Sniff::Undecided,
        _ => Sniff::Other,
    }
}

/// True when `prefix` surely begins an event stream; see [`sniff`].
pub fn looks_like_sse(prefix: &[u8]) -> bool {
    sniff(prefix) == Sniff::EventStream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_from_bodies() {
        for stream in
            ["data: x", "data:{", "\n\n: ping", ":", "event: message\n", "id: 1", "retry:5", "\u{feff}data:"]
        {
            assert!(looks_like_sse(stream.as_bytes()), "{stream}");
        }
        for other in ["{\"id\":1}", "<html>", "data\n", "database: 1", "[", "dat:", "\u{feff}{"] {
            assert_eq!(sniff(other.as_bytes()), Sniff::Other, "{other}");
        }
        for short in [&b""[..], b"d", b"data", b"\n", b"\xEF", b"\xEF\xBB", b"\xEF\xBB\xBF", b"retr"] {
            assert_eq!(sniff(short), Sniff::Undecided, "{short:?}");
        }
    }
}
