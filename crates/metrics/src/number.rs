//! Makes [`Number`]s that are finite, sourced and never 0 for "not known".

use crate::quantile;
use crate::summary::{Number, Reading};

/// What a number is called, measured in and made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind<'a> {
    pub name: &'a str,
    pub unit: &'a str,
    pub formula: &'a str,
    pub source: &'a str,
}

/// An estimate without an interval, or nothing with the reason.
pub(crate) fn plain(kind: Kind<'_>, value: Result<f64, String>, n: u64, no_interval: &str) -> Number {
    let value = value.and_then(|value| {
        if value.is_finite() { Ok(value) } else { Err("the records give no finite value".to_owned()) }
    });
    let (value, reason) = match value {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    };
    Number {
        name: kind.name.to_owned(),
        unit: kind.unit.to_owned(),
        formula: kind.formula.to_owned(),
        reading: if value.is_some() { Reading::Estimate } else { Reading::Absent },
        value,
        n,
        interval: None,
        interval_reason: Some(no_interval.to_owned()),
        source: kind.source.to_owned(),
        reason,
        withheld: None,
    }
}

/// A quantile under the print policy. `sorted` in the number's unit.
pub(crate) fn quantile(kind: Kind<'_>, sorted: &[f64], ppm: u32) -> Number {
    let told = quantile::estimate(sorted, ppm);
    Number {
        reading: told.reading,
        interval: told.interval,
        interval_reason: told.interval_reason.or_else(|| told.reason.clone()),
        ..plain(kind, told.value.ok_or_else(|| told.reason.unwrap_or_default()), sorted.len() as u64, "")
    }
}

/// Takes the value out of the tables; it stays under `withheld`.
pub(crate) fn withhold(number: &mut Number, flag: &str) {
    if let Some(value) = number.value.take() {
        number.withheld = Some(value);
        number.reading = Reading::Absent;
        number.reason = Some(format!("withheld: {flag}"));
    }
}
