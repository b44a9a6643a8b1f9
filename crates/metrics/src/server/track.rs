use plimsoll_record::{Nanos, Sample, SampleOutcome};
use std::collections::BTreeMap;

/// The scrapes that worked, by target, in time order.
#[derive(Debug)]
pub(crate) struct Targets<'a> {
    pub tracks: Vec<Vec<&'a Sample>>,
}

/// Why a difference of cumulative values is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fell(pub &'static str);

/// The reason for a counter that went down.
pub(crate) const RESET: &str = "the server's counters went down: it was restarted";

impl<'a> Targets<'a> {
    pub fn of(samples: &'a [Sample]) -> Self {
        let mut targets: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| sample.outcome == SampleOutcome::Ok) {
            targets.entry(&sample.target).or_default().push(sample);
        }
        let mut tracks: Vec<_> = targets.into_values().collect();
        for track in &mut tracks {
            track.sort_by_key(|sample| sample.at_ns);
        }
        Self { tracks }
    }

    /// Growth of a cumulative value between two instants, summed over targets; linear between scrapes.
    pub fn growth(&self, from: Nanos, to: Nanos, read: impl Fn(&Sample) -> Option<f64>) -> Result<f64, Fell> {
        if self.tracks.is_empty() {
            return Err(Fell("the server's metrics were not scraped"));
        }
        self.tracks.iter().map(|track| growth(track, from, to, &read)).sum()
    }
}

/// Growth on one target.
pub(super) fn growth(
    track: &[&Sample],
    from: Nanos,
    to: Nanos,
    read: impl Fn(&Sample) -> Option<f64>,
) -> Result<f64, Fell> {
    let points: Vec<(u64, f64)> = track
        .iter()
        .filter_map(|sample| Some((sample.at_ns.0, read(sample).filter(|value| value.is_finite())?)))
        .collect();
    if points.is_empty() {
        return Err(Fell("the server does not expose it"));
    }
    let start = points.partition_point(|(at, _)| *at <= from.0);
    let end = points.partition_point(|(at, _)| *at < to.0);
    let bracket = start
        .checked_sub(1)
        .and_then(|start| points.get(start..=end))
        .ok_or(Fell("no scrape stands on either side of the window"))?;
    if bracket.windows(2).any(|pair| matches!(pair, [(_, a), (_, b)] if b < a)) {
        return Err(Fell(RESET));
    }
    match (value_at(bracket, from.0), value_at(bracket, to.0)) {
        (Some(from), Some(to)) => Ok((to - from).max(0.0)),
        _ => Err(Fell("no scrape stands on either side of the window")),
    }
}

/// Linear between the neighbouring points; None outside of them.
fn value_at(points: &[(u64, f64)], at: u64) -> Option<f64> {
    let after = points.partition_point(|(t, _)| *t < at);
    let (t1, v1) = *points.get(after)?;
    if t1 == at {
        return Some(v1);
    }
    let (t0, v0) = *points.get(after.checked_sub(1)?)?;
    Some(v0 + (v1 - v0) * ((at - t0) as f64 / (t1 - t0) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ms, sample};
    use plimsoll_record::Counter;

    fn track(values: &[(u64, f64)]) -> Vec<Sample> {
        values
            .iter()
            .map(|(at, value)| {
                let mut sample = sample(*at);
                sample.counters.insert(Counter::GenerationTokens, *value);
                sample
            })
            .collect()
    }

    fn tokens(sample: &Sample) -> Option<f64> {
        sample.counters.get(&Counter::GenerationTokens).copied()
    }

    #[test]
    fn linear_to_the_edges() {
        let samples = track(&[(0, 100.0), (10, 200.0), (20, 400.0), (30, 400.0)]);
        let targets = Targets::of(&samples);
        let grown = |from, to| targets.growth(ms(from), ms(to), tokens);
        assert_eq!(grown(0, 30), Ok(300.0));
        assert_eq!(grown(5, 15), Ok(150.0));
        assert_eq!(grown(10, 20), Ok(200.0));
        assert_eq!(grown(6, 8), Ok(20.0));
        assert!(grown(5, 31).is_err());
    }

    #[test]
    fn a_counter_that_falls_is_no_number() {
        let samples = track(&[(0, 100.0), (10, 3.0), (20, 400.0)]);
        assert_eq!(Targets::of(&samples).growth(ms(0), ms(20), tokens), Err(Fell(RESET)));
        assert_eq!(Targets::of(&samples).growth(ms(10), ms(20), tokens), Ok(397.0));
    }

    #[test]
    fn targets_are_summed() {
        let mut samples = track(&[(0, 0.0), (10, 10.0)]);
        let mut other = track(&[(0, 5.0), (10, 6.0)]);
        for sample in &mut other {
            "http://other/metrics".clone_into(&mut sample.target);
        }
        samples.extend(other);
        assert_eq!(Targets::of(&samples).growth(ms(0), ms(10), tokens), Ok(11.0));
        assert!(Targets::of(&[]).growth(ms(0), ms(10), tokens).is_err());
    }
}
