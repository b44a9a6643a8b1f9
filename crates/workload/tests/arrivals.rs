//! Arrival times: the draws against an independent implementation, the laws against `SciPy`'s.
#![expect(clippy::unwrap_used, reason = "what tests share")]
#![expect(
    clippy::unreadable_literal,
    clippy::approx_constant,
    reason = "figures as the other implementation prints them"
)]

use plimsoll_record::{Nanos, Rate};
use plimsoll_workload::ArrivalTimes;
use proptest::prelude::*;
use std::time::Duration;

const SEED: u64 = 7;

fn times(process: &str, rate: f64, seed: u64, repeat: u32) -> ArrivalTimes {
    ArrivalTimes::new(process.parse().unwrap(), Rate::new(rate).unwrap(), 0, None, seed, repeat).unwrap()
}

fn ramp(process: &str, rate: f64, warmup: u32, window: Duration, repeat: u32) -> ArrivalTimes {
    let rate = Rate::new(rate).unwrap();
    ArrivalTimes::new(process.parse().unwrap(), rate, warmup, Some(window), SEED, repeat).unwrap()
}

/// In units of the mean gap.
fn gaps(process: &str, rate: f64, n: usize) -> Vec<f64> {
    let mut last = 0;
    let gap = |Nanos(at)| {
        let gap = (at - last) as f64 * rate / 1e9;
        last = at;
        gap
    };
    times(process, rate, 3, 0).take(n).map(gap).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Coefficient of variation.
fn cv(values: &[f64]) -> f64 {
    let mean = mean(values);
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    square.sqrt() / mean
}

/// Seed 7, repeat 1, 50/s; from a Python program that spells out the key (xxh3-128), `ChaCha8`, and each law, and inverts
/// the ramps by root finding.
#[test]
fn first_arrivals_are_those_of_an_independent_implementation() {
    let stationary: [(&str, f64, [u64; 6]); 7] = [
        (
            "constant",
            3.0,
            [333_333_333, 666_666_667, 1_000_000_000, 1_333_333_333, 1_666_666_667, 2_000_000_000],
        ),
        ("poisson", 50.0, [5_283_910, 14_156_418, 17_417_210, 21_514_096, 59_169_742, 64_771_780]),
        ("gamma:0.25", 50.0, [19_208_853, 24_487_180, 24_533_640, 53_943_639, 54_709_457, 56_768_784]),
        ("gamma:4", 50.0, [14_294_168, 36_393_729, 49_771_480, 70_129_749, 83_959_282, 98_745_500]),
        ("weibull:0.542693", 50.0, [990_126, 3_563_229, 3_970_056, 4_589_602, 41_508_666, 42_611_415]),
        (
            "on-off:20/1,50ms,200ms",
            50.0,
            [15_651_802, 35_316_855, 95_092_025, 95_881_884, 99_125_722, 101_821_580],
        ),
        (
            "on-off:20/0,50ms,200ms",
            50.0,
            [89_377_239, 96_908_368, 98_028_776, 98_686_992, 235_687_124, 240_115_880],
        ),
    ];
    let same = |made: ArrivalTimes, golden: &[u64], what: &str| {
        for (Nanos(made), golden) in made.zip(golden) {
            // The last bit of a logarithm may differ.
            assert!(made.abs_diff(*golden) <= 1, "{what}: {made} for {golden}");
        }
    };
    for (process, rate, golden) in stationary {
        same(times(process, rate, SEED, 1), &golden, process);
    }
    let linear = [
        52_839_095,
        141_564_176,
        170_424_074,
        199_852_223,
        365_677_302,
        383_757_836,
        393_960_660,
        433_160_538,
    ];
    same(ramp("ramp:5", 50.0, 2, Duration::from_secs(1), 1), &linear, "linear");
    let exponential = [528_391, 1_415_642, 1_747_999, 2_184_452, 7_758_938, 9_007_317, 9_834_172, 14_419_583];
    let made = ramp("ramp:500:exponential", 50.0, 2, Duration::from_millis(20), 1);
    same(made, &exponential, "exponential");
}

#[test]
fn constant_has_a_coefficient_of_variation_of_zero() {
    assert!(gaps("constant", 1000.0, 5000).iter().all(|gap| (gap - 1.0).abs() < 1e-12));
    let third = times("constant", 3.0, 1, 0).nth(2_999_999);
    assert_eq!(third, Some(Nanos(1_000_000_000_000_000)), "roundings do not add up");
}

/// Chi-square over twenty equally likely classes, whose bounds are `ppf` of scipy.stats' gamma, `weibull_min` and expon.
#[test]
fn gaps_follow_their_laws() {
    let laws: [(&str, [f64; 19], f64); 4] = [
        (
            "gamma:0.25",
            [
                1.687e-05,
                0.000270002,
                0.00136719,
                0.00432354,
                0.0105687,
                0.0219652,
                0.0408468,
                0.0700895,
                0.113235,
                0.174695,
                0.260092,
                0.376823,
                0.535037,
                0.749393,
                1.0425,
                1.45234,
                2.05075,
                3.00157,
                4.84046,
            ],
            2.0,
        ),
        (
            "gamma:4",
            [
                0.34158, 0.436192, 0.509775, 0.574197, 0.63383, 0.690928, 0.746911, 0.802831, 0.859579,
                0.918015, 0.979064, 1.04382, 1.11367, 1.19056, 1.27736, 1.37876, 1.50338, 1.6702, 1.93841,
            ],
            0.5,
        ),
        (
            "weibull:0.542693",
            [
                0.00241509, 0.00909876, 0.0202218, 0.0362675, 0.0579183, 0.0860689, 0.121876, 0.166841,
                0.222933, 0.292787, 0.380006, 0.489663, 0.629167, 0.809853, 1.05014, 1.38257, 1.87194,
                2.67484, 4.34401,
            ],
            2.0,
        ),
        (
            "poisson",
            [
                0.0512933, 0.105361, 0.162519, 0.223144, 0.287682, 0.356675, 0.430783, 0.510826, 0.597837,
                0.693147, 0.798508, 0.916291, 1.04982, 1.20397, 1.38629, 1.60944, 1.89712, 2.30259, 2.99573,
            ],
            1.0,
        ),
    ];
    let n = 40_000;
    for (process, bounds, law_cv) in laws {
        let gaps = gaps(process, 2.0, n);
        let mut counts = [0_u32; 20];
        for gap in &gaps {
            counts[bounds.partition_point(|bound| bound < gap)] += 1;
        }
        let expected = n as f64 / 20.0;
        let distance: f64 =
            counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        // The 0.999 quantile of chi-square with 19 degrees of freedom.
        assert!(distance < 43.82, "{process}: {distance}");
        assert!((mean(&gaps) - 1.0).abs() < 5.0 * law_cv / (n as f64).sqrt(), "{process}: {}", mean(&gaps));
        assert!((cv(&gaps) / law_cv - 1.0).abs() < 0.05, "{process}: {}", cv(&gaps));
    }
}

#[test]
fn gaps_are_not_rescaled_to_a_total() {
    assert_ne!(times("poisson", 50.0, 3, 0).nth(99), Some(Nanos(2_000_000_000)));
}

/// Rates 20 and 0, both states 5 s on average: the index of dispersion of counts tends to 51; over t seconds it is
/// 1 + 50 (1 − (1 − exp(−r t)) / (r t)) with r = 1/5 + 1/5.
#[test]
fn on_off_counts_are_as_dispersed_as_the_formula_says() {
    let (bins, length) = (2000_usize, 100.0);
    let mut counts = vec![0.0; bins];
    for Nanos(at) in times("on-off:20/0,5s,5s", 10.0, 3, 0) {
        let Some(count) = counts.get_mut((at as f64 / (length * 1e9)) as usize) else { break };
        *count += 1.0;
    }
    let mean_count = mean(&counts);
    // Four standard errors of each.
    assert!(
        (mean_count / 1000.0 - 1.0).abs() < 4.0 * (50.0_f64 / 1000.0 / bins as f64).sqrt(),
        "{mean_count}"
    );
    let idc = cv(&counts).powi(2) * mean_count;
    let formula = 1.0 + 50.0 * (1.0 - 1.0 / (0.4 * length));
    assert!((idc / formula - 1.0).abs() < 4.0 * (2.0 / bins as f64).sqrt(), "{idc} for {formula}");
}

/// Both states are as likely at the start as later: the mean rate of the first second is that of all.
#[test]
fn on_off_begins_stationary() {
    let n = 4000;
    let firsts =
        |repeat| times("on-off:20/0,1s,3s", 10.0, 5, repeat).take_while(|at| at.0 < 1_000_000_000).count();
    let total: usize = (0..n).map(firsts).sum();
    // The count of a second has a variance under 10 + 300, by the rates 40 and 0.
    let error = total as f64 / f64::from(n) - 10.0;
    assert!(error.abs() < 4.0 * (310.0 / f64::from(n)).sqrt(), "{error}");
}

/// Expected counts per second by `scipy.integrate.quad` over the rate.
#[test]
fn ramps_have_the_expected_counts_in_each_bin() {
    let ramps: [(&str, [f64; 10]); 2] = [
        (
            "ramp:5",
            [
                7.250000, 11.750000, 16.250000, 20.750000, 25.250000, 29.750000, 34.250000, 38.750000,
                43.250000, 47.750000,
            ],
        ),
        (
            "ramp:5:exponential",
            [
                5.622494, 7.078300, 8.911052, 11.218350, 14.123066, 17.779887, 22.383551, 28.179222,
                35.475538, 44.661056,
            ],
        ),
    ];
    let (n, warmup) = (400_u32, 5);
    for (process, expected) in ramps {
        let mut counts = [0.0; 12];
        let mut before = 0.0;
        for repeat in 0..n {
            let mut times = ramp(process, 50.0, warmup, Duration::from_secs(10), repeat);
            let open = times.by_ref().take(warmup as usize).last().unwrap();
            before += open.as_secs_f64();
            for at in times.take_while(|at| at.0 - open.0 < 12_000_000_000) {
                counts[((at - open).as_secs_f64()) as usize] += 1.0;
            }
        }
        // Ten, and the end's rate after it.
        let expected = expected.into_iter().chain([50.0, 50.0]);
        for (second, (count, expected)) in counts.iter().zip(expected).enumerate() {
            let expected = expected * f64::from(n);
            assert!(
                (count - expected).abs() < 4.0 * expected.sqrt(),
                "{process} {second}: {count}, {expected}"
            );
        }
        // The begin's rate before it: five gaps of 0.2 s.
        assert!((before / f64::from(n) - 1.0).abs() < 4.0 * (0.2 / f64::from(n)).sqrt(), "{before}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let rate = |rate| Rate::new(rate).unwrap();
    let made = |process: &str, rate| ArrivalTimes::new(process.parse().unwrap(), rate, 0, None, 0, 0);
    let error = made("ramp:1", rate(5.0)).unwrap_err();
    assert!(error.is_arrivals() && error.to_string().contains("--duration"), "{error}");
    let error = made("on-off:2/1,1ns,1ns", rate(1.0)).unwrap_err();
    assert!(error.to_string().contains("poisson"), "{error}");
    // As wild as it may be, and none of it hangs.
    for process in ["gamma:0.05", "weibull:0.05", "gamma:1000", "weibull:1000", "on-off:1000000/0,1ns,1s"] {
        assert_eq!(made(process, rate(1e6)).unwrap().take(1000).count(), 1000, "{process}");
    }
    let level = ramp("ramp:2:exponential", 2.0, 0, Duration::from_secs(9), 0);
    let linear = ramp("ramp:2", 2.0, 0, Duration::from_secs(9), 0);
    assert_eq!(
        level.take(100).collect::<Vec<_>>(),
        linear.take(100).collect::<Vec<_>>(),
        "level ramps are Poisson"
    );
}

fn process() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("constant".to_owned()),
        Just("poisson".to_owned()),
        (0.05..20.0).prop_map(|shape: f64| format!("gamma:{shape}")),
        (0.3..20.0).prop_map(|shape: f64| format!("weibull:{shape}")),
        (1_u32..30, 0_u32..3, 1_u32..5000, 1_u32..5000)
            .prop_map(|(high, low, on, off)| format!("on-off:{high}/{low},{on}ms,{off}ms")),
        (1_u32..300).prop_map(|from| format!("ramp:{from}")),
        (1_u32..300).prop_map(|from| format!("ramp:{from}:exponential")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn schedules_rise_and_are_functions_of_seed_level_and_repeat(
        process in process(), rate in 0.5_f64..500.0, warmup in 0_u32..20, seed: u64, repeat in 0_u32..4,
    ) {
        let arrivals: plimsoll_record::Arrivals = process.parse().unwrap();
        let made = |rate: f64, seed, repeat| {
            let window = Some(Duration::from_secs(2));
            let times = ArrivalTimes::new(arrivals, Rate::new(rate).unwrap(), warmup, window, seed, repeat);
            times.unwrap().take(200).collect::<Vec<_>>()
        };
        let first = made(rate, seed, repeat);
        prop_assert!(first.is_sorted());
        prop_assert_eq!(&first, &made(rate, seed, repeat));
        if process != "constant" {
            prop_assert_ne!(&first, &made(rate, seed ^ 1, repeat));
            prop_assert_ne!(&first, &made(rate, seed, repeat + 1));
            // Another level is no stretched copy of this one.
            let other = made(2.0 * rate, seed, repeat);
            let stretched = first.iter().zip(&other).all(|(one, two)| one.0.abs_diff(2 * two.0) <= 2);
            prop_assert!(!stretched);
        }
    }
}
