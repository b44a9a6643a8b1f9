/// A Markdown document under construction. Its texts are Markdown already.
#[derive(Debug, Default)]
pub struct Sheet {
    text: String,
}

impl Sheet {
    pub fn heading(&mut self, depth: usize, title: &str) {
        self.block(&format!("{} {title}", "#".repeat(depth)));
    }

    pub fn paragraph(&mut self, text: &str) {
        self.block(text);
    }

    pub fn list(&mut self, items: &[String]) {
        let items: Vec<String> = items.iter().map(|item| format!("- {item}")).collect();
        if !items.is_empty() {
            self.block(&items.join("\n"));
        }
    }

    /// A table; columns after the first `texts` are aligned right.
    pub fn table(&mut self, header: &[String], rows: &[Vec<String>], texts: usize) {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let rule: Vec<String> =
            (0..header.len()).map(|index| if index < texts { "---" } else { "---:" }.to_owned()).collect();
        let mut lines = vec![line(header), line(&rule)];
        lines.extend(rows.iter().map(|row| line(row)));
        self.block(&lines.join("\n"));
    }

    pub fn finish(self) -> String {
        self.text
    }

    fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// Header or cells of literals.
pub fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}
