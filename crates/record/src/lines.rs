use serde::de::DeserializeOwned;

/// The records of a JSON Lines file, and the lines that are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines<T> {
    /// What could be read, in the file's order.
    pub records: Vec<T>,
    /// What could not. A last line without its newline is the trace of a killed writer.
    pub bad: Vec<BadLine>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// From 1.
    pub number: usize,
    /// Why.
    pub reason: String,
}

/// Reads JSON Lines. Blank lines are skipped; a bad line is counted, with its reason, and the rest is used.
pub fn read_lines<T: DeserializeOwned>(text: &[u8]) -> Lines<T> {
    let mut lines = Lines { records: Vec::new(), bad: Vec::new() };
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(record) => lines.records.push(record),
            Err(error) => lines.bad.push(BadLine { number: index + 1, reason: error.to_string() }),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_counted_and_the_rest_is_used() {
        let lines: Lines<u32> = read_lines(b"1\n2\n\n{\n3\n4x");
        assert_eq!(lines.records, [1, 2, 3]);
        assert_eq!(lines.bad.iter().map(|bad| bad.number).collect::<Vec<_>>(), [4, 6]);
    }
}
