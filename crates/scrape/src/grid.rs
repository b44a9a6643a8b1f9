use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use std::time::Duration;
use tokio::time::Instant;

/// Where an interval is longer than the clock can count.
const FAR: Duration = Duration::from_hours(24 * 365);

/// When ticks are due: every `interval` from `start` on, each late by a drawn part of it, less than a tenth.
#[derive(Debug)]
pub struct Grid {
    start: Instant,
    interval: Duration,
    number: u32,
    draws: ChaCha8Rng,
    due: Instant,
}

impl Grid {
    pub fn new(start: Instant, interval: Duration, seed: u64) -> Self {
        // An interval of zero would never let the clock advance.
        let interval = interval.max(Duration::from_millis(1));
        let mut grid =
            Self { start, interval, number: 0, draws: ChaCha8Rng::seed_from_u64(seed), due: start };
        grid.due = grid.draw();
        grid
    }

    /// The next tick.
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Goes on to the first tick after `now`; those between are skipped.
    pub fn advance(&mut self, now: Instant) {
        while self.due <= now && self.number < u32::MAX {
            self.number += 1;
            self.due = self.draw();
        }
    }

    fn draw(&mut self) -> Instant {
        let span = u64::try_from(self.interval.as_nanos() / 10).unwrap_or(u64::MAX).max(1);
        let late = Duration::from_nanos(self.draws.next_u64() % span);
        let after = self.interval.saturating_mul(self.number).saturating_add(late);
        self.start.checked_add(after).unwrap_or_else(|| self.start + FAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(seed: u64, count: u32) -> Vec<Duration> {
        let start = Instant::now();
        let mut grid = Grid::new(start, Duration::from_millis(500), seed);
        (0..count)
            .map(|_| {
                let due = grid.due();
                grid.advance(due);
                due - start
            })
            .collect()
    }

    #[test]
    fn ticks_are_late_by_less_than_a_tenth_and_do_not_drift() {
        let whole = (0..).map(|n| 500 * n);
        let late: Vec<u128> =
            dues(1, 100).iter().zip(whole).map(|(due, whole)| due.as_millis() - whole).collect();
        assert!(late.iter().all(|late| *late < 50), "{late:?}");
        assert!(late.iter().max() > Some(&40) && late.iter().min() < Some(&10), "{late:?}");
    }

    #[test]
    fn a_seed_decides() {
        assert_eq!(dues(7, 20), dues(7, 20));
        assert_ne!(dues(7, 20), dues(8, 20));
    }

    #[test]
    fn missed_ticks_are_skipped() {
        let start = Instant::now();
        let mut grid = Grid::new(start, Duration::from_millis(100), 3);
        grid.advance(start + Duration::from_millis(450));
        let due = grid.due() - start;
        assert!((500..510).contains(&due.as_millis()), "{due:?}");
    }
}
