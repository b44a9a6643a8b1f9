use super::line::{self, PromSample};
use crate::chat::clean;
use memchr::memchr;
use thiserror::Error;

/// A page of samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page<'a> {
    /// In the order of the page; of a series that stands there twice, the last.
    pub samples: Vec<PromSample<'a>>,
    /// Lines that were neither a sample nor a comment.
    pub bad_lines: u32,
    /// The first of these, bounded, for a message.
    pub first_bad_line: Option<String>,
    /// Samples that were replaced by a later one of the same series.
    pub duplicates: u32,
    /// True when the page ended within a line, which was dropped: the number on it may be cut.
    pub truncated: bool,
}

/// A body that is not a page of metrics.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a metrics page but {what}: `{excerpt}`")]
pub struct PageError {
    what: &'static str,
    excerpt: String,
}

impl<'a> Page<'a> {
    /// Reads a body.
    ///
    /// ```
    /// use plimsoll_wire::prometheus::Page;
    ///
    /// let page = Page::parse(b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 3.0\nN/A\n")?;
    /// assert_eq!(page.samples[0].label("engine"), Some("0"));
    /// assert_eq!((page.samples[0].value, page.bad_lines), (3.0, 1));
    /// # Ok::<(), plimsoll_wire::prometheus::PageError>(())
    /// ```
    pub fn parse(body: &'a [u8]) -> Result<Self, PageError> {
        let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        let mut page = Self::default();
        let mut comments = false;
        let mut rest = body;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, tail) = rest.split_at(end);
            rest = tail.get(1..).unwrap_or_default();
            comments |= page.read_line(line);
        }
        let last = rest.trim_ascii();
        page.truncated = !last.is_empty() && last != b"# EOF";
        if page.samples.is_empty() && !comments && (page.bad_lines > 0 || page.truncated) {
            return Err(PageError::of(body));
        }
        page.keep_last_of_each_series();
        Ok(page)
    }

    /// True for a comment.
    fn read_line(&mut self, line: &'a [u8]) -> bool {
        let trimmed = line.trim_ascii();
        if trimmed.is_empty() {
            return false;
        }
        if trimmed.starts_with(b"#") {
            return true;
        }
        if let Some(sample) = std::str::from_utf8(trimmed).ok().and_then(line::parse) {
            self.samples.push(sample);
        } else {
            self.bad_lines = self.bad_lines.saturating_add(1);
            self.first_bad_line.get_or_insert_with(|| excerpt(trimmed));
        }
        false
    }

    fn keep_last_of_each_series(&mut self) {
        let samples = &self.samples;
        let series = |index: usize| samples.get(index).map(|sample| (&sample.name, &sample.labels));
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.sort_by(|a, b| series(*a).cmp(&series(*b)));
        // The sort is stable: of equals, all but the last are replaced.
        let mut replaced: Vec<usize> = order
            .windows(2)
            .filter_map(|pair| match pair {
                [a, b] if series(*a) == series(*b) => Some(*a),
                _ => None,
            })
            .collect();
        if replaced.is_empty() {
            return;
        }
        self.duplicates = u32::try_from(replaced.len()).unwrap_or(u32::MAX);
        replaced.sort_unstable();
        let mut replaced = replaced.into_iter().peekable();
        let mut index = 0;
        self.samples.retain(|_| {
            let gone = replaced.next_if_eq(&index).is_some();
            index += 1;
            !gone
        });
    }
}

impl PageError {
    fn of(body: &[u8]) -> Self {
        let what = match body.trim_ascii_start().first() {
            Some(b'<') => "HTML",
            Some(b'{' | b'[') => "JSON",
            _ => "text of another kind",
        };
        Self { what, excerpt: excerpt(body) }
    }
}

fn excerpt(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(bytes.get(..256).unwrap_or(bytes)), 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_series_holds() {
        let page =
            Page::parse(b"a{x=\"1\",y=\"2\"} 1\nb 5\na{y=\"2\",x=\"1\",z=\"\"} 2\na{x=\"1\"} 3\nb 6\nb 7\n")
                .unwrap();
        let values: Vec<f64> = page.samples.iter().map(|sample| sample.value).collect();
        assert_eq!((values, page.duplicates, page.bad_lines), (vec![2.0, 3.0, 7.0], 3, 0));
    }

    #[test]
    fn a_cut_last_line_is_dropped() {
        let page = Page::parse(b"a 1\r\nb 10").unwrap();
        assert_eq!((page.samples.len(), page.truncated, page.bad_lines), (1, true, 0));
        assert!(!Page::parse(b"a 1\n# EOF").unwrap().truncated);
        assert!(!Page::parse(b"a 1\n").unwrap().truncated);
    }

    #[test]
    fn bad_lines_are_counted_and_the_first_is_shown() {
        let page = Page::parse(b"#x\na 1\n\xFF 1\nnot a sample\n#\nb 2\n\n  \n").unwrap();
        assert_eq!((page.samples.len(), page.bad_lines), (2, 2));
        assert_eq!(page.first_bad_line.as_deref(), Some("\u{fffd} 1"));
    }

    #[test]
    fn other_bodies_are_told_apart() {
        for (body, what) in [
            ("<!doctype html>\n<p>\n", "HTML"),
            ("{\"a\":1}", "JSON"),
            ("[\n{}]\n", "JSON"),
            ("no\n", "text"),
        ] {
            let error = Page::parse(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        // Families without samples, as before the first request, are a page.
        assert_eq!(Page::parse(b"# TYPE a gauge\n").unwrap().samples, []);
        assert_eq!(Page::parse(b"").unwrap().samples, []);
        assert_eq!(Page::parse(b"{\"a.b\"} 1\n").unwrap().samples.len(), 1);
    }
}
