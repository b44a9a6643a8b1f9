//! Which level to measure next, so that the bracket around the knee becomes narrow.

use crate::summary::{Knee, KneeState};
use plimsoll_record::{Level, Rate};

/// The ratio of the bracket's edges at which refinement ends unless told otherwise.
pub const TARGET_RATIO: f64 = 1.25;

/// Finer than this nothing is refined, whatever was asked: levels so close cannot be told apart.
const LEAST_RATIO: f64 = 1.02;

/// What to do for a narrower bracket.
#[derive(Clone, Debug, PartialEq)]
pub enum Refinement {
    /// Measure this level, which was not measured yet.
    Measure(Level),
    /// Nothing, for this reason, a sentence.
    Done(String),
}

/// The level to measure next, or none; [`refine`] also tells why there is none.
pub fn next_level(knee: &Knee, measured: &[Level], ratio: f64) -> Option<Level> {
    match refine(knee, measured, ratio) {
        Refinement::Measure(level) => Some(level),
        Refinement::Done(_) => None,
    }
}

/// The geometric midpoint of the widest gap between measured levels inside the knee's bracket, until the edges of the
/// bracket are at most `ratio` (> 1, dimensionless) apart: a whole number of slots that was not measured, or a rate of
/// three digits.
///
/// The bracket of a closed loop spans two steps, the one that bends and the one below it, so that its gaps are split
/// until they are at most the square root of `ratio`; that of an open loop is one step. Each answer was not in
/// `measured` and lies strictly inside the bracket, so that refinement ends for every course of the knee.
/// `measured` may be in any order, with repeats and with levels of the other kind.
pub fn refine(knee: &Knee, measured: &[Level], ratio: f64) -> Refinement {
    let (low, high) = match knee.state {
        KneeState::Bracket { low, high } => (low, high),
        KneeState::NoneInRange { .. } => return done("There is no knee in the range to refine."),
        KneeState::SaturatedAtLowest { .. } => {
            return done("The knee is at the lowest level or below it, outside of the range.");
        }
        KneeState::CannotJudge => return done("The knee cannot be judged, so there is nothing to refine."),
    };
    let ratio = if ratio > LEAST_RATIO { ratio } else { LEAST_RATIO };
    let width = high.value() / low.value();
    // Also false for a bracket that no sweep can give, its edges of two kinds or in the wrong order.
    if low.is_open_loop() != high.is_open_loop() || width.is_nan() || width <= ratio {
        return Refinement::Done(format!(
            "The bracket from {low} to {high} is narrow enough: its edges are at most {ratio} times apart."
        ));
    }
    let step = if low.is_open_loop() { ratio } else { libm::sqrt(ratio) };
    let mut levels: Vec<Level> =
        measured.iter().copied().filter(|level| (low..=high).contains(level)).chain([low, high]).collect();
    levels.sort_unstable();
    levels.dedup();
    let widest = levels
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] if b.value() / a.value() > step => {
                between(*a, *b).map(|middle| (b.value() / a.value(), middle))
            }
            _ => None,
        })
        // The first of equals: the lower one.
        .reduce(|widest, gap| if gap.0 > widest.0 { gap } else { widest });
    match widest {
        Some((_, level)) => Refinement::Measure(level),
        None => Refinement::Done(format!(
            "The levels between {low} and {high} are as close as they need to be, or as whole numbers can be."
        )),
    }
}

/// The geometric midpoint, strictly between; None when no level is.
fn between(a: Level, b: Level) -> Option<Level> {
    let middle = libm::sqrt(a.value()) * libm::sqrt(b.value());
    let level = match (a, b) {
        (Level::Concurrency(a), Level::Concurrency(b)) => {
            let (least, most) = (a.checked_add(1)?, b.checked_sub(1)?);
            if least > most {
                return None;
            }
            Level::Concurrency((libm::round(middle) as u32).clamp(least, most))
        }
        _ => Level::Rate(
            Rate::new(three_digits(middle))
                .filter(|rate| a < (*rate).into() && b > (*rate).into())
                .or_else(|| Rate::new(middle))?,
        ),
    };
    (a < level && level < b).then_some(level)
}

/// Rates that are read and typed by people.
fn three_digits(value: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(value)) - 2.0);
    libm::round(value / unit) * unit
}

