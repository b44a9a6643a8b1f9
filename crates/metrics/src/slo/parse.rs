use super::{Clause, Metric, Objective};
use plimsoll_record::Level;
use std::fmt;

/// A text that is not an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SloError {
    text: String,
    at: usize,
    expected: String,
}

impl SloError {
    /// Byte offset of the place in the text.
    pub const fn position(&self) -> usize {
        self.at
    }
}

impl std::error::Error for SloError {}

/// The reason, the text and a caret under the place, on three lines.
impl fmt::Display for SloError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let column = self.text.get(..self.at).map_or(0, |before| before.chars().count());
        writeln!(f, "the SLO cannot be read at byte {}: {}", self.at, self.expected)?;
        writeln!(f, "  {shown}")?;
        write!(f, "  {:column$}^", "")
    }
}

pub(super) fn objectives(text: &str) -> Result<Vec<Objective>, SloError> {
    Parser { text, at: 0 }.objectives()
}

/// Longest text and largest number of clauses: a bound for input that nobody wrote by hand.
const MAX_BYTES: usize = 4096;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn objectives(mut self) -> Result<Vec<Objective>, SloError> {
        if self.text.len() > MAX_BYTES {
            return Err(SloError {
                text: self.text.chars().take(60).collect(),
                at: 0,
                expected: format!("longer than {MAX_BYTES} bytes"),
            });
        }
        let mut objectives = Vec::new();
        loop {
            objectives.push(self.objective()?);
            if !self.take(';') {
                break;
            }
            self.spaces();
            if self.rest().is_empty() {
                break;
            }
        }
        self.spaces();
        if self.rest().is_empty() {
            Ok(objectives)
        } else {
            Err(self.error("expected `,` and another clause, `;` and another objective, or the end"))
        }
    }

    fn objective(&mut self) -> Result<Objective, SloError> {
        let at = self.level()?;
        let mut clauses = vec![self.clause()?];
        while self.take(',') {
            clauses.push(self.clause()?);
        }
        Ok(Objective { at, clauses })
    }

    fn level(&mut self) -> Result<Option<Level>, SloError> {
        let start = self.at;
        if !self.word().eq_ignore_ascii_case("at") {
            self.at = start;
            return Ok(None);
        }
        self.spaces();
        let start = self.at;
        let text = self.while_matches(|c| c.is_ascii_digit() || matches!(c, '.' | '/' | 's'));
        match text.parse::<Level>() {
            Ok(level) if level.value() > 0.0 => {
                if self.take(':') {
                    Ok(Some(level))
                } else {
                    Err(self.error("expected `:` after the level, as in `at 10: ttft p95 < 1s`"))
                }
            }
            _ => {
                self.at = start;
                Err(self.error(
                    "expected a level: a concurrency, a whole number from 1, as in `at 10:`, or a rate, as in `at 2.5/s:`",
                ))
            }
        }
    }

    fn clause(&mut self) -> Result<Clause, SloError> {
        let metric = self.metric()?;
        let quantile_ppm = self.quantile()?;
        if !self.take('<') {
            return Err(self.error("expected `<` or `<=`"));
        }
        let or_equal = self.rest().starts_with('=');
        if or_equal {
            self.at += 1;
        }
        Ok(Clause { metric, quantile_ppm, or_equal, limit_ns: self.limit()? })
    }

    fn metric(&mut self) -> Result<Metric, SloError> {
        self.spaces();
        let start = self.at;
        let metric = match self.word().to_ascii_lowercase().as_str() {
            "ttft" => Metric::Ttft,
            "tpot" => Metric::Tpot,
            "itl" => Metric::Itl,
            "e2e" => Metric::E2e,
            _ => {
                self.at = start;
                self.spaces();
                return Err(self.error("expected a metric: ttft, tpot, itl or e2e"));
            }
        };
        Ok(metric)
    }

    fn quantile(&mut self) -> Result<u32, SloError> {
        self.spaces();
        let start = self.at;
        let word = self.while_matches(|c| c.is_ascii_alphanumeric() || c == '.');
        match word.to_ascii_lowercase().as_str() {
            "p50" => Ok(500_000),
            "p90" => Ok(900_000),
            "p95" => Ok(950_000),
            "p99" => Ok(990_000),
            "p99.9" => Ok(999_000),
            _ => {
                self.at = start;
                Err(self.error("expected a percentile: p50, p90, p95, p99 or p99.9"))
            }
        }
    }

    fn limit(&mut self) -> Result<u64, SloError> {
        self.spaces();
        let start = self.at;
        let number = self.while_matches(|c| c.is_ascii_digit() || c == '.');
        let Ok(value) = number.parse::<f64>() else {
            self.at = start;
            return Err(self.error("expected a time, for example 250ms, 1.5s or 800us"));
        };
        self.spaces();
        let unit_at = self.at;
        let factor = match self.while_matches(char::is_alphabetic) {
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => {
                self.at = unit_at;
                return Err(self.error("expected a unit: us, ms or s"));
            }
        };
        let nanos = (value * factor).round();
        if !(1.0..=MAX_LIMIT_NS).contains(&nanos) {
            self.at = start;
            return Err(self.error("the limit must lie between 1 ns and 24 hours"));
        }
        Ok(nanos as u64)
    }

    fn take(&mut self, wanted: char) -> bool {
        self.spaces();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn word(&mut self) -> &'a str {
        self.spaces();
        self.while_matches(|c| c.is_ascii_alphanumeric())
    }

    fn spaces(&mut self) {
        self.while_matches(char::is_whitespace);
    }

    fn while_matches(&mut self, matches: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !matches(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&mut self, expected: &str) -> SloError {
        self.spaces();
        SloError { text: self.text.to_owned(), at: self.at, expected: expected.to_owned() }
    }
}

