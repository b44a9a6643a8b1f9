use super::sheet::{Sheet, cells};
use crate::escape;
use plimsoll_metrics::{Summary, formula};
use std::collections::{BTreeMap, BTreeSet};

/// Each number that was computed, with its unit, source and formula; then the formulas.
pub fn formulas(sheet: &mut Sheet, summary: &Summary) {
    let mut order: Vec<(&str, &str, &str)> = Vec::new();
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for number in summary.levels.iter().flat_map(|level| &level.numbers) {
        let key = (number.name.as_str(), number.unit.as_str(), number.formula.as_str());
        if !order.contains(&key) {
            order.push(key);
        }
        sources.entry(&number.name).or_default().insert(&number.source);
    }
    if order.is_empty() {
        return;
    }
    sheet.heading(2, "Formulas");
    sheet.paragraph("Every number is computed from the run folder's records by the formula that it names.");
    let row = |(name, unit, id): &(&str, &str, &str)| {
        let from: Vec<&str> = sources.get(name).into_iter().flatten().copied().collect();
        vec![escape::code(name), escape::markdown(unit), escape::markdown(&from.join(", ")), escape::code(id)]
    };
    let rows: Vec<Vec<String>> = order.iter().map(row).collect();
    sheet.table(&cells(["number", "unit", "counted from", "formula"]), &rows, 4);
    let ids: BTreeSet<&str> = order.iter().map(|(.., id)| *id).collect();
    let row = |id: &&str| {
        let (text, source) =
            formula::get(id).map_or(("not described", ""), |known| (known.text, known.source));
        vec![escape::code(id), escape::markdown(text), escape::markdown(source)]
    };
    let rows: Vec<Vec<String>> = ids.iter().map(row).collect();
    sheet.table(&cells(["formula", "definition", "source"]), &rows, 3);
}
