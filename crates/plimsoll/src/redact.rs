//! Keeps secrets out of what is written down.

use std::ffi::OsString;

/// The command line as it may be recorded: addresses lose user, password and query.
pub fn argv(args: &[OsString]) -> Vec<String> {
    args.iter().map(|arg| address(&arg.to_string_lossy())).collect()
}

/// An address or a list of some, or a flag that holds them, without user, password and query. Other text is unchanged.
pub fn address(text: &str) -> String {
    // A comma within an address, as in a query, is none between two.
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        match parts.last_mut() {
            Some(last) if !part.contains("://") => last.extend([",", part]),
            _ => parts.push(part.to_owned()),
        }
    }
    let kept: Vec<String> = parts.iter().map(|part| single(part)).collect();
    kept.join(",")
}

fn single(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (path, query) = path.split_once('?').map_or((path, ""), |(path, _)| (path, "?***"));
    format!("{scheme}://{host}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_left_of_an_address() {
        for (text, kept) in [
            ("http://u:p@host:8000/v1/", "http://host:8000/v1/"),
            ("--url=https://key@host", "--url=https://host"),
            ("--scrape=http://host/metrics?token=abc&x=1", "--scrape=http://host/metrics?***"),
            ("http://a@b@host?k=v", "http://host?***"),
            (
                "--url=http://u:p@a,http://u:p,q@b?k=1,2,https://c/d",
                "--url=http://a,http://b?***,https://c/d",
            ),
            ("at 10: ttft p95 < 1s", "at 10: ttft p95 < 1s"),
            ("http://host/a@b", "http://host/a@b"),
        ] {
            assert_eq!(address(text), kept);
        }
        assert_eq!(argv(&["plimsoll".into(), "http://u:p@h".into()]), ["plimsoll", "http://h"]);
    }
}
