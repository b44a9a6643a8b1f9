use crate::{
    SweepError,
    bounded::{LARGE, read_bounded},
};
use plimsoll_record::Plan;
use plimsoll_workload::{PromptFile, Tokenizer};
use std::path::Path;

/// Contents of the files that a plan names.
#[derive(Debug, Default)]
pub struct Files {
    pub prompts: Option<PromptFile>,
    pub system: Option<String>,
    pub tokenizer: Option<Tokenizer>,
}

impl Files {
    /// Reads them.
    pub fn read(plan: &Plan) -> Result<Self, SweepError> {
        let prompts = match &plan.prompts {
            Some(path) => Some(
                PromptFile::parse(&read(path)?, &path.display().to_string()).map_err(SweepError::usage)?,
            ),
            None => None,
        };
        let system = match &plan.system {
            Some(path) => {
                let text = String::from_utf8(read(path)?).map_err(|_| {
                    SweepError::usage(format!("{}: the system prompt is not UTF-8 text", path.display()))
                })?;
                if text.trim().is_empty() {
                    return Err(SweepError::usage(format!("{}: the system prompt is empty", path.display())));
                }
                Some(text.trim_end().to_owned())
            }
            None => None,
        };
        let tokenizer = match &plan.tokenizer {
            Some(path) => Some(
                Tokenizer::from_bytes(&read(path)?, &path.display().to_string())
                    .map_err(SweepError::usage)?,
            ),
            None => None,
        };
        Ok(Self { prompts, system, tokenizer })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, SweepError> {
    read_bounded(path, LARGE).map_err(|error| SweepError::read(path, &error))
}
