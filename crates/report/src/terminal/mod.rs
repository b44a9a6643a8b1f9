//! The report for a terminal.

mod verdicts;

use crate::{
    ReportInput,
    column::{columns, failures, is_open_loop, repeated},
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
        if is_open_loop(input.summary) {
            let note = format!("open loop, {} arrivals: {}", input.plan.arrivals, wording::RESPONSE);
            text.push_str(&grid::wrap(" ", &note, wrap));
        }
        for note in footnote::notes(input.summary) {
            text.push_str(&grid::wrap(" ", &escape::terminal(&note), wrap));
        }
        text.push('\n');
    }
    text.push_str(&verdicts::verdicts(input.summary, wrap));
    text
}

fn strips(summary: &Summary) -> Vec<Strip> {
    let keys = |title: &str, key: &dyn Fn(&plimsoll_metrics::LevelSummary) -> String| Strip {
        group: String::new(),
        title: title.to_owned(),
        cells: summary.levels.iter().map(key).collect(),
    };
    let mut strips = vec![keys("level", &|level| level.level.to_string())];
    if repeated(summary) {
        strips.push(keys("rep", &|level| (u64::from(level.repeat) + 1).to_string()));
    }
    strips.push(keys("n", &|level| level.n.to_string()));
    strips.push(keys("fail", &|level| failures(level).to_string()));
    strips.extend(columns(summary).iter().map(|column| {
        let (scale, _) = column.scale(summary);
        Strip {
            group: column.heading(summary),
            title: column.title.to_owned(),
            cells: summary.levels.iter().map(|level| column.cell(level, scale)).collect(),
        }
    }));
    strips
}
