/// Recognises what is no file of prompts at all, by its first bytes; the reason is a sentence.
pub fn not_prompts(bytes: &[u8], text: bool) -> Option<String> {
    let start = bytes.trim_ascii_start();
    let lower: Vec<u8> = start.iter().take(9).map(u8::to_ascii_lowercase).collect();
    let html = lower.starts_with(b"<!doctype") || lower.starts_with(b"<html");
    if html || (!text && start.starts_with(b"<")) {
        let shown = String::from_utf8_lossy(start.get(..40).unwrap_or(start)).escape_debug().to_string();
        return Some(format!("this looks like an HTML page and not like prompts: it begins with `{shown}`"));
    }
    let kinds: [(&[u8], &str); 6] = [
        (b"\x1f\x8b", "gzip data; unpack it first"),
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"\x28\xb5\x2f\xfd", "zstd data; unpack it first"),
        (b"PAR1", "a Parquet file; export it as JSON Lines first"),
        (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
        (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
    ];
    let (_, kind) = kinds.into_iter().find(|(magic, _)| bytes.starts_with(magic))?;
    Some(format!("this is {kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_archives_are_named() {
        assert!(not_prompts(b"\n <!DOCTYPE html><p>", true).unwrap().contains("HTML"));
        assert!(not_prompts(b"<a href=\"x\">Found</a>", false).unwrap().contains("`<a href=\\\"x"));
        assert!(not_prompts(b"\x1f\x8b\x08", false).unwrap().contains("gzip"));
        assert!(not_prompts(b"\xff\xfea\0", true).unwrap().contains("UTF-16"));
    }

    #[test]
    fn a_text_may_begin_with_a_tag() {
        assert_eq!(not_prompts(b"<p> is which tag?", true), None);
        assert_eq!(not_prompts(b"{}", false), None);
        assert_eq!(not_prompts(b"", false), None);
    }
}