const MAX_LIMIT_NS: f64 = 86_400e9;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clause(metric: Metric, quantile_ppm: u32, or_equal: bool, limit_ns: u64) -> Clause {
        Clause { metric, quantile_ppm, or_equal, limit_ns }
    }

    #[test]
    fn sentences() {
        let read =
            objectives("at 10: ttft p95 < 1s, tpot p95 <= 50ms; E2E P99.9<1.5 s;at 2.5/s : itl p50 < 800us;")
                .unwrap();
        assert_eq!(
            read,
            [
                Objective {
                    at: Some(10.into()),
                    clauses: vec![
                        clause(Metric::Ttft, 950_000, false, 1_000_000_000),
                        clause(Metric::Tpot, 950_000, true, 50_000_000),
                    ]
                },
                Objective { at: None, clauses: vec![clause(Metric::E2e, 999_000, false, 1_500_000_000)] },
                Objective {
                    at: "2.5/s".parse().ok(),
                    clauses: vec![clause(Metric::Itl, 500_000, false, 800_000)]
                },
            ]
        );
        assert_eq!(read.first().map(Objective::levels), Some(vec![10.into()]));
    }

    #[test]
    fn the_place_is_shown() {
        for (text, at) in [
            ("", 0),
            ("at : ttft p95 < 1s", 3),
            ("at 0: ttft p95 < 1s", 3),
            ("at 10 ttft p95 < 1s", 6),
            ("at 99999999999: ttft p95 < 1s", 3),
            ("at 2.5: ttft p95 < 1s", 3),
            ("at 0/s: ttft p95 < 1s", 3),
            ("at 1/s ttft p95 < 1s", 7),
            ("at 1/m: ttft p95 < 1s", 3),
            ("tfft p95 < 1s", 0),
            ("ttft p97 < 1s", 5),
            ("ttft p95 > 1s", 9),
            ("ttft p95 < fast", 11),
            ("ttft p95 < 1", 12),
            ("ttft p95 < 1 h", 13),
            ("ttft p95 < 0s", 11),
            ("ttft p95 < 1s tpot", 14),
            ("ttft p95 < 1s,", 14),
            ("ttft p95 < 1s;;", 14),
            ("ttft p95 < 1..5s", 11),
        ] {
            let error = objectives(text).unwrap_err();
            assert_eq!(error.position(), at, "{text}: {error}");
        }
        assert_eq!(
            objectives("at 10: tfft p95 < 1s").unwrap_err().to_string(),
            "the SLO cannot be read at byte 7: expected a metric: ttft, tpot, itl or e2e\n  \
             at 10: tfft p95 < 1s\n         ^"
        );
    }

    proptest! {
        #[test]
        fn any_text_gives_objectives_or_an_error_inside_it(text in "(at|[0-9]{1,3}|/s|\\.|:|ttft|p95|<|=|s|,|;| |é|µs|\\PC){0,12}") {
            if let Err(error) = objectives(&text) {
                prop_assert!(error.position() <= text.len());
                prop_assert_eq!(error.to_string().lines().count(), 3);
            }
        }
    }
}
