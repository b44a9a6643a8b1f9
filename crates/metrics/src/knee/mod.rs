//! Where throughput stops to follow the load.
//!
//! Elasticity is `d ln X / d ln N`. In a closed loop without think time response time is `N / X`, so Kleinrock's power
//! `X / R = X² / N` is largest where the elasticity is one half: below it more users pay in latency more than they gain.
//! In an open loop the knee is saturation: the lowest rate at which the server falls behind, so that the backlog grows.

pub mod refine;
mod saturation;

use crate::summary::{Elasticity, Knee, KneeState};
use plimsoll_record::Level;

/// The elasticity at the knee.
pub const THRESHOLD: f64 = 0.5;

/// Levels closer than this ratio give too noisy a slope.
const RATIO: f64 = 1.5;

/// Throughput that never rises by more than this over the lowest level is flat.
const FLAT: f64 = 1.1;

/// Finds the knee from `(level, output tokens per second)`; repeats of a level are averaged in the logarithm.
/// Throughputs that are not positive and finite are left out. `behind` are the rates at which the backlog grew.
///
/// It is sought within one kind of level, the one with more levels; at as many, among the concurrencies.
pub fn find(observations: &[(Level, f64)], behind: &[Level]) -> Knee {
    let (rates, slots): (Vec<Point>, Vec<Point>) =
        log_means(observations).into_iter().partition(|point| point.level.is_open_loop());
    let levels = if rates.len() > slots.len() { rates } else { slots };
    let elasticities: Vec<Elasticity> = pairs(&levels)
        .iter()
        .map(|(a, b)| Elasticity {
            from: a.level,
            to: b.level,
            value: (b.log_x - a.log_x) / (libm::log(b.level.value()) - libm::log(a.level.value())),
        })
        .collect();
    if levels.iter().any(|point| point.level.is_open_loop()) {
        return saturation::find(&levels, elasticities, behind);
    }
    let state = state(&levels, &elasticities);
    Knee { text: text(state, &levels, &elasticities), state, elasticities }
}

#[derive(Clone, Copy, Debug)]
struct Point {
    level: Level,
    log_x: f64,
}

fn log_means(observations: &[(Level, f64)]) -> Vec<Point> {
    let mut logs: Vec<(Level, f64)> = observations
        .iter()
        .filter(|(level, x)| level.value() > 0.0 && *x > 0.0 && x.is_finite())
        .map(|(level, x)| (*level, libm::log(*x)))
        .collect();
    logs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    logs.chunk_by(|a, b| a.0 == b.0)
        .filter_map(|level| {
            let sum: f64 = level.iter().map(|(_, log)| log).sum();
            level.first().map(|(name, _)| Point { level: *name, log_x: sum / level.len() as f64 })
        })
        .collect()
}

/// Each level with the next one that is far enough above it.
fn pairs(levels: &[Point]) -> Vec<(Point, Point)> {
    levels.iter().filter_map(|a| levels.iter().find(|b| apart(a.level, b.level)).map(|b| (*a, *b))).collect()
}

fn apart(a: Level, b: Level) -> bool {
    b.value() >= RATIO * a.value()
}

fn state(levels: &[Point], elasticities: &[Elasticity]) -> KneeState {
    let (Some(lowest), Some(highest)) = (levels.first(), levels.last()) else {
        return KneeState::CannotJudge;
    };
    if elasticities.is_empty() {
        return KneeState::CannotJudge;
    }
    let most = levels.iter().map(|point| point.log_x).fold(f64::NEG_INFINITY, f64::max);
    if most - lowest.log_x < libm::log(FLAT) {
        return KneeState::SaturatedAtLowest { lowest: lowest.level };
    }
    let Some(bend) = elasticities.iter().find(|elasticity| elasticity.value < THRESHOLD) else {
        return KneeState::NoneInRange { highest: highest.level };
    };
    // A knee inside a pair bends the slope of the pair above it, so that the bracket reaches one level further down.
    let low = levels.iter().rev().find(|point| apart(point.level, bend.from)).unwrap_or(lowest).level;
    KneeState::Bracket { low, high: bend.to }
}

