//! Saturation of an open loop.

use super::Point;
use crate::summary::{Elasticity, Knee, KneeState};
use plimsoll_record::Level;

/// Between the highest rate below which the server keeps up, and the lowest at which its backlog grew. Rising.
pub(super) fn find(levels: &[Point], elasticities: Vec<Elasticity>, behind: &[Level]) -> Knee {
    let state = state(levels, behind);
    Knee { text: text(state, levels, &elasticities), state, elasticities }
}

fn state(levels: &[Point], behind: &[Level]) -> KneeState {
    let (Some(lowest), Some(highest)) = (levels.first(), levels.last()) else {
        return KneeState::CannotJudge;
    };
    let saturated = levels.iter().position(|point| behind.contains(&point.level));
    match saturated.and_then(|index| Some((index.checked_sub(1), levels.get(index)?.level))) {
        None if levels.len() < 2 => KneeState::CannotJudge,
        None => KneeState::NoneInRange { highest: highest.level },
        Some((None, _)) => KneeState::SaturatedAtLowest { lowest: lowest.level },
        Some((Some(below), high)) => {
            KneeState::Bracket { low: levels.get(below).unwrap_or(lowest).level, high }
        }
    }
}

fn text(state: KneeState, levels: &[Point], elasticities: &[Elasticity]) -> String {
    match state {
        KneeState::Bracket { low, high } => {
            let into = elasticities.iter().rev().find(|pair| pair.from <= low && pair.to >= high);
            let slope = into.map_or_else(String::new, |pair| {
                format!(
                    " From {} to {} offered, output tok/s grows with elasticity {:.2}; it would be 1 if it followed.",
                    pair.from, pair.to, pair.value
                )
            });
            format!(
                "Saturation lies between {low} and {high} offered: at {high} the server falls behind and the backlog grows, at {low} it keeps up.{slope}"
            )
        }
        KneeState::NoneInRange { highest } => format!(
            "No saturation in range: the server still keeps up with {highest} offered. Test higher rates."
        ),
        KneeState::SaturatedAtLowest { lowest } => format!(
            "Saturated at the lowest rate: the server falls behind {lowest} offered and the backlog grows. Test lower rates."
        ),
        KneeState::CannotJudge => format!(
            "Saturation cannot be judged: it needs two rates with a valid output tok/s; there are {}.",
            levels.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use plimsoll_record::Rate;

    fn rate(per_second: f64) -> Level {
        Level::Rate(Rate::new(per_second).unwrap())
    }

    /// A server of four requests per second.
    fn on(rates: &[f64], behind: &[f64]) -> Knee {
        let observations: Vec<_> = rates.iter().map(|r| (rate(*r), 100.0 * r.min(4.0))).collect();
        find(&observations, &behind.iter().map(|r| rate(*r)).collect::<Vec<_>>())
    }

    #[test]
    fn between_keeping_up_and_falling_behind() {
        let knee = on(&[1.0, 2.0, 3.5, 5.0, 8.0], &[5.0, 8.0]);
        assert_eq!(knee.state, KneeState::Bracket { low: rate(3.5), high: rate(5.0) });
        assert!(knee.text.contains("between 3.5/s and 5/s offered"), "{}", knee.text);
        assert!(
            knee.text.contains("From 2/s to 3.5/s") || knee.text.contains("elasticity 0.16"),
            "{}",
            knee.text
        );
        assert_eq!(on(&[1.0, 2.0], &[]).state, KneeState::NoneInRange { highest: rate(2.0) });
        assert_eq!(on(&[8.0, 16.0], &[8.0, 16.0]).state, KneeState::SaturatedAtLowest { lowest: rate(8.0) });
        assert_eq!(on(&[8.0], &[8.0]).state, KneeState::SaturatedAtLowest { lowest: rate(8.0) });
        assert_eq!(on(&[2.0], &[]).state, KneeState::CannotJudge);
    }
}
