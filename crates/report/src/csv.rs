use crate::{ReportError, ReportInput, escape};
use plimsoll_metrics::{LevelSummary, Number, Reading, Summary};
use plimsoll_record::Nanos;

/// `levels.csv`: a row per level and repeat.
///
/// The first columns are `level` (`8`, or `2.5/s` for a rate), `repeat` (from 1), `n`, `ok`, `failed`, `window_open_s` and `window_close_s`; the last are
/// `failures` (`kind=count`, parted by spaces), `bottleneck` and `flags` (ids). Between them, each number of the summary
/// has three: its value and the ends of its interval, `ttft_p95_s`, `ttft_p95_low_s`, `ttft_p95_high_s`. Units are those of
/// the summary, seconds for times, 0 to 1 for shares. An empty cell is a figure that is not known or withheld; a quantile
/// of which only a lower bound is known has an empty value and that bound as its low end.
pub fn levels_csv(input: &ReportInput<'_>) -> Result<String, ReportError> {
    let error = |error: &dyn std::fmt::Display| ReportError::new("levels.csv", error);
    let names = names(input.summary);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header(&names)).map_err(|reason| error(&reason))?;
    for level in &input.summary.levels {
        writer.write_record(row(level, &names)).map_err(|reason| error(&reason))?;
    }
    let bytes = writer.into_inner().map_err(|reason| error(&reason))?;
    String::from_utf8(bytes).map_err(|reason| error(&reason))
}

/// Names and units of all numbers, in the order in which they first appear.
fn names(summary: &Summary) -> Vec<(&str, &str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for number in summary.levels.iter().flat_map(|level| &level.numbers) {
        if !names.iter().any(|(name, _)| *name == number.name) {
            names.push((&number.name, &number.unit));
        }
    }
    names
}

fn header(names: &[(&str, &str)]) -> Vec<String> {
    let first = ["level", "repeat", "n", "ok", "failed", "window_open_s", "window_close_s"];
    let mut header: Vec<String> = first.map(str::to_owned).to_vec();
    for (name, unit) in names {
        let unit = if *unit == "s" { "_s" } else { "" };
        header.extend(["", "_low", "_high"].map(|part| format!("{name}{part}{unit}")));
    }
    header.extend(["failures", "bottleneck", "flags"].map(str::to_owned));
    header
}

fn row(level: &LevelSummary, names: &[(&str, &str)]) -> Vec<String> {
    let seconds = |at: Option<Nanos>| at.map(|at| at.as_secs_f64().to_string()).unwrap_or_default();
    let mut row = vec![
        level.level.to_string(),
        (u64::from(level.repeat) + 1).to_string(),
        level.n.to_string(),
        level.ok.to_string(),
        level.n.saturating_sub(level.ok).to_string(),
        seconds(level.window.map(|window| window.open_ns)),
        seconds(level.window.map(|window| window.close_ns)),
    ];
    for (name, _) in names {
        row.extend(cells(level.number(name)));
    }
    let failures: Vec<String> =
        level.failures.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    row.push(escape::cell(&failures.join(" ")));
    row.push(kind_name(level));
    let flags: Vec<&str> = level.flags.iter().map(|flag| flag.id.as_str()).collect();
    row.push(escape::cell(&flags.join(" ")));
    row
}

/// Value, low, high. A withheld number shows nothing of itself.
fn cells(number: Option<&Number>) -> [String; 3] {
    let text = |value: Option<f64>| {
        value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
    };
    let Some(number) = number else { return [String::new(), String::new(), String::new()] };
    let (low, high) = number.interval.as_ref().map_or((None, None), |ends| (Some(ends.low), ends.high));
    match number.reading {
        Reading::Absent => [String::new(), String::new(), String::new()],
        Reading::AtLeast => [String::new(), text(number.value), String::new()],
        Reading::Estimate => [text(number.value), text(low), text(high)],
    }
}

/// The name as it stands in `summary.json`.
fn kind_name(level: &LevelSummary) -> String {
    let value = serde_json::to_value(level.bottleneck.kind).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
