use super::sheet::{Sheet, cells};
use crate::{
    column::{COLUMNS, failures, repeated},
    escape, figure, footnote,
};
use plimsoll_metrics::{LevelSummary, Number, Reading, Summary};

/// One row per level and repeat, units in the header, and what each column is.
pub fn table(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(2, "Results");
    if summary.levels.is_empty() {
        sheet.paragraph("No level was measured.");
        return;
    }
    let mut header = vec!["concurrency".to_owned()];
    if repeated(summary) {
        header.push("repeat".to_owned());
    }
    header.extend(cells(["n", "failed"]));
    header.extend(COLUMNS.iter().map(|column| column.full_title(summary)));
    let row = |level: &LevelSummary| {
        let mut row = vec![level.level.to_string()];
        if repeated(summary) {
            row.push(level.repeat.to_string());
        }
        row.extend([level.n.to_string(), failures(level).to_string()]);
        row.extend(COLUMNS.iter().map(|column| escape_mark(&column.cell(level, column.scale(summary).0))));
        row
    };
    let rows: Vec<Vec<String>> = summary.levels.iter().map(row).collect();
    sheet.table(&header, &rows, 0);
    let notes: Vec<String> = footnote::notes(summary).iter().map(|note| escape::markdown(note)).collect();
    sheet.list(&notes);
}

/// A stand-in's star would be emphasis.
fn escape_mark(cell: &str) -> String {
    cell.replace('*', "\\*")
}

/// Families of latencies in the table of intervals.
const FAMILIES: [(&str, &str); 5] =
    [("TTFT", "ttft"), ("TPOT", "tpot"), ("ITL", "itl"), ("ICL", "icl"), ("E2E", "e2e")];
const QUANTILES: [&str; 4] = ["p50", "p90", "p95", "p99"];

/// Each latency with its interval and n. Gaps between chunks (ICL) stand here where those between tokens are not known.
pub fn intervals(sheet: &mut Sheet, summary: &Summary) {
    if summary.levels.is_empty() {
        return;
    }
    sheet.heading(2, "Latencies with their intervals");
    sheet.paragraph(&method(summary));
    let mut header = vec!["concurrency".to_owned()];
    if repeated(summary) {
        header.push("repeat".to_owned());
    }
    header.extend(cells(["latency", "formula", "n", "p50", "p90", "p95", "p99", "max"]));
    let mut rows = Vec::new();
    for level in &summary.levels {
        for (label, stem) in FAMILIES {
            let known =
                |stem: &str| level.number(&format!("{stem}_p50")).filter(|number| number.value.is_some());
            let Some(middle) = level.number(&format!("{stem}_p50")) else { continue };
            if stem == "icl" && (known("itl").is_some() || known("icl").is_none()) {
                continue;
            }
            let mut row = vec![level.level.to_string()];
            if repeated(summary) {
                row.push(level.repeat.to_string());
            }
            row.extend([label.to_owned(), escape::code(&middle.formula), middle.n.to_string()]);
            let quantiles = QUANTILES.iter().map(|name| interval(level, &format!("{stem}_{name}")));
            row.extend(quantiles);
            row.push(interval(level, &format!("{stem}_max")));
            rows.push(row);
        }
    }
    let texts = if repeated(summary) { 4 } else { 3 };
    sheet.table(&header, &rows, texts);
}

fn interval(level: &LevelSummary, name: &str) -> String {
    level.number(name).map_or_else(|| figure::NONE.to_owned(), figure::with_interval)
}

/// How the intervals of the quantiles were made.
fn method(summary: &Summary) -> String {
    let made = summary
        .levels
        .iter()
        .flat_map(|level| &level.numbers)
        .filter(|number| QUANTILES.iter().any(|quantile| number.name.ends_with(quantile)))
        .find_map(|number| number.interval.as_ref());
    let how = made.map_or_else(
        || "No quantile has an interval at these n.".to_owned(),
        |interval| {
            format!(
                "`[a, b]` is the interval that holds the true quantile with {} % confidence ({}).",
                (interval.confidence * 1000.0).round() / 10.0,
                escape::markdown(&interval.method)
            )
        },
    );
    format!(
        "{how} `≥` marks a lower bound where n is too small to know an upper one. Failed requests enter none of them."
    )
}

/// Numbers that are withheld or not known, with the reason. One row per number and reason.
pub fn missing(sheet: &mut Sheet, summary: &Summary) {
    let mut groups: Vec<(&str, &str, bool, Vec<String>)> = Vec::new();
    let absent = |number: &&Number| number.reading == Reading::Absent || number.value.is_none();
    for level in &summary.levels {
        for number in level.numbers.iter().filter(absent) {
            let reason = number.reason.as_deref().unwrap_or("not known");
            let withheld = number.withheld.is_some();
            let place = footnote::place(level, summary);
            match groups
                .iter_mut()
                .find(|(name, why, held, _)| *name == number.name && *why == reason && *held == withheld)
            {
                Some((.., places)) => places.push(place),
                None => groups.push((&number.name, reason, withheld, vec![place])),
            }
        }
    }
    if groups.is_empty() {
        return;
    }
    sheet.heading(2, "Numbers withheld or not known");
    sheet.paragraph(
        "A withheld number was computed but failed a check; `summary.json` keeps it under `withheld`.",
    );
    let rows: Vec<Vec<String>> = groups
        .iter()
        .map(|(name, reason, withheld, places)| {
            let state = if *withheld { "withheld" } else { "not known" };
            vec![escape::code(name), state.to_owned(), escape::markdown(reason), places.join(", ")]
        })
        .collect();
    sheet.table(&cells(["number", "state", "reason", "at concurrency"]), &rows, 4);
}
