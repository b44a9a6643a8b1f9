use super::sheet::{Sheet, cells};
use crate::{escape, wording};
use plimsoll_metrics::{Summary, formula};
use std::collections::{BTreeMap, BTreeSet};

/// Each formula with the numbers that were computed by it.
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
    let ids: BTreeSet<&str> = order.iter().map(|(.., id)| *id).collect();
    let row = |id: &&str| {
        let of: Vec<&(&str, &str, &str)> = order.iter().filter(|(.., formula)| formula == id).collect();
        let names: Vec<String> = of.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let names: Vec<String> = wording::numbers(&names).iter().map(|name| escape::code(name)).collect();
        let unit = of.first().map_or("", |(_, unit, _)| *unit);
        let from: BTreeSet<&str> =
            of.iter().flat_map(|(name, ..)| sources.get(name).into_iter().flatten().copied()).collect();
        let (text, source) =
            formula::get(id).map_or(("not described", ""), |known| (known.text, known.source));
        vec![
            escape::code(id),
            names.join(", "),
            escape::markdown(unit),
            escape::markdown(&from.into_iter().collect::<Vec<_>>().join(", ")),
            escape::markdown(text),
            escape::markdown(source),
        ]
    };
    let rows: Vec<Vec<String>> = ids.iter().map(row).collect();
    sheet.table(&cells(["formula", "numbers", "unit", "counted from", "definition", "source"]), &rows, 6);
}
