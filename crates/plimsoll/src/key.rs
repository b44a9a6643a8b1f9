use crate::failure::Failure;
use plimsoll_record::Plan;
use plimsoll_sweep::{SMALL, Secret, read_text};
use std::{
    env::{self, VarError},
    path::Path,
};

/// The API key in the variable or file that the plan names. Without a name there is no key: no variable is read unasked.
pub fn of_plan(plan: &Plan) -> Result<Option<Secret>, Failure> {
    let key = match &plan.api_key_file {
        Some(path) => Some(in_file(path)?),
        None => text(plan.api_key_env.as_deref())?,
    };
    Ok(key.map(Secret::new))
}

fn in_file(path: &Path) -> Result<String, Failure> {
    let wrong =
        |what: &dyn std::fmt::Display| Failure::usage(format!("--api-key-file: {}: {what}", path.display()));
    let text = read_text(path, SMALL).map_err(|error| wrong(&error))?;
    match text.trim() {
        "" => Err(wrong(&"it is empty")),
        key if key.contains(char::is_whitespace) => Err(wrong(&"it holds more than a key")),
        key => Ok(key.to_owned()),
    }
}

/// The key in a variable, as text.
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

    fn read(change: impl FnOnce(&mut Plan)) -> Result<Option<Secret>, Failure> {
        let mut plan = Plan::default();
        change(&mut plan);
        of_plan(&plan)
    }

    fn error(variable: &str) -> Failure {
        read(|plan| plan.api_key_env = Some(variable.to_owned())).unwrap_err()
    }

    #[test]
    fn only_a_named_variable_is_read() {
        assert!(read(|_| {}).unwrap().is_none());
        // Cargo sets this one for tests.
        assert!(read(|plan| plan.api_key_env = Some("CARGO_PKG_NAME".into())).unwrap().is_some());
    }

    #[test]
    fn a_missing_variable_is_named_and_a_key_in_its_place_is_not_repeated() {
        assert!(error("PLIMSOLL_NO_SUCH_KEY").to_string().contains("PLIMSOLL_NO_SUCH_KEY is not set"));
        assert!(!error("sk-123=").to_string().contains("sk-123"));
        assert_eq!(error("").exit(), crate::Exit::Usage);
    }

    #[test]
    fn a_file_holds_one_key() {
        let path = env::temp_dir().join(format!("plimsoll-key-{}", std::process::id()));
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(|plan| plan.api_key_file = Some(path.clone()))
        };
        assert!(of(" sk-12345\n").unwrap().is_some());
        assert!(of("\n").unwrap_err().to_string().contains("it is empty"));
        let two = of("sk-12345 sk-678\n").unwrap_err().to_string();
        assert!(two.contains("more than a key") && !two.contains("sk-"), "{two}");
        std::fs::remove_file(&path).unwrap();
        let missing = read(|plan| plan.api_key_file = Some(path.clone())).unwrap_err();
        assert!(missing.to_string().contains("--api-key-file"), "{missing}");
    }
}
