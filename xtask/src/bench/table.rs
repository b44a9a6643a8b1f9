//! The comparison as a table.

use super::{results::Reported, truth::Figures};
use std::time::Duration;

/// One client's row.
pub struct Row {
    pub name: String,
    pub cpu: Duration,
    /// Output tokens that the mock sent it.
    pub tokens: usize,
    /// KiB.
    pub memory: Option<u64>,
    /// From its start to its first request to a generating route.
    pub start: Option<Duration>,
    pub reported: Reported,
    pub truth: Figures,
}

const HEADS: [&str; 9] = [
    "client",
    "CPU s / 1000 tok",
    "peak MiB",
    "start s",
    "complete",
    "TTFT p50 (error) ms",
    "TTFT p99 (error) ms",
    "ITL p50 (error) ms",
    "ITL p99 (error) ms",
];

pub fn table(rows: &[Row]) -> String {
    let cells = rows.iter().map(Row::cells);
    let all: Vec<[String; 9]> = std::iter::once(HEADS.map(str::to_owned)).chain(cells).collect();
    let mut text = String::new();
    for row in &all {
        for (column, cell) in row.iter().enumerate() {
            let width = all
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0);
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            // Names to the left, numbers to the right.
            let parts = if column == 0 { ["", cell, &blanks] } else { ["  ", &blanks, cell] };
            text.extend(parts);
        }
        text.push('\n');
    }
    text
}

impl Row {
    fn cells(&self) -> [String; 9] {
        let unknown = || "-".to_owned();
        let per_thousand = (self.tokens > 0).then(|| self.cpu.as_secs_f64() * 1e3 / self.tokens as f64);
        let error = |reported: [Option<f64>; 2], truth: [Option<f64>; 2]| {
            [0, 1].map(|place| match (reported[place], truth[place]) {
                (Some(reported), Some(truth)) => format!("{reported:.2} ({:+.2})", reported - truth),
                (Some(reported), None) => format!("{reported:.2} (?)"),
                (None, _) => unknown(),
            })
        };
        let [ttft_p50, ttft_p99] = error(self.reported.figures.ttft, self.truth.ttft);
        let [itl_p50, itl_p99] = error(self.reported.figures.itl, self.truth.itl);
        [
            self.name.clone(),
            per_thousand.map_or_else(unknown, |seconds| format!("{seconds:.3}")),
            self.memory.map_or_else(unknown, |kib| format!("{:.0}", kib as f64 / 1024.0)),
            self.start.map_or_else(unknown, |start| format!("{:.2}", start.as_secs_f64())),
            self.reported.completed.map_or_else(unknown, |count| count.to_string()),
            ttft_p50,
            ttft_p99,
            itl_p50,
            itl_p99,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_signed_and_unknown_is_no_number() {
        let row = Row {
            name: "one".to_owned(),
            cpu: Duration::from_secs(2),
            tokens: 4000,
            memory: Some(2048),
            start: None,
            reported: Reported {
                figures: Figures { ttft: [Some(20.0), None], itl: [Some(9.5), Some(11.0)] },
                completed: Some(40),
                ..Reported::default()
            },
            truth: Figures { ttft: [Some(18.5), Some(30.0)], itl: [Some(10.0), None] },
        };
        let text = table(&[row]);
        let cells: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(
            cells,
            ["one", "0.500", "2", "-", "40", "20.00", "(+1.50)", "-", "9.50", "(-0.50)", "11.00", "(?)"]
        );
    }
}
