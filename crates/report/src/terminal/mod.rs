//! The report for a terminal.

mod verdicts;

use crate::{
    ReportInput,
    column::{COLUMNS, failures, repeated},
    escape, footnote,
    grid::{self, Strip},
    wording,
};
use plimsoll_metrics::Summary;

/// Width of running text where none is given, and the width that the table is made for.
const DEFAULT_WIDTH: usize = 120;
/// Narrower is not useful.
const LEAST_WIDTH: usize = 40;

/// The table, one row per level and repeat, and the verdicts.
///
/// `width` is the terminal's, in characters: text is wrapped to it, and a table that does not fit is set in several
/// blocks. Without it, the table stands in one block and text is wrapped at 120.
pub fn table(input: &ReportInput<'_>, width: Option<usize>) -> String {
    let wrap = width.unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH);
    let mut text = String::new();
    if let Some(reason) = wording::partial(input.summary) {
        let reason = format!("{}; the numbers describe what there is", escape::terminal(reason));
        text.push_str(&grid::wrap("PARTIAL: ", &reason, wrap));
        text.push('\n');
    }
    if !input.summary.levels.is_empty() {
        text.push_str(&grid::draw(&strips(input.summary), width.map_or(usize::MAX, |_| wrap)));
        for note in footnote::notes(input.summary) {
            text.push_str(&grid::wrap(" ", &escape::terminal(&note), wrap));
        }
        text.push('\n');
    }
    text.push_str(&verdicts::verdicts(input.summary, wrap));
    text
}

fn strips(summary: &Summary) -> Vec<Strip> {
    let counts = |title: &str, count: &dyn Fn(&plimsoll_metrics::LevelSummary) -> u64| Strip {
        group: String::new(),
        title: title.to_owned(),
        cells: summary.levels.iter().map(|level| count(level).to_string()).collect(),
    };
    let mut strips = vec![counts("level", &|level| u64::from(level.level))];
    if repeated(summary) {
        strips.push(counts("rep", &|level| u64::from(level.repeat)));
    }
    strips.push(counts("n", &|level| level.n));
    strips.push(counts("fail", &failures));
    strips.extend(COLUMNS.iter().map(|column| {
        let (scale, _) = column.scale(summary);
        Strip {
            group: column.heading(summary),
            title: column.title.to_owned(),
            cells: summary.levels.iter().map(|level| column.cell(level, scale)).collect(),
        }
    }));
    strips
}
