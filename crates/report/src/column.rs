//! The columns of the table, for terminal and Markdown alike.

use crate::figure::{NONE, Scale};
use plimsoll_metrics::{LevelSummary, Number, Reading, Summary};

/// A column of figures.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Columns of one group stand together below its title.
    pub group: &'static str,
    /// What it is called in its group.
    pub title: &'static str,
    /// Name of the number.
    pub name: &'static str,
    /// Name of the number that is shown, and marked, where the first is not known.
    pub instead: Option<&'static str>,
}

const fn column(group: &'static str, title: &'static str, name: &'static str) -> Column {
    Column { group, title, name, instead: None }
}

/// All columns of figures, in order; see [`columns`].
const COLUMNS: [Column; 14] = [
    column("throughput", OFFERED, "offered_req_s"),
    column("throughput", "req/s", "req_s"),
    column("throughput", "out tok/s", "output_tok_s"),
    column("TTFT", "p50", "ttft_p50"),
    column("TTFT", "p95", "ttft_p95"),
    column("TPOT", "p50", "tpot_p50"),
    column("ITL", "p50", "itl_p50"),
    column("ITL", "p95", "itl_p95"),
    column("E2E", "p50", "e2e_p50"),
    column("E2E", "p95", "e2e_p95"),
    column("in flight", "mean", "in_flight"),
    Column { instead: Some("server_running_gauge"), ..column("server", "running", "server_running") },
    Column { instead: Some("server_waiting_gauge"), ..column("server", "waiting", "server_waiting") },
    column("KV cache", "max", "kv_usage_max"),
];

/// Title of the column that only an open loop has.
const OFFERED: &str = "offered/s";

/// The columns of figures of this run, in order.
pub fn columns(summary: &Summary) -> Vec<Column> {
    let open = is_open_loop(summary);
    COLUMNS.into_iter().filter(|column| open || column.title != OFFERED).collect()
}

/// True when some level is a rate.
pub fn is_open_loop(summary: &Summary) -> bool {
    summary.levels.iter().any(|level| level.level.is_open_loop())
}

/// What the levels are: the name of their column.
pub fn level_title(summary: &Summary) -> &'static str {
    let slots = summary.levels.iter().any(|level| !level.level.is_open_loop());
    match (is_open_loop(summary), slots) {
        (true, true) => "level",
        (true, false) => "rate",
        _ => "concurrency",
    }
}

/// Marks a figure that stands in for the one that the column names.
pub const INSTEAD: &str = "*";

impl Column {
    /// The number of a level that the column shows, and whether it stands in.
    fn of(self, level: &LevelSummary) -> Option<(&Number, bool)> {
        let shown = |name| level.number(name).filter(|number| number.value.is_some());
        match (shown(self.name), self.instead.and_then(shown)) {
            (Some(number), _) => Some((number, false)),
            (None, Some(number)) => Some((number, true)),
            (None, None) => level.number(self.name).map(|number| (number, false)),
        }
    }

    /// The scale of its group, so that neighbours compare at a glance.
    pub fn scale(self, summary: &Summary) -> (Scale, String) {
        let in_group = COLUMNS.iter().filter(|column| column.group == self.group && column.is_alike(self));
        let numbers: Vec<&Number> = in_group
            .flat_map(|column| summary.levels.iter().filter_map(|level| column.of(level)))
            .map(|(number, _)| number)
            .collect();
        let unit = numbers.first().map_or("", |number| number.unit.as_str());
        let largest = numbers.iter().filter_map(|number| number.value).fold(0.0, f64::max);
        (Scale::of_column(unit, largest), unit.to_owned())
    }

    /// True when both show quantiles of the same quantity.
    fn is_alike(self, other: Self) -> bool {
        let stem = |name: &'static str| name.rsplit_once("_p").map_or(name, |(stem, _)| stem);
        stem(self.name) == stem(other.name)
    }

    /// The unit that its title does not name.
    fn unit(self, summary: &Summary) -> Option<String> {
        let (scale, unit) = self.scale(summary);
        match self.group {
            "TTFT" | "TPOT" | "ITL" | "E2E" if unit.is_empty() => Some("ms".to_owned()),
            "TTFT" | "TPOT" | "ITL" | "E2E" | "KV cache" => Some(scale.unit(&unit).replace("share", "%")),
            _ => None,
        }
    }

    /// The group's title with its unit: `TTFT ms`.
    pub fn heading(self, summary: &Summary) -> String {
        self.unit(summary).map_or_else(|| self.group.to_owned(), |unit| format!("{} {unit}", self.group))
    }

    /// A title that stands alone: `TTFT p50 (ms)`.
    pub fn full_title(self, summary: &Summary) -> String {
        let unit = self.unit(summary).map(|unit| format!(" ({unit})")).unwrap_or_default();
        format!("{}{unit}", self.label())
    }

    /// The cell of a level: `87.3`, `≥551`, `3.91*`, `–`.
    pub fn cell(self, level: &LevelSummary, scale: Scale) -> String {
        let Some((number, stands_in)) = self.of(level) else { return NONE.to_owned() };
        let Some(value) = number.value else { return NONE.to_owned() };
        let mark = if stands_in { INSTEAD } else { "" };
        match number.reading {
            Reading::Estimate => format!("{}{mark}", scale.show(value)),
            Reading::AtLeast => format!("≥{}{mark}", scale.show(value)),
            Reading::Absent => NONE.to_owned(),
        }
    }

    /// True when a level's cell shows the stand-in.
    pub fn stands_in(self, level: &LevelSummary) -> bool {
        self.of(level).is_some_and(|(_, stands_in)| stands_in)
    }

    /// True when a level's cell shows no figure.
    pub fn is_empty(self, level: &LevelSummary) -> bool {
        self.of(level).is_none_or(|(number, _)| number.value.is_none() || number.reading == Reading::Absent)
    }

    /// Its name in a sentence.
    pub fn label(self) -> String {
        match self.group {
            "throughput" => self.title.to_owned(),
            group => format!("{group} {}", self.title),
        }
    }
}

/// True when some level was run more than once.
pub fn repeated(summary: &Summary) -> bool {
    summary.levels.iter().any(|level| level.repeat > 0)
}

/// Failures of a level.
pub fn failures(level: &LevelSummary) -> u64 {
    level.n.saturating_sub(level.ok)
}
