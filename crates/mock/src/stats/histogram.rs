use plimsoll_record::Nanos;
use plimsoll_wire::encode::HistogramValues;

/// Seconds: time to first token.
pub(super) const TTFT: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
/// Seconds: between two tokens, and per output token of a request.
pub(super) const TOKEN_TIME: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
/// Seconds: the whole request and its phases.
pub(super) const REQUEST_TIME: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];
/// Tokens computed in a step.
pub(super) const STEP_TOKENS: &[f64] =
    &[1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0];
/// Answers per request.
pub(super) const PARAMS_N: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];
/// Preemptions of a request.
pub(super) const PREEMPTIONS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0];

/// 1, 2, 5, 10, 20, ... up to the model's length.
pub(super) fn token_bounds(max_model_len: u32) -> Vec<f64> {
    let decades = (0..10).map(|exponent| 10_u64.pow(exponent));
    decades
        .flat_map(|decade| [decade, 2 * decade, 5 * decade])
        .take_while(|bound| *bound <= u64::from(max_model_len))
        .map(|bound| bound as f64)
        .collect()
}

/// A histogram of whole numbers: tokens, or nanoseconds shown as seconds. The sum is exact.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: Vec<f64>,
    counts: Vec<u64>,
    sum: u128,
    unit: f64,
}

impl Histogram {
    pub(super) fn of_times(bounds: &[f64]) -> Self {
        Self::new(bounds, 1e9)
    }

    pub(super) fn of_counts(bounds: &[f64]) -> Self {
        Self::new(bounds, 1.0)
    }

    fn new(bounds: &[f64], unit: f64) -> Self {
        Self { bounds: bounds.to_vec(), counts: vec![0; bounds.len() + 1], sum: 0, unit }
    }

    pub(super) fn observe_time(&mut self, time: Nanos) {
        self.observe(time.0);
    }

    pub(super) fn observe(&mut self, value: u64) {
        let shown = value as f64 / self.unit;
        let bucket = self.bounds.partition_point(|bound| *bound < shown);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum += u128::from(value);
    }

    pub(super) fn values(&self) -> HistogramValues<'_> {
        HistogramValues { bounds: &self.bounds, counts: &self.counts, sum: self.sum as f64 / self.unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let mut times = Histogram::of_times(&[0.3, 0.5]);
        for ms in [300, 301, 500, 501] {
            times.observe_time(Nanos::from_millis(ms));
        }
        assert_eq!(times.values().counts, [1, 2, 1]);
        assert!((times.values().sum - 1.602).abs() < 1e-12);
    }

    #[test]
    fn token_bounds_end_at_the_model_length() {
        assert_eq!(token_bounds(2048).last(), Some(&2000.0));
        assert_eq!(token_bounds(2000).last(), Some(&2000.0));
        assert_eq!(token_bounds(1), [1.0]);
        assert_eq!(token_bounds(u32::MAX).last(), Some(&2e9));
    }
}
