//! Service level objectives: `at 10: ttft p95 < 1s, tpot p95 < 50ms; at 2.5/s: e2e p99 < 10s`.

mod judge;
mod parse;

pub(crate) use judge::{Pool, judge};
pub use parse::SloError;

use plimsoll_record::Level;

/// The grammar of `--slo`.
#[derive(Clone, Copy, Debug)]
pub struct Slo;

impl Slo {
    /// Reads objectives parted by `;`.
    ///
    /// # Errors
    /// A text outside the grammar; the error shows the place.
    pub fn parse(text: &str) -> Result<Vec<Objective>, SloError> {
        parse::objectives(text)
    }
}

/// Clauses that a request must meet together, at one level or at every level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    pub(crate) at: Option<Level>,
    pub(crate) clauses: Vec<Clause>,
}

/// `metric pXX < limit`: at least XX % of the requests have the metric within the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// What is limited.
    pub metric: Metric,
    /// The share of requests, in millionths: p95 is 950 000.
    pub quantile_ppm: u32,
    /// True for `<=`.
    pub or_equal: bool,
    /// The limit, nanoseconds.
    pub limit_ns: u64,
}

/// A time that an objective can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Time to first token, from the intended start.
    Ttft,
    /// Time per output token after the first.
    Tpot,
    /// Between tokens: the longest wait between two of the request's token-bearing events.
    Itl,
    /// From the intended start to the last token.
    E2e,
}

impl Objective {
    /// The level that it names.
    pub const fn at(&self) -> Option<Level> {
        self.at
    }

    /// The clauses, never empty.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The levels that must be measured to judge it: the one it names, or none.
    pub fn levels(&self) -> Vec<Level> {
        self.at.into_iter().collect()
    }

    /// Share of the requests that must meet every clause: the largest of the clauses' shares, in millionths.
    pub fn target_ppm(&self) -> u32 {
        self.clauses.iter().map(|clause| clause.quantile_ppm).max().unwrap_or(0)
    }
}

impl Metric {
    /// The name in the grammar and of the family of numbers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::Itl => "itl",
            Self::E2e => "e2e",
        }
    }
}

/// As a sentence of the grammar.
impl std::fmt::Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(level) = self.at {
            write!(f, "at {level}: ")?;
        }
        for (index, clause) in self.clauses.iter().enumerate() {
            write!(f, "{}{clause}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}