fn text(state: KneeState, levels: &[Point], elasticities: &[Elasticity]) -> String {
    match state {
        KneeState::Bracket { low, high } => {
            let bend = elasticities.iter().find(|elasticity| elasticity.value < THRESHOLD);
            let slope = bend.map_or_else(String::new, |e| {
                format!(
                    ": from {} to {} output tok/s grows with elasticity {:.2}, under {THRESHOLD}",
                    e.from, e.to, e.value
                )
            });
            format!("The knee lies between {low} and {high} in flight{slope}.")
        }
        KneeState::NoneInRange { highest } => format!(
            "No knee in range: output tok/s still follows concurrency at {highest}. The knee is at {highest} or above; test higher levels."
        ),
        KneeState::SaturatedAtLowest { lowest } => format!(
            "Saturated at the lowest level: no level gives 10 % more output tok/s than {lowest} in flight. The knee is at {lowest} or below; test lower levels."
        ),
        KneeState::CannotJudge => format!(
            "The knee cannot be judged: it needs two levels with a valid output tok/s, one at least {RATIO} times the other; there are {}.",
            levels.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By numbers instead of levels.
    fn find(observations: &[(u32, f64)]) -> Knee {
        let levels: Vec<(Level, f64)> = observations.iter().map(|(n, x)| (Level::from(*n), *x)).collect();
        super::find(&levels, &[])
    }

    fn bracket(low: u32, high: u32) -> KneeState {
        KneeState::Bracket { low: low.into(), high: high.into() }
    }

    fn holds(state: KneeState, truth: f64) -> bool {
        matches!(state, KneeState::Bracket { low, high } if low.value() <= truth && truth <= high.value())
    }

    const DOUBLING: [u32; 6] = [1, 2, 4, 8, 16, 32];

    fn on(levels: &[u32], law: impl Fn(f64) -> f64) -> KneeState {
        find(&levels.iter().map(|n| (*n, law(f64::from(*n)))).collect::<Vec<_>>()).state
    }

    #[test]
    fn known_truths() {
        let hard = |knee: f64| move |n: f64| 100.0 * n.min(knee);
        // A decode step of fixed cost plus a part per sequence, with a cap on the batch.
        let engine = |cap: f64| move |n: f64| n.min(cap) / (0.02 + 0.0005 * n.min(cap));
        assert_eq!(on(&DOUBLING, hard(8.0)), bracket(4, 16));
        assert_eq!(on(&DOUBLING, hard(10.0)), bracket(4, 16));
        assert_eq!(on(&DOUBLING, engine(16.0)), bracket(8, 32));
        assert_eq!(on(&DOUBLING, engine(256.0)), KneeState::NoneInRange { highest: 32.into() });
        assert_eq!(on(&DOUBLING, |n| 10.0 * n), KneeState::NoneInRange { highest: 32.into() });
        assert_eq!(on(&DOUBLING, |_| 70.0), KneeState::SaturatedAtLowest { lowest: 1.into() });
        assert_eq!(on(&DOUBLING, |n| 70.0 / n), KneeState::SaturatedAtLowest { lowest: 1.into() });
        assert_eq!(on(&DOUBLING, hard(1.3)), bracket(1, 2));
        // Gunther's law of scalability with its largest power at 8.
        let usl = |n: f64| 10.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.004 * n * (n - 1.0));
        assert!(holds(on(&DOUBLING, usl), 8.0));
    }

    /// The answer must not move with the range of the sweep.
    #[test]
    fn a_longer_sweep_gives_the_same_knee() {
        let concave = |n: f64| 1000.0 * n / (n + 16.0);
        let levels: Vec<u32> = (0..=9).map(|k| 1 << k).collect();
        let answers: Vec<_> = (7..=10).map(|k| on(&levels[..k], concave)).collect();
        assert_eq!(answers, vec![answers[0]; 4]);
        assert!(holds(answers[0], 16.0));
    }

    #[test]
    fn close_levels_use_a_wider_pair() {
        let knee = find(&[1, 2, 4, 8, 10, 16].map(|n| (n, f64::from(n.min(4)))));
        assert_eq!(
            knee.elasticities.iter().map(|e| (e.from, e.to)).collect::<Vec<_>>(),
            [(1, 2), (2, 4), (4, 8), (8, 16), (10, 16)].map(|(a, b): (u32, u32)| (a.into(), b.into()))
        );
        assert_eq!(knee.state, bracket(2, 8));
    }

    #[test]
    fn too_little() {
        for observations in [
            &[][..],
            &[(4, 10.0)],
            &[(4, 10.0), (4, 11.0)],
            &[(4, 10.0), (5, 11.0)],
            &[(4, f64::NAN), (8, -1.0)],
        ] {
            assert_eq!(find(observations).state, KneeState::CannotJudge, "{observations:?}");
        }
    }

    /// Seeded noise of 3 %, three repeats: the bracket holds the truth, and a straight line has no knee.
    #[test]
    fn brackets_hold_the_truth_under_noise() {
        let mut state = 7_u64;
        let mut noise = || {
            let sum: f64 = (0..12)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 11) as f64 / (1_u64 << 53) as f64
                })
                .sum();
            1.0 + 0.03 * (sum - 6.0)
        };
        for truth in [3.0, 4.0, 6.0, 8.0, 10.0] {
            let held = (0..500)
                .filter(|_| {
                    let sweep: Vec<(u32, f64)> = DOUBLING
                        .iter()
                        .flat_map(|n| [*n; 3])
                        .map(|n| (n, 100.0 * f64::from(n).min(truth) * noise()))
                        .collect();
                    holds(find(&sweep).state, truth)
                })
                .count();
            assert!(held >= 475, "{truth}: {held} of 500");
        }
        let false_knees = (0..500)
            .filter(|_| {
                let sweep: Vec<(u32, f64)> =
                    DOUBLING.iter().map(|n| (*n, 100.0 * f64::from(*n) * noise())).collect();
                !matches!(find(&sweep).state, KneeState::NoneInRange { .. })
            })
            .count();
        assert!(false_knees <= 10, "{false_knees} of 500");
    }

    #[test]
    fn one_kind_of_level_at_a_time() {
        let rate = |per_second| Level::Rate(plimsoll_record::Rate::new(per_second).unwrap());
        let slots = [1_u32, 2, 4].map(|n| (Level::from(n), f64::from(n)));
        let mixed: Vec<_> = slots.into_iter().chain([(rate(8.0), 1.0), (rate(16.0), 1.0)]).collect();
        assert_eq!(super::find(&mixed, &[rate(8.0)]).state, KneeState::NoneInRange { highest: 4.into() });
        assert_eq!(super::find(&mixed[2..], &[]).state, KneeState::NoneInRange { highest: rate(16.0) });
    }
}
