use super::go_float;

/// The type in a family's `# TYPE` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only rises.
    Counter,
    /// Any value.
    Gauge,
    /// Cumulative buckets, a count and a sum.
    Histogram,
}

/// A histogram to be written.
#[derive(Clone, Copy, Debug)]
pub struct HistogramValues<'a> {
    /// Upper bounds, rising, without `+Inf`.
    pub bounds: &'a [f64],
    /// Observations per bucket, not cumulative; one more than `bounds`, the last for `+Inf`.
    pub counts: &'a [u64],
    /// Sum of all observations.
    pub sum: f64,
}

/// Writes a page in the Prometheus text format, version 0.0.4, in the order of the calls.
#[derive(Debug, Default)]
pub struct PageWriter {
    out: String,
}

impl PageWriter {
    /// An empty page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a family. For a counter, `name` includes `_total`.
    pub fn family(&mut self, name: &str, help: &str, kind: MetricKind) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        self.out.extend(["# HELP ", name, " "]);
        escape(&mut self.out, help, false);
        self.out.extend(["\n# TYPE ", name, " ", kind, "\n"]);
    }

    /// One sample. Labels are written in the order given; Python's client sorts them by name.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.line(name, "", labels, None, value);
    }

    /// The samples of a histogram: cumulative buckets with `le` put in by name, then count, then sum.
    pub fn histogram(&mut self, name: &str, labels: &[(&str, &str)], values: &HistogramValues<'_>) {
        let bounds = values.bounds.iter().copied().chain([f64::INFINITY]);
        let mut seen = 0_u64;
        for (bound, count) in bounds.zip(values.counts) {
            seen = seen.saturating_add(*count);
            self.line(name, "_bucket", labels, Some(&go_float(bound)), seen as f64);
        }
        self.line(name, "_count", labels, None, seen as f64);
        self.line(name, "_sum", labels, None, values.sum);
    }

    /// When a series was created, as `name_created`: what Python's client adds per family unless told not to.
    pub fn created(&mut self, base: &str, help: &str, labels: &[(&str, &str)], at: f64) {
        let name = format!("{base}_created");
        self.family(&name, help, MetricKind::Gauge);
        self.sample(&name, labels, at);
    }

    /// The page.
    pub fn finish(self) -> String {
        self.out
    }

    fn line(&mut self, name: &str, suffix: &str, labels: &[(&str, &str)], le: Option<&str>, value: f64) {
        self.out.push_str(name);
        self.out.push_str(suffix);
        let at = labels.partition_point(|(key, _)| *key < "le");
        let (before, after) = labels.split_at(at);
        let le = le.map(|bound| ("le", bound));
        let mut first = true;
        for (key, value) in before.iter().copied().chain(le).chain(after.iter().copied()) {
            self.out.push(if first { '{' } else { ',' });
            first = false;
            self.out.extend([key, "=\""]);
            escape(&mut self.out, value, true);
            self.out.push('"');
        }
        if !first {
            self.out.push('}');
        }
        self.out.extend([" ", &go_float(value), "\n"]);
    }
}

/// Backslash and newline are escaped everywhere, a double quote in label values only.
fn escape(out: &mut String, text: &str, quotes: bool) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected text: the format's own rules (Prometheus exposition formats, text format details).
    #[test]
    fn a_page() {
        let mut page = PageWriter::new();
        page.family("a_total", "Back\\slash and\nnewline and \"quote\"", MetricKind::Counter);
        page.sample("a_total", &[("engine", "0"), ("model_name", "a\"b\\c\nd")], 3.0);
        page.family("h", "h", MetricKind::Histogram);
        let values = HistogramValues { bounds: &[0.5, 1.0], counts: &[1, 0, 2], sum: 9.25 };
        page.histogram("h", &[("engine", "0"), ("model_name", "m")], &values);
        page.created("h", "h", &[], 1_700_000_000.0);
        let expect = r#"# HELP a_total Back\\slash and\nnewline and "quote"
# TYPE a_total counter
a_total{engine="0",model_name="a\"b\\c\nd"} 3.0
# HELP h h
# TYPE h histogram
h_bucket{engine="0",le="0.5",model_name="m"} 1.0
h_bucket{engine="0",le="1.0",model_name="m"} 1.0
h_bucket{engine="0",le="+Inf",model_name="m"} 3.0
h_count{engine="0",model_name="m"} 3.0
h_sum{engine="0",model_name="m"} 9.25
# HELP h_created h
# TYPE h_created gauge
h_created 1.7e+09
"#;
        assert_eq!(page.finish(), expect);
    }
}
