//! `report.md`.

mod client;
mod conditions;
mod findings;
mod formulas;
mod numbers;
mod sheet;

use crate::{ReportInput, escape, wording};
use sheet::Sheet;

/// `report.md`: verdicts, conditions, table, intervals, targets, client, findings, formulas.
pub fn markdown(input: &ReportInput<'_>) -> String {
    let summary = input.summary;
    let mut sheet = Sheet::default();
    let model = escape::code(&input.conditions.server.model);
    sheet
        .heading(1, &if model.is_empty() { "Load test".to_owned() } else { format!("Load test of {model}") });
    if let Some(reason) = wording::partial(summary) {
        sheet.paragraph(&format!(
            "**PARTIAL:** {}; the numbers describe what there is.",
            escape::markdown(reason)
        ));
    }
    findings::glance(&mut sheet, summary);
    conditions::conditions(&mut sheet, input);
    numbers::table(&mut sheet, summary);
    numbers::intervals(&mut sheet, summary);
    client::targets(&mut sheet, input);
    findings::verdicts(&mut sheet, summary);
    client::proof(&mut sheet, summary);
    client::connections(&mut sheet, summary);
    findings::flags(&mut sheet, summary);
    numbers::missing(&mut sheet, summary);
    formulas::formulas(&mut sheet, summary);
    sheet.finish()
}
