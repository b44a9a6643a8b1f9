use super::sheet::{Sheet, cells};
use crate::{
    column::{columns, failures, is_open_loop, level_title, repeated},
    escape, figure, footnote, wording,
};
use plimsoll_metrics::{LevelSummary, Number, Reading, Summary, formula};

/// What tells rows of levels apart: the level's title, with repeats also theirs.
pub fn key_titles(summary: &Summary) -> Vec<String> {
    let mut titles = vec![level_title(summary).to_owned()];
    if repeated(summary) {
        titles.push("repeat".to_owned());
    }
    titles
}

/// The cells below [`key_titles`]; repeats count from 1.
pub fn key(level: &LevelSummary, summary: &Summary) -> Vec<String> {
    let mut cells = vec![level.level.to_string()];
    if repeated(summary) {
        cells.push((u64::from(level.repeat) + 1).to_string());
    }
    cells
}

/// One row per level and repeat, units in the header, and what each column is.
pub fn table(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(2, "Results");
    if summary.levels.is_empty() {
        sheet.paragraph("No level was measured.");
        return;
    }
    if is_open_loop(summary) {
        sheet.paragraph(&format!("Open loop: {}.", wording::RESPONSE));
    }
    let mut header = key_titles(summary);
    header.extend(cells(["window (s)", "n", "failed"]));
    header.extend(columns(summary).iter().map(|column| column.full_title(summary)));
    let row = |level: &LevelSummary| {
        let mut row = key(level, summary);
        let window =
            level.window.map(|window| figure::significant((window.close_ns - window.open_ns).as_secs_f64()));
        row.push(window.unwrap_or_else(|| figure::NONE.to_owned()));
        row.extend([level.n.to_string(), failures(level).to_string()]);
        row.extend(
            columns(summary).iter().map(|column| escape_mark(&column.cell(level, column.scale(summary).0))),
        );
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
const FAMILIES: [(&str, &str); 8] = [
    ("TTFT", "ttft"),
    ("TTFT, service", "service_ttft"),
    ("TPOT", "tpot"),
    ("ITL", "itl"),
    ("ICL", "icl"),
    ("E2E", "e2e"),
    ("E2E, service", "service_e2e"),
    ("response time", "response"),
];
const QUANTILES: [&str; 4] = ["p50", "p90", "p95", "p99"];

/// Each latency with its interval and n. Service times, from the sending of a request, stand beside those of an open loop. Gaps between chunks (ICL) stand here where those between tokens are not known.
pub fn intervals(sheet: &mut Sheet, summary: &Summary) {
    if summary.levels.is_empty() {
        return;
    }
    sheet.heading(2, "Latencies with their intervals");
    sheet.paragraph(&method());
    let mut header = key_titles(summary);
    header.extend(cells(["latency", "formula", "n", "p50", "p90", "p95", "p99", "max"]));
    let mut rows = Vec::new();
    for level in &summary.levels {
        for (label, stem) in FAMILIES {
            let known =
                |stem: &str| level.number(&format!("{stem}_p50")).filter(|number| number.value.is_some());
            let Some(middle) = level.number(&format!("{stem}_p50")) else { continue };
            let aside = stem.starts_with("service") && !level.level.is_open_loop();
            if aside || (stem == "icl" && (known("itl").is_some() || known("icl").is_none())) {
                continue;
            }
            let mut row = key(level, summary);
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

/// How quantiles and their intervals are made.
fn method() -> String {
    format!(
        "{} `≥` marks a lower bound where n is too small to know an upper one. Failed requests enter none of them.",
        formula::QUANTILE
    )
}

/// Numbers that are withheld or not known: one row per reason, with the levels that have it.
pub fn missing(sheet: &mut Sheet, summary: &Summary) {
    let mut rows: Vec<(bool, &str, Vec<String>, Vec<String>)> = Vec::new();
    for (name, reason, withheld, places) in absent(summary) {
        match rows.iter_mut().find(|(held, why, at, _)| *held == withheld && *why == reason && *at == places)
        {
            Some((.., names)) => names.push(name.to_owned()),
            None => rows.push((withheld, reason, places, vec![name.to_owned()])),
        }
    }
    if rows.is_empty() {
        return;
    }
    sheet.heading(2, "Numbers withheld or not known");
    sheet.paragraph(
        "A withheld number was computed but failed a check; `summary.json` keeps it under `withheld`.",
    );
    let row = |(withheld, reason, places, names): &(bool, &str, Vec<String>, Vec<String>)| {
        let state = if *withheld { "withheld" } else { "not known" };
        let everywhere = places.len() == summary.levels.len() && places.len() > 1;
        let places = if everywhere { "all levels".to_owned() } else { places.join(", ") };
        let names: Vec<String> = wording::numbers(names).iter().map(|name| escape::code(name)).collect();
        vec![names.join(", "), state.to_owned(), escape::markdown(reason), places]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    sheet.table(&cells(["numbers", "state", "reason", "at"]), &rows, 4);
}

/// Each absent number with its reason, whether it is withheld, and the levels.
fn absent(summary: &Summary) -> Vec<(&str, &str, bool, Vec<String>)> {
    let mut found: Vec<(&str, &str, bool, Vec<String>)> = Vec::new();
    let absent = |number: &&Number| number.reading == Reading::Absent || number.value.is_none();
    for level in &summary.levels {
        for number in level.numbers.iter().filter(absent) {
            let reason = number.reason.as_deref().unwrap_or("not known");
            let (withheld, place) = (number.withheld.is_some(), footnote::place(level, summary));
            let same = |(name, why, held, _): &&mut (&str, &str, bool, Vec<String>)| {
                *name == number.name && *why == reason && *held == withheld
            };
            match found.iter_mut().find(same) {
                Some((.., places)) => places.push(place),
                None => found.push((&number.name, reason, withheld, vec![place])),
            }
        }
    }
    found
}
