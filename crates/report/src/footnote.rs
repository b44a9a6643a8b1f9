//! What the marks in a table mean.

use crate::column::{columns, failures};
use plimsoll_metrics::{LevelSummary, Reading, Summary};
use std::collections::BTreeMap;

/// Notes below the table, raw: escape before showing.
pub fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = missing(summary);
    let at_least = |level: &LevelSummary| {
        columns(summary)
            .iter()
            .filter_map(|column| level.number(column.name))
            .any(|number| number.reading == Reading::AtLeast)
    };
    if summary.levels.iter().any(at_least) {
        notes.insert(
            0,
            "≥ the true quantile is at least this; n is too small to know an upper bound".to_owned(),
        );
    }
    if summary.levels.iter().any(|level| columns(summary).iter().any(|column| column.stands_in(level))) {
        notes.insert(
            0,
            "* mean of the server's gauges, which may be stale; its histograms give no value".to_owned(),
        );
    }
    for level in summary.levels.iter().filter(|level| failures(level) > 0) {
        let kinds: Vec<String> =
            level.failures.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
        notes.push(format!("failures at level {}: {}", place(level, summary), kinds.join(", ")));
    }
    notes
}

/// `8`, or with repeats `8 (repeat 1)`, counted from 1.
pub fn place(level: &LevelSummary, summary: &Summary) -> String {
    if crate::column::repeated(summary) {
        format!("{} (repeat {})", level.level, level.repeat + 1)
    } else {
        level.level.to_string()
    }
}

/// One note per reason, with the columns and levels that have it.
fn missing(summary: &Summary) -> Vec<String> {
    let mut order = Vec::new();
    let mut cells: BTreeMap<String, Vec<(String, Vec<String>)>> = BTreeMap::new();
    for column in columns(summary) {
        for level in summary.levels.iter().filter(|level| column.is_empty(level)) {
            let reason = level.number(column.name).and_then(|number| number.reason.clone());
            let reason = reason.unwrap_or_else(|| "not computed".to_owned());
            if !order.contains(&reason) {
                order.push(reason.clone());
            }
            let columns = cells.entry(reason).or_default();
            match columns.last_mut() {
                Some((label, levels)) if *label == column.label() => levels.push(place(level, summary)),
                _ => columns.push((column.label(), vec![place(level, summary)])),
            }
        }
    }
    let note = |reason: String| {
        let columns = cells.get(&reason)?;
        let everywhere = |levels: &[String]| levels.len() == summary.levels.len();
        let what: Vec<String> =
            columns
                .iter()
                .map(|(label, levels)| {
                    if everywhere(levels) {
                        label.clone()
                    } else {
                        format!("{label} at {}", levels.join(", "))
                    }
                })
                .collect();
        Some(format!("– {}: {reason}", what.join("; ")))
    };
    order.into_iter().filter_map(note).collect()
}
