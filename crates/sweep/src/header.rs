//! Headers that the user adds. Their secrets are read at the start and never written down.

use crate::{
    SweepError,
    bounded::{SMALL, read_text},
};
use std::{env, fmt, path::PathBuf};

/// A line `Name: value` of a plan, read but not resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLine {
    /// In lower case.
    name: String,
    value: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Literal(String),
    Env(String),
    File(PathBuf),
}

/// A header as it is sent. Its value is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
    secret: bool,
}

impl Header {
    /// The name in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value itself.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// True when the value must not appear anywhere: it came from a variable or a file.
    pub const fn is_secret(&self) -> bool {
        self.secret
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ***", self.name)
    }
}

/// Headers that frame a message or say what is in it: this client's own business.
const OWN: [&str; 8] =
    ["host", "connection", "content-length", "content-type", "transfer-encoding", "te", "trailer", "upgrade"];

impl HeaderLine {
    /// Reads a line. No error repeats its value.
    pub fn parse(line: &str) -> Result<Self, SweepError> {
        let refuse = |message: String| Err(SweepError::usage(format!("--header: {message}")));
        let Some((name, value)) = line.split_once(':') else {
            return refuse("a line without a colon; write \"Name: value\"".to_owned());
        };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || name.len() > 100 || !name.chars().all(token) {
            return refuse(
                "what stands before the colon is no header's name; write \"Name: value\"".to_owned(),
            );
        }
        if OWN.contains(&name.as_str()) {
            return refuse(format!("`{name}` is set by this client itself"));
        }
        let value = if let Some(variable) = value.strip_prefix("env:") {
            let sound = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if variable.is_empty() || !variable.chars().all(sound) {
                return refuse(format!("`{name}`: what follows env: is not the name of a variable"));
            }
            Source::Env(variable.to_owned())
        } else if let Some(path) = value.strip_prefix("file:") {
            if path.is_empty() {
                return refuse(format!("`{name}`: the path after file: is empty"));
            }
            Source::File(path.into())
        } else if is_sensitive(&name) {
            return refuse(format!(
                "`{name}` may hold a secret, which must not stand on a command line or in a plan; write \"{name}: \
                 env:VARIABLE\" or \"{name}: file:PATH\", which hold the whole value"
            ));
        } else if !is_value(value) {
            return refuse(format!("`{name}`: its value is empty or has characters that no header may have"));
        } else {
            Source::Literal(value.to_owned())
        };
        Ok(Self { name, value })
    }

    /// The name in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the value from where it is.
    pub fn read(self) -> Result<Header, SweepError> {
        let Self { name, value } = self;
        let wrong = |message: String| SweepError::usage(format!("--header: `{name}`: {message}"));
        let (value, secret) = match value {
            Source::Literal(value) => (value, false),
            Source::Env(variable) => {
                let value = env::var(&variable).map_err(|_| {
                    wrong(format!(
                        "the variable {variable} is not set, or holds bytes that no header may have"
                    ))
                })?;
                (value, true)
            }
            Source::File(path) => {
                let value = read_text(&path, SMALL)
                    .map_err(|error| wrong(format!("cannot read {}: {error}", path.display())))?;
                (value, true)
            }
        };
        let value = value.trim();
        if !is_value(value) {
            return Err(wrong("its value is empty or has characters that no header may have".to_owned()));
        }
        Ok(Header { name, value: value.to_owned(), secret })
    }
}

/// The headers of a plan, with their values.
pub fn read_headers(lines: &[String]) -> Result<Vec<Header>, SweepError> {
    lines.iter().map(|line| HeaderLine::parse(line)?.read()).collect()
}

fn is_value(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t')
}

/// Names under which services take secrets.
fn is_sensitive(name: &str) -> bool {
    let parts = ["token", "secret", "password", "credential", "api-key", "apikey", "cookie", "auth"];
    parts.iter().any(|part| name.contains(part)) || name == "key" || name.ends_with("-key")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        HeaderLine::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn names_and_values() {
        let line = HeaderLine::parse("X-Team:  blue whales ").unwrap();
        assert_eq!(line, HeaderLine { name: "x-team".into(), value: Source::Literal("blue whales".into()) });
        assert!(!line.read().unwrap().is_secret());
        assert!(error("no colon").contains("Name: value"));
        assert!(error("a b: c").contains("no header's name"));
        assert!(error(": c").contains("no header's name"));
        assert!(error("X-A: ").contains("`x-a`: its value is empty"));
        assert!(error("X-A: b\r\nX-C: d").contains("no header may have"));
        assert!(error("Content-Length: 5").contains("by this client itself"));
    }

    #[test]
    fn a_secret_is_refused_where_others_could_read_it_and_never_repeated() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "X-API-Key",
            "api-key",
            "Cookie",
            "X-Auth-Token",
            "X-Amz-Security-Token",
            "client-secret",
            "Ocp-Apim-Subscription-Key",
        ] {
            let error = error(&format!("{name}: hunter2hunter2"));
            assert!(error.contains("env:VARIABLE") && !error.contains("hunter2"), "{error}");
            assert!(HeaderLine::parse(&format!("{name}: env:SOME_NAME")).is_ok());
            assert!(HeaderLine::parse(&format!("{name}: file:/some/path")).is_ok());
        }
        assert!(!error("hunter2hunter2").contains("hunter2"));
        assert!(!error("X-Api-Key: env:hunter2-hunter2").contains("hunter2"));
    }

    #[test]
    fn values_come_from_variables_and_files() {
        // Cargo sets this one for tests.
        let header = HeaderLine::parse("X-Api-Key: env:CARGO_PKG_NAME").unwrap().read().unwrap();
        assert!(header.is_secret() && header.value() == "plimsoll-sweep");
        assert_eq!(format!("{header:?}").matches("plimsoll").count(), 0, "never shown");
        let unset = HeaderLine::parse("X-A: env:PLIMSOLL_NO_SUCH").unwrap().read().unwrap_err().to_string();
        assert!(unset.contains("PLIMSOLL_NO_SUCH is not set"), "{unset}");
        let missing = HeaderLine::parse("X-A: file:/no/such").unwrap().read().unwrap_err().to_string();
        assert!(missing.contains("cannot read /no/such"), "{missing}");
        assert!(HeaderLine::parse("X-A: file:/dev/null").unwrap().read().is_err(), "empty");
    }
}
