/// JSON lets `\uD83D` stand alone, which no Rust string can hold; such an escape becomes U+FFFD. None when there is
/// none.
pub fn without_lone(data: &str) -> Option<String> {
    let unit = |at: usize| {
        let hex = data.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(data.len());
    let (mut copied, mut at, mut found) = (0, 0, false);
    while let Some(offset) = data.get(at..).and_then(|rest| memchr::memchr(b'\\', rest.as_bytes())) {
        at += offset;
        let width = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str(data.get(copied..at)?);
                out.push_str("\\ufffd");
                copied = at + 6;
                found = true;
                6
            }
            // The escaped character may be a backslash itself.
            _ => 2,
        };
        at += width;
    }
    out.push_str(data.get(copied..)?);
    found.then_some(out)
}
