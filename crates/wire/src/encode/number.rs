/// A number as Python's Prometheus client writes it: `1.0`, `0.001`, `1.79e+09`, `+Inf`, `NaN`. Python's
/// shortest form, but with an exponent from a million on, as Go would write it.
pub fn go_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let text = python_repr(value);
    match text.find('.') {
        Some(dot) if value > 0.0 && dot > 6 && !text.contains('e') => {
            let digits: String = text.chars().filter(|c| *c != '.').collect();
            let (first, rest) = digits.split_at(1);
            let mantissa = format!("{first}.{rest}");
            format!("{}e+0{}", mantissa.trim_end_matches(['0', '.']), dot - 1)
        }
        _ => text,
    }
}

/// Rust's `Debug` has Python's digits and Python's thresholds; only the exponent looks different.
fn python_repr(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
            Some(digits) => format!("{mantissa}e-{digits:0>2}"),
            None => format!("{mantissa}e+{exponent:0>2}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Written by prometheus_client on pages of vLLM 0.32.0, or by its rule applied to Python's repr.
    #[test]
    fn as_python_writes_them() {
        let cases = [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.000_05, "5e-05"),
            (7680.0, "7680.0"),
            (42.688_129_186_630_25, "42.68812918663025"),
            (999_999.0, "999999.0"),
            (1_000_000.0, "1e+06"),
            (1_234_567.5, "1.2345675e+06"),
            (1_164_410_880.0, "1.16441088e+09"),
            (4_965_433_344.0, "4.965433344e+09"),
            (1e16, "1e+16"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(go_float(value), text);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for exponent in -300..300 {
            for digits in [1.0, 1.5, 9.999_999_999, 1.796_078_138_048_656_5] {
                let value = digits * 10f64.powi(exponent);
                assert_eq!(go_float(value).parse(), Ok(value));
            }
        }
    }
}
