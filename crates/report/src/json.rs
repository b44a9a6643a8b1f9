use crate::{ReportError, ReportInput};

/// `summary.json`: indented, keys in the order of [`plimsoll_metrics::Summary`], a newline at the end.
pub fn summary_json(input: &ReportInput<'_>) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(input.summary)
        .map_err(|error| ReportError::new("summary.json", &error))?;
    text.push('\n');
    Ok(text)
}
