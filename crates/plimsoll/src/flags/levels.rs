//! The lists of levels as people write them.

use plimsoll_record::{Arrivals, Rate};

/// A number of requests in flight.
pub fn concurrency(text: &str) -> Result<u32, String> {
    let text = text.trim();
    text.parse().map_err(|_| {
        range(text).unwrap_or_else(|| {
            "not a number of requests in flight; write whole numbers parted by commas, such as 1,2,4,8"
                .to_owned()
        })
    })
}

/// A rate of arrivals.
pub fn rate(text: &str) -> Result<Rate, String> {
    match text.trim() {
        "inf" => Err("all at once is no rate; give --concurrency N for N requests in flight".to_owned()),
        text => text.parse::<Rate>().map_err(|error| range(text).unwrap_or_else(|| error.to_string())),
    }
}

/// Arrivals of this burstiness.
pub fn burstiness(text: &str) -> Result<Arrivals, String> {
    let wrong = "not a burstiness; write a number from 0.05 to 1000: 1 is Poisson, below 1 comes in bursts";
    format!("gamma:{}", text.trim()).parse().map_err(|_| wrong.to_owned())
}

/// What to write in place of a range such as `1..4`, `1-4` or `1:4`.
fn range(text: &str) -> Option<String> {
    let (from, to) = ["...", "..=", "..", "-", ":"].iter().find_map(|sign| text.split_once(sign))?;
    let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    let mut levels = Vec::new();
    let mut level = from.max(1);
    while level < to && levels.len() < 12 {
        levels.push(level.to_string());
        level = level.saturating_mul(2);
    }
    levels.push(to.to_string());
    Some(format!("a range is not a list of levels; name each one, such as {}", levels.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_answered_with_a_list() {
        for (text, list) in
            [("1..4", "1,2,4"), ("1-32", "1,2,4,8,16,32"), ("2..=9", "2,4,8,9"), ("0:3", "1,2,3")]
        {
            let error = concurrency(text).unwrap_err();
            assert!(error.ends_with(&format!("such as {list}")), "{error}");
            assert_eq!(rate(text).unwrap_err(), error);
        }
        assert!(concurrency("many").unwrap_err().contains("parted by commas"));
        assert_eq!(concurrency(" 8"), Ok(8));
    }

    #[test]
    fn rates_and_burstiness() {
        assert_eq!(rate("2.5"), Ok(Rate::new(2.5).unwrap()));
        assert!(rate("inf").unwrap_err().contains("--concurrency"));
        assert!(rate("0").unwrap_err().contains("`0` is not a rate"));
        assert_eq!(burstiness("0.5"), Ok(Arrivals::Gamma(0.5)));
        assert!(burstiness("0").unwrap_err().contains("0.05"));
    }
}
