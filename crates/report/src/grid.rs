//! Text in aligned columns.

/// A column: its group's heading, its own heading, its cells.
#[derive(Clone, Debug)]
pub struct Strip {
    pub group: String,
    pub title: String,
    pub cells: Vec<String>,
}

/// Columns right-aligned, a heading over each group. Where they do not fit into `width`, the groups after the first are
/// set in several blocks, each with the first group again; nothing is left out.
pub fn draw(strips: &[Strip], width: usize) -> String {
    let groups = grouped(strips);
    let Some((key, rest)) = groups.split_first() else { return String::new() };
    let mut blocks: Vec<Vec<&Group<'_>>> = Vec::new();
    for group in rest {
        match blocks.last_mut() {
            Some(block)
                if 1 + key.width
                    + block.iter().map(|group| 2 + group.width).sum::<usize>()
                    + 2
                    + group.width
                    <= width =>
            {
                block.push(group);
            }
            _ => blocks.push(vec![group]),
        }
    }
    let draw = |block: &Vec<&Group<'_>>| {
        let columns: Vec<&Group<'_>> = std::iter::once(key).chain(block.iter().copied()).collect();
        lines(&columns)
    };
    let drawn: Vec<String> = blocks.iter().map(draw).collect();
    if drawn.is_empty() { lines(&[key]) } else { drawn.join("\n") }
}

struct Group<'a> {
    heading: &'a str,
    strips: Vec<(&'a Strip, usize)>,
    width: usize,
}

fn grouped(strips: &[Strip]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for strip in strips {
        let cells = strip.cells.iter().map(|cell| chars(cell));
        let width = cells.chain([chars(&strip.title)]).max().unwrap_or_default();
        match groups.last_mut() {
            Some(group) if group.heading == strip.group => group.strips.push((strip, width)),
            _ => groups.push(Group { heading: &strip.group, strips: vec![(strip, width)], width: 0 }),
        }
    }
    for group in &mut groups {
        let inner: usize = group.strips.iter().map(|(_, width)| width + 1).sum::<usize>().saturating_sub(1);
        // A heading wider than its columns widens the last of them.
        let missing = chars(group.heading).saturating_sub(inner);
        if let Some((_, width)) = group.strips.first_mut() {
            *width += missing;
        }
        group.width = inner + missing;
    }
    groups
}

fn lines(groups: &[&Group<'_>]) -> String {
    let rows = groups.iter().flat_map(|group| &group.strips).map(|(strip, _)| strip.cells.len()).max();
    let mut text = String::new();
    let headings = groups.iter().map(|group| format!("{:^width$}", group.heading, width = group.width));
    push_line(&mut text, &headings.collect::<Vec<_>>());
    let row = |cell: &dyn Fn(&Strip) -> String| {
        let of_group = |group: &&Group<'_>| {
            let cells = group.strips.iter().map(|(strip, width)| format!("{:>width$}", cell(strip)));
            cells.collect::<Vec<_>>().join(" ")
        };
        groups.iter().map(of_group).collect::<Vec<_>>()
    };
    push_line(&mut text, &row(&|strip| strip.title.clone()));
    for index in 0..rows.unwrap_or_default() {
        push_line(&mut text, &row(&|strip| strip.cells.get(index).cloned().unwrap_or_default()));
    }
    text
}

fn push_line(text: &mut String, groups: &[String]) {
    text.push_str(format!(" {}", groups.join("  ")).trim_end());
    text.push('\n');
}

/// Width in a terminal, of our own text alone: one cell per character.
fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text into lines of `width` characters at most, the lines after the first indented. A longer word stands on
/// its own line.
pub fn wrap(first: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(chars(first));
    let mut wrapped = first.to_owned();
    let mut column = chars(first);
    let mut fresh = true;
    for word in text.split_whitespace() {
        if !fresh && column + 1 + chars(word) > width {
            wrapped.push('\n');
            wrapped.push_str(&indent);
            column = chars(first);
            fresh = true;
        }
        if !fresh {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += chars(word);
        fresh = false;
    }
    wrapped.push('\n');
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(group: &str, title: &str, cells: &[&str]) -> Strip {
        Strip {
            group: group.to_owned(),
            title: title.to_owned(),
            cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
        }
    }

    #[test]
    fn cells_are_right_aligned_below_their_group() {
        let strips = [
            strip("", "level", &["1", "16"]),
            strip("TTFT ms", "p50", &["9.5", "≥120"]),
            strip("TTFT ms", "p95", &["12", "–"]),
        ];
        assert_eq!(
            draw(&strips, 80),
            "        TTFT ms\n level   p50 p95\n     1   9.5  12\n    16  ≥120   –\n"
        );
    }

    #[test]
    fn what_does_not_fit_is_set_below_with_the_key_again() {
        let strips = [strip("", "level", &["1"]), strip("A", "aaaa", &["2"]), strip("B", "bbbb", &["3"])];
        let text = draw(&strips, 14);
        assert_eq!(text.matches("level").count(), 2);
        assert!(text.lines().all(|line| line.chars().count() <= 14), "{text}");
        assert_eq!(draw(&strips, 80).matches("level").count(), 1);
    }

    #[test]
    fn wrapped_lines_are_indented() {
        assert_eq!(wrap("Knee  ", "one two three", 13), "Knee  one two\n      three\n");
        assert_eq!(wrap("", "unbreakable", 3), "unbreakable\n");
    }
}
