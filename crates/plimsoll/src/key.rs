use crate::failure::Failure;
use plimsoll_sweep::Secret;
use std::env::{self, VarError};

/// The API key in the variable that the user has named. Without a name there is no key: no variable is read unasked.
pub fn read(variable: Option<&str>) -> Result<Option<Secret>, Failure> {
    Ok(text(variable)?.map(Secret::new))
}

/// The same, as text.
pub fn text(variable: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(name) = variable else { return Ok(None) };
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(Failure::usage(
            "--api-key-env: not the name of a variable; the key itself must not stand on a command line",
        ));
    }
    match env::var(name) {
        Ok(key) if key.trim().is_empty() => {
            Err(Failure::usage(format!("--api-key-env: the variable {name} is empty")))
        }
        Ok(key) => Ok(Some(key.trim().to_owned())),
        Err(VarError::NotPresent) => Err(Failure::usage(format!(
            "--api-key-env: the variable {name} is not set; export it, or name another"
        ))),
        Err(VarError::NotUnicode(_)) => Err(Failure::usage(format!(
            "--api-key-env: the variable {name} holds bytes that no HTTP header may have"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_named_variable_is_read() {
        assert!(read(None).unwrap().is_none());
        // Cargo sets this one for tests.
        assert!(read(Some("CARGO_PKG_NAME")).unwrap().is_some());
    }

    #[test]
    fn a_missing_variable_is_named_and_a_key_in_its_place_is_not_repeated() {
        let error = |name| read(Some(name)).unwrap_err();
        assert!(error("PLIMSOLL_NO_SUCH_KEY").to_string().contains("PLIMSOLL_NO_SUCH_KEY is not set"));
        assert!(!error("sk-123=").to_string().contains("sk-123"));
        assert_eq!(error("").exit(), crate::Exit::Usage);
    }
}