fn done(reason: &str) -> Refinement {
    Refinement::Done(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn knee(state: KneeState) -> Knee {
        Knee { state, elasticities: Vec::new(), text: String::new() }
    }

    fn bracket(low: impl Into<Level>, high: impl Into<Level>) -> Knee {
        knee(KneeState::Bracket { low: low.into(), high: high.into() })
    }

    fn rate(per_second: f64) -> Level {
        Level::Rate(Rate::new(per_second).unwrap())
    }

    fn next(knee: &Knee, measured: &[u32]) -> Option<u32> {
        let measured: Vec<Level> = measured.iter().map(|n| Level::from(*n)).collect();
        next_level(knee, &measured, TARGET_RATIO).and_then(Level::concurrency)
    }

    #[test]
    fn the_widest_gap_is_split_at_its_geometric_midpoint() {
        // sqrt(4 * 8) = 5.66, sqrt(8 * 16) = 11.3, sqrt(6 * 8) = 6.9.
        assert_eq!(next(&bracket(4, 16), &[1, 2, 4, 8, 16, 32]), Some(6));
        assert_eq!(next(&bracket(4, 16), &[1, 2, 4, 6, 8, 16, 32]), Some(11));
        assert_eq!(next(&bracket(6, 11), &[11, 6, 8, 16, 4, 8]), Some(9));
        assert_eq!(next(&bracket(6, 9), &[6, 8, 9]), Some(7));
        assert_eq!(next(&bracket(100, 400), &[]), Some(200));
        // No whole number is left between 7, 8 and 9, and 8 to 10 is near enough.
        assert_eq!(next(&bracket(7, 9), &[7, 8, 9]), None);
        assert_eq!(next(&bracket(8, 10), &[8, 10]), None);
        assert_eq!(next(&bracket(1, 2), &[]), None);
    }

    #[test]
    fn rates_likewise() {
        let between = |low: f64, high: f64| next_level(&bracket_of(low, high), &[], TARGET_RATIO);
        let bracket_of_rates = between(2.0, 4.0);
        assert_eq!(bracket_of_rates, Some(rate(2.83)));
        assert_eq!(between(2.0, 2.5), None);
        assert_eq!(between(2000.0, 4000.0), Some(rate(2830.0)));
        assert_eq!(between(0.000_001, 0.000_002), None);
        assert_eq!(between(0.000_001, 0.000_004), Some(rate(0.000_002)));
    }

    fn bracket_of(low: f64, high: f64) -> Knee {
        bracket(rate(low), rate(high))
    }

    #[test]
    fn without_a_bracket_there_is_nothing_to_refine() {
        for state in [
            KneeState::NoneInRange { highest: 32.into() },
            KneeState::SaturatedAtLowest { lowest: 1.into() },
            KneeState::CannotJudge,
            KneeState::Bracket { low: 8.into(), high: 4.into() },
            KneeState::Bracket { low: 8.into(), high: rate(4.0) },
            KneeState::Bracket { low: 0.into(), high: 0.into() },
        ] {
            let measured = [1, 32].map(Level::Concurrency);
            assert_eq!(next_level(&knee(state), &measured, TARGET_RATIO), None, "{state:?}");
            assert!(
                matches!(refine(&knee(state), &measured, TARGET_RATIO), Refinement::Done(text) if text.ends_with('.'))
            );
        }
    }

    proptest! {
        /// Whatever the bracket, the levels and the ratio are, an answer is new and inside, and there is an end.
        #[test]
        fn it_ends(low in 0_u32..2000, width in 0_u32..2000, open: bool, ratio in prop_oneof![Just(f64::NAN), -1.0..3.0_f64], measured in proptest::collection::vec(0_u32..4000, 0..8)) {
            let level = |n: u32| if open { rate(f64::from(n.max(1)) / 7.0) } else { n.into() };
            let knee = bracket(level(low), level(low + width));
            let mut measured: Vec<Level> = measured.into_iter().map(level).collect();
            let mut steps = 0;
            while let Some(next) = next_level(&knee, &measured, ratio) {
                prop_assert!(!measured.contains(&next));
                prop_assert!(level(low) < next && next < level(low + width));
                measured.push(next);
                steps += 1;
                prop_assert!(steps <= 2048);
            }
        }
    }
}
