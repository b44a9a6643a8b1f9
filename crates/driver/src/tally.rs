use crate::{control::Ended, sorted::Sorted};
use hdrhistogram::Histogram;
use plimsoll_record::{FailureKind, Nanos, Outcome};

/// How far a level is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Requests begun; in an open loop those that were due.
    pub started: u64,
    /// Requests ended, failures included.
    pub ended: u64,
    /// Of these, failures.
    pub failed: u64,
    /// In an open loop with a cap on requests in flight: due, and in line for it.
    pub waiting: u64,
    /// Output tokens of ended requests, as far as known.
    pub output_tokens: u64,
    /// Median time to the first token of ended requests, to about 1 %: for a live view, not for a report.
    pub ttft_p50: Option<Nanos>,
    /// `t0`.
    pub window_open: Option<Nanos>,
    /// `t1`.
    pub window_close: Option<Nanos>,
    /// Measured requests begun.
    pub measured: u32,
}

impl Progress {
    /// Requests sent and not ended.
    pub const fn in_flight(&self) -> u64 {
        self.started.saturating_sub(self.ended).saturating_sub(self.waiting)
    }
}

/// Failures since the last success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureRow {
    /// How many.
    pub count: u32,
    /// Kind of the last one.
    pub last_kind: Option<FailureKind>,
    /// What the last one said.
    pub last: Option<String>,
}

/// What a level's requests came to so far.
#[derive(Debug)]
pub struct Tally {
    pub progress: Progress,
    pub row: FailureRow,
    /// Durations of successful requests.
    durations: Sorted,
    /// Times to the first token, microseconds: bounded in memory however long the level runs.
    ttfts: Histogram<u64>,
}

impl Tally {
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "the bounds are constants within the documented limits")]
        let ttfts = Histogram::new_with_bounds(1, 24 * 3_600_000_000, 2).expect("constant bounds");
        Self {
            progress: Progress::default(),
            row: FailureRow::default(),
            durations: Sorted::default(),
            ttfts,
        }
    }

    pub fn note(&mut self, ended: &Ended<'_>) {
        self.progress.ended += 1;
        self.progress.output_tokens += u64::from(ended.output_tokens.unwrap_or(0));
        if let Some(ttft) = ended.ttft {
            self.ttfts.saturating_record(ttft.0 / 1000);
        }
        match ended.outcome {
            Outcome::Ok => {
                self.row = FailureRow::default();
                self.durations.insert(ended.duration);
            }
            Outcome::Failed { kind, message } => {
                self.progress.failed += 1;
                self.row.count += 1;
                self.row.last_kind = Some(*kind);
                self.row.last = Some(format!("{kind}: {message}"));
            }
        }
    }

    pub fn ttft_p50(&self) -> Option<Nanos> {
        (!self.ttfts.is_empty()).then(|| Nanos(self.ttfts.value_at_quantile(0.5).saturating_mul(1000)))
    }

    pub fn median(&self) -> Option<Nanos> {
        self.durations.get(self.durations.len() / 2)
    }

    pub fn p95(&self) -> Option<Nanos> {
        let rank = (self.durations.len() * 95).div_ceil(100);
        self.durations.get(rank.saturating_sub(1))
    }
}
