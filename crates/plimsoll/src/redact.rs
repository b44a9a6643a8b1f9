//! Keeps secrets out of what is written down.

use std::ffi::OsString;

/// The command line as it may be recorded: addresses lose user, password and query.
pub fn argv(args: &[OsString]) -> Vec<String> {
    args.iter().map(|arg| address(&arg.to_string_lossy())).collect()
}

/// An address, or a flag that holds one, without user, password and query. Other text is unchanged.
pub fn address(text: &str) -> String {
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
            ("at 10: ttft p95 < 1s", "at 10: ttft p95 < 1s"),
            ("http://host/a@b", "http://host/a@b"),
        ] {
            assert_eq!(address(text), kept);
        }
        assert_eq!(argv(&["plimsoll".into(), "http://u:p@h".into()]), ["plimsoll", "http://h"]);
    }
}
