use crate::draw::Draw;
use plimsoll_record::LengthLaw;

/// Draws a length, tokens. The normal is rounded to the nearest token and clamped to at least 1.
pub fn draw_length(law: LengthLaw, draw: &mut Draw) -> u32 {
    match law {
        LengthLaw::Fixed(n) => n.max(1),
        LengthLaw::Normal { mean, sd } => {
            let value = libm::round(f64::from(mean) + f64::from(sd) * draw.normal());
            value.clamp(1.0, f64::from(LengthLaw::MAX)) as u32
        }
        LengthLaw::Uniform { low, high } => {
            let values = u64::from(high.saturating_sub(low)) + 1;
            (u64::from(low) + draw.below(values)).clamp(1, u64::from(LengthLaw::MAX)) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Key, Purpose};

    fn lengths(law: &str, n: u64) -> Vec<u32> {
        let law = law.parse().unwrap();
        (0..n)
            .map(|k| draw_length(law, &mut Key { k, ..Key::of_run(5) }.draw(Purpose::InputLength)))
            .collect()
    }

    #[test]
    fn fixed_is_fixed_and_uniform_reaches_both_ends_and_nothing_else() {
        assert!(lengths("256", 50).iter().all(|length| *length == 256));
        let uniform = lengths("200-203", 400);
        for value in 200..=203 {
            assert!(uniform.contains(&value));
        }
        assert!(uniform.iter().all(|length| (200..=203).contains(length)));
    }

    #[test]
    fn normal_has_its_mean_and_sd_and_never_falls_under_1() {
        let n = 20_000;
        let drawn = lengths("256:50", n);
        let mean = drawn.iter().map(|length| f64::from(*length)).sum::<f64>() / n as f64;
        let variance = drawn.iter().map(|length| (f64::from(*length) - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 256.0).abs() < 1.8, "{mean}");
        assert!((variance.sqrt() - 50.0).abs() < 1.3, "{variance}");
        let low = lengths("2:50", 500);
        assert_eq!(low.iter().min(), Some(&1));
        assert!(low.iter().filter(|length| **length == 1).count() > 200);
    }
}
