use std::borrow::Cow;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct PromSample<'a> {
    /// Name of the series, as it stands on the page.
    pub name: Cow<'a, str>,
    /// Labels by name, without those whose value is empty, which means absent.
    pub labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Value.
    pub value: f64,
}

impl PromSample<'_> {
    /// Value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| &**value)
    }
}

/// Reads `name{labels} value [timestamp] [# exemplar]`, where the name may also stand quoted among the labels.
/// `None`: no sample.
pub(super) fn parse(line: &str) -> Option<PromSample<'_>> {
    let mut rest = Rest(line.trim_matches(is_blank));
    let mut name = Cow::Borrowed(rest.name());
    let mut labels = Vec::new();
    rest.skip_blanks();
    if rest.eat('{') {
        loop {
            rest.skip_blanks();
            if rest.eat('}') {
                break;
            }
            let quoted = rest.0.starts_with('"');
            let key = if quoted { rest.quoted()? } else { Cow::Borrowed(rest.name()) };
            rest.skip_blanks();
            if rest.eat('=') {
                rest.skip_blanks();
                labels.push((key, rest.quoted()?));
            } else if quoted && name.is_empty() {
                name = key;
            } else {
                return None;
            }
            rest.skip_blanks();
            // A comma may also follow the last label.
            if !rest.eat(',') && !rest.0.starts_with('}') {
                return None;
            }
        }
    } else if rest.0.len() == line.trim_matches(is_blank).len() - name.len() {
        // Neither blank nor label between name and value.
        return None;
    }
    let value = rest.tail()?;
    if name.is_empty() || labels.iter().any(|(label, _)| label.is_empty()) {
        return None;
    }
    labels.sort_unstable();
    if labels.windows(2).any(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
        return None;
    }
    labels.retain(|(_, value)| !value.is_empty());
    Some(PromSample { name, labels, value })
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

/// What is left of the line.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip_blanks(&mut self) {
        self.0 = self.0.trim_start_matches(is_blank);
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.0.strip_prefix(c);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Letters, digits, `_` and `:`, not beginning with a digit; may be empty.
    fn name(&mut self) -> &'a str {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
        if self.0.starts_with(|c: char| c.is_ascii_digit()) {
            return "";
        }
        let end = self.0.bytes().position(|byte| !inside(byte)).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at_checked(end).unwrap_or(("", self.0));
        self.0 = rest;
        name
    }

    /// A string in quotes, with the escapes `\\`, `\"` and `\n`; any other backslash stands for itself.
    fn quoted(&mut self) -> Option<Cow<'a, str>> {
        let text = self.0.strip_prefix('"')?;
        let mut owned = String::new();
        let mut start = 0;
        loop {
            let at = start + memchr::memchr2(b'"', b'\\', text.as_bytes().get(start..)?)?;
            let part = text.get(start..at)?;
            if text.as_bytes().get(at) == Some(&b'"') {
                self.0 = text.get(at + 1..)?;
                if owned.is_empty() {
                    return Some(Cow::Borrowed(part));
                }
                owned.push_str(part);
                return Some(Cow::Owned(owned));
            }
            owned.push_str(part);
            let escaped = text.as_bytes().get(at + 1)?;
            let (c, width) = match escaped {
                b'n' => ('\n', 2),
                b'"' => ('"', 2),
                b'\\' => ('\\', 2),
                _ => ('\\', 1),
            };
            owned.push(c);
            start = at + width;
        }
    }

    /// The value, after it at most a timestamp, and at most an exemplar.
    fn tail(&self) -> Option<f64> {
        let mut words = self.0.split(is_blank).filter(|word| !word.is_empty());
        let value = words.next()?.parse().ok()?;
        match words.next() {
            None => return Some(value),
            Some(word) if word.starts_with('#') => return Some(value),
            // Milliseconds in this format, seconds with a fraction in OpenMetrics; the sample's time is our clock's.
            Some(word) => word.parse::<f64>().ok().filter(|time| time.is_finite())?,
        };
        words.next().is_none_or(|word| word.starts_with('#')).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(line: &str, name: &str, labels: &[(&str, &str)], value: f64) {
        let sample = parse(line).unwrap_or_else(|| panic!("{line}"));
        let got: Vec<_> = sample.labels.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!((&*sample.name, got.as_slice()), (name, labels), "{line}");
        assert_eq!(sample.value.total_cmp(&value), std::cmp::Ordering::Equal, "{line}: {}", sample.value);
    }

    #[test]
    fn samples_in_all_their_forms() {
        is("vllm:a_b 1", "vllm:a_b", &[], 1.0);
        is("  a\t2.5e-05  \r", "a", &[], 2.5e-5);
        is("a{} 1", "a", &[], 1.0);
        is("a {x=\"1\"}1", "a", &[("x", "1")], 1.0);
        is("a{ x = \"1\" , } +Inf", "a", &[("x", "1")], f64::INFINITY);
        is("a{b=\"\",c=\"d\"} -Inf", "a", &[("c", "d")], f64::NEG_INFINITY);
        is("a{x=\"p, q} = # \\\" \\\\ \\n \\d\"} NaN", "a", &[("x", "p, q} = # \" \\ \n \\d")], f64::NAN);
        is("a{z=\"é\",b=\"1\"} 5.32523487232e+011", "a", &[("b", "1"), ("z", "é")], 532_523_487_232.0);
        is("a 1 1790000000123", "a", &[], 1.0);
        is("a 1 1790000000.5 # {trace=\"x y\"} 0.3 1.5", "a", &[], 1.0);
        is("a_bucket{le=\"1\"} 3 # {t=\"1\"} 0.3", "a_bucket", &[("le", "1")], 3.0);
        is("{\"a.b\",l=\"v\"} 4", "a.b", &[("l", "v")], 4.0);
        is("{\"a.b\"} 4", "a.b", &[], 4.0);
        is("a{\"l.m\"=\"v\"} 4", "a", &[("l.m", "v")], 4.0);
    }

    #[test]
    fn what_is_no_sample() {
        for line in [
            "a",
            "a ",
            "1a 1",
            "a{x=\"1\"}",
            "a{x=\"1\" 1",
            "a{x=1} 1",
            "a{x} 1",
            "a N/A",
            "a 0x10",
            "a 1_000",
            "a 1 2 3",
            "a 1 x",
            "this is not a sample",
            "{} 1",
            "{\"a\",\"b\"} 1",
            "a{\"b\"} 1",
            "a{,} 1",
            "a{x=\"1\",x=\"2\"} 1",
            "a{x=\"1\"y=\"2\"} 1",
            "a{x=\"1\\",
            "a-b 1",
            "é 1",
            "a{=\"1\"} 1",
            "a\"b\" 1",
            "a+1",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
