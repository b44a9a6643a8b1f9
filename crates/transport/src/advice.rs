//! `Retry-After`, as a server sends it with a refusal.

use hyper::{
    HeaderMap, StatusCode,
    header::{AsHeaderName, DATE, RETRY_AFTER},
};

/// How long a server that is busy asks to wait, seconds. A date (RFC 9110, 10.2.3) counts from the response's own `Date`, so
/// that clocks that differ do no harm; without one it says nothing.
pub fn retry_after(status: StatusCode, headers: &HeaderMap) -> Option<u32> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let advice = text(headers, RETRY_AFTER)?;
    if !advice.is_empty() && advice.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(advice.parse().unwrap_or(u32::MAX));
    }
    let wait = seconds(advice)? - seconds(text(headers, DATE)?)?;
    Some(u32::try_from(wait.max(0)).unwrap_or(u32::MAX))
}

fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Seconds since 1970 of an HTTP date in any of its three forms (RFC 9110, 5.6.7).
fn seconds(date: &str) -> Option<i64> {
    let parts: Vec<&str> = date.split([' ', '-', ',']).filter(|part| !part.is_empty()).collect();
    // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT; Sun Nov  6 08:49:37 1994
    let ([_, day, month, year, time, "GMT"] | [_, month, day, time, year]) = parts[..] else { return None };
    let names = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = (month.len() == 3).then(|| names.find(month)).flatten().filter(|at| at % 3 == 0)?;
    let month = i64::try_from(month / 3).ok()?;
    let year = match (year.len(), number(year, 9999)?) {
        // Two digits that would lie far ahead are of the last century.
        (2, year) => year + if year < 70 { 2000 } else { 1900 },
        (_, year) => year,
    };
    let mut clock = time.split(':');
    let mut next = |most| number(clock.next()?, most);
    let of_day = next(23)? * 3600 + next(59)? * 60 + next(60)?;
    // Days of the Gregorian calendar, its years beginning in March.
    let (shifted, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days = shifted * 365 + shifted.div_euclid(4) - shifted.div_euclid(100)
        + shifted.div_euclid(400)
        + (month * 153 + 2) / 5
        + number(day, 31)?;
    Some((days - 719_469) * 86_400 + of_day)
}

fn number(digits: &str, most: i64) -> Option<i64> {
    digits.parse().ok().filter(|number| (0..=most).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_a_date_are_one_instant() {
        // 784111777 is the standard's example date, as `date -u -d @784111777` tells.
        for date in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(seconds(date), Some(784_111_777), "{date}");
        }
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(seconds("Fri, 01 Mar 2024 00:00:00 GMT"), Some(1_709_251_200));
        assert_eq!(seconds("Tue, 01 Dec 2026 00:00:00 GMT"), Some(1_796_083_200));
        for wrong in
            ["", "soon", "Sun, 06 Nov 1994", "Sun, 06 anF 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:00:00 GMT"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn advice_is_seconds_or_a_date_and_only_of_a_busy_server() {
        let told = |status: u16, headers: &[(&'static str, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            retry_after(StatusCode::from_u16(status).unwrap(), &headers.collect())
        };
        assert_eq!(told(429, &[("retry-after", " 7 ")]), Some(7));
        assert_eq!(told(503, &[("retry-after", "99999999999")]), Some(u32::MAX));
        assert_eq!(told(500, &[("retry-after", "7")]), None);
        assert_eq!(told(503, &[]), None);
        assert_eq!(told(503, &[("retry-after", "-1")]), None);
        let at = ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(told(503, &[at]), None, "without a Date");
        assert_eq!(told(503, &[at, ("date", "Sun, 06 Nov 1994 08:47:37 GMT")]), Some(120));
        assert_eq!(told(503, &[at, ("date", "Sun, 06 Nov 1994 09:00:00 GMT")]), Some(0), "already past");
    }
}
