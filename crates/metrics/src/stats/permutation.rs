//! The permutation test of a ratio.

use super::ratio::logs;

/// Most assignments that are counted out: those of 10 against 10.
pub const MOST: u64 = 184_756;

/// Two-sided p of Fisher and Pitman's permutation test for the ratio of geometric means: the share of all assignments
/// of the values to samples of these sizes whose ratio is as far from 1 as the one seen, or farther.
///
/// None when a sample is empty, a value has no logarithm, or there are more than [`MOST`] assignments.
pub fn ratio_p(a: &[f64], b: &[f64]) -> Option<f64> {
    let (x, y) = (logs(a)?, logs(b)?);
    let assignments = assignments(x.len() + y.len(), y.len()).filter(|count| *count <= MOST)?;
    let mut all = x;
    let of_a = all.len();
    all.extend(y);
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    // Around their common mean, the difference of the means is a multiple of the sum over `b` alone.
    for log in &mut all {
        *log -= mean;
    }
    let seen: f64 = all.iter().skip(of_a).sum();
    // Equal sums differ by rounding.
    let slack = 1e-12 * all.iter().map(|log| log.abs()).sum::<f64>();
    let mut far = 0_u64;
    let mut chosen: Vec<usize> = (0..all.len() - of_a).collect();
    loop {
        let sum: f64 = chosen.iter().filter_map(|index| all.get(*index)).sum();
        far += u64::from(sum.abs() >= seen.abs() - slack);
        if !next(&mut chosen, all.len()) {
            break;
        }
    }
    Some(far as f64 / assignments as f64)
}

/// The next choice of indices below `n` in lexical order; false after the last.
fn next(chosen: &mut [usize], n: usize) -> bool {
    let k = chosen.len();
    let Some(at) = (0..k).rev().find(|at| chosen.get(*at).is_some_and(|index| *index < n - k + at)) else {
        return false;
    };
    let from = chosen.get(at).copied().unwrap_or_default() + 1;
    chosen.iter_mut().skip(at).zip(from..).for_each(|(index, value)| *index = value);
    true
}

/// `C(n, k)`; None when it is beyond what is counted out anyway.
fn assignments(n: usize, k: usize) -> Option<u64> {
    let k = k.min(n - k);
    let mut count = 1_u64;
    for step in 1..=k {
        count = count.checked_mul((n - k + step) as u64)? / step as u64;
        if count > MOST {
            return None;
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_assignment_in_python() {
        for (a, b, expected) in [
            (&[1.2, 1.5, 1.1, 1.9][..], &[1.6, 2.1, 2.2, 1.8][..], 0.085_714_285_714_285_72),
            (
                &[100.0, 101.0, 99.0, 102.0, 98.0][..],
                &[104.0, 103.0, 106.0, 105.0, 101.5][..],
                0.015_873_015_873_015_872,
            ),
            (&[0.5, 0.5, 0.7][..], &[0.7, 0.7, 0.9, 1.1][..], 0.171_428_571_428_571_43),
            (&[3.0, 1.0, 4.0, 1.0, 5.0][..], &[9.0, 2.0, 6.0, 5.0, 3.0, 5.0][..], 0.136_363_636_363_636_35),
            (&[10.0, 10.1, 9.9][..], &[10.05, 9.95, 10.02][..], 0.9),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][..], &[8.5, 2.5][..], 0.611_111_111_111_111_2),
        ] {
            let p = ratio_p(a, b).unwrap();
            assert!((p - expected).abs() < 1e-12, "{p}, not {expected}");
        }
    }

    #[test]
    fn by_hand() {
        // Of the 20 assignments the one seen and its mirror image are the farthest.
        assert_eq!(ratio_p(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), Some(0.1));
        assert_eq!(ratio_p(&[1.0], &[2.0]), Some(1.0));
        assert_eq!(ratio_p(&[5.0; 4], &[5.0; 4]), Some(1.0));
        assert_eq!(ratio_p(&[0.0], &[2.0]), None);
        assert_eq!(ratio_p(&[], &[2.0]), None);
        assert!(ratio_p(&[1.0; 10], &[2.0; 10]).is_some());
        assert_eq!(ratio_p(&[1.0; 11], &[2.0; 10]), None);
        assert_eq!(ratio_p(&vec![1.0; 200_000], &[2.0]), None);
    }

    #[test]
    fn binomial_coefficients() {
        assert_eq!(assignments(20, 10), Some(184_756));
        assert_eq!(assignments(6, 3), Some(20));
        assert_eq!(assignments(7, 7), Some(1));
        assert_eq!(assignments(1_000_000, 500_000), None);
    }
}
