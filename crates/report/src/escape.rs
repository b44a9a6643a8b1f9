//! Text from servers and files, made harmless where it is shown.

/// Most characters of one foreign text that are shown.
pub const LIMIT: usize = 2000;

/// For a terminal: one line without control, formatting or direction characters, cut to [`LIMIT`].
pub fn terminal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(4 * LIMIT));
    let mut space = false;
    for (count, character) in text.chars().enumerate() {
        if count >= LIMIT {
            shown.push('…');
            break;
        }
        if character.is_whitespace() {
            space = true;
        } else if !is_hidden(character) {
            if space && !shown.is_empty() {
                shown.push(' ');
            }
            space = false;
            shown.push(character);
        }
    }
    shown
}

/// For running text and table cells of Markdown (`CommonMark` with GitHub's tables and autolinks): what it says, with no
/// character that formats, links, mentions or ends the cell.
pub fn markdown(text: &str) -> String {
    let plain = terminal(text);
    let mut escaped = String::with_capacity(plain.len() + 16);
    let leading_digits = plain.bytes().take_while(u8::is_ascii_digit).count();
    for (at, character) in plain.char_indices() {
        let rest = plain.get(at..).unwrap_or_default();
        let before = plain.get(..at).unwrap_or_default();
        let special = match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '#' | '&' | '@' | '$' | '!' => true,
            // Autolinks.
            ':' => rest.starts_with("://"),
            '.' if before.to_ascii_lowercase().ends_with("www") => true,
            // A numbered list.
            '.' | ')' => at > 0 && at == leading_digits && rest.get(1..2).is_none_or(|next| next == " "),
            // What would begin a list, a rule or a heading.
            '-' | '+' | '=' => at == 0,
            _ => false,
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// As inline code of Markdown, also inside a table cell; nothing for an empty text.
pub fn code(text: &str) -> String {
    let plain = terminal(text);
    if plain.is_empty() {
        return String::new();
    }
    let longest = plain.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad = if plain.starts_with('`') || plain.ends_with('`') { " " } else { "" };
    // A table splits its cells before code is recognised.
    let cell = plain.replace('|', "\\|");
    format!("{fence}{pad}{cell}{pad}{fence}")
}

/// For a cell of a table that a spreadsheet may open: never a formula.
pub fn cell(text: &str) -> String {
    let plain = terminal(text);
    if plain.starts_with(['=', '+', '-', '@']) { format!("'{plain}") } else { plain }
}

/// Characters that show nothing, or change how others are shown.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminal_sequences_lose_their_power() {
        assert_eq!(terminal("\u{1b}[31mred\u{1b}]0;title\u{7}"), "[31mred]0;title");
        assert_eq!(terminal("a\r\nb\tc\u{2028}d"), "a b c d");
        assert_eq!(terminal("\u{9b}31m \u{202e}gnp\u{2066}x\u{feff}"), "31m gnpx");
        assert_eq!(terminal("모델 模型 é"), "모델 模型 é");
        assert_eq!(terminal(&"x".repeat(3000)).chars().count(), LIMIT + 1);
    }

    #[test]
    fn markdown_shows_what_was_said_and_nothing_more() {
        assert_eq!(markdown("a|b"), "a\\|b");
        assert_eq!(markdown("<script>alert(1)</script>"), "\\<script\\>alert(1)\\</script\\>");
        assert_eq!(markdown("[x](http://e.example)"), "\\[x\\](http\\://e.example)");
        assert_eq!(markdown("see www.e.example @all"), "see www\\.e.example \\@all");
        assert_eq!(markdown("# h\n- l"), "\\# h - l");
        assert_eq!(markdown("- l"), "\\- l");
        assert_eq!(markdown("1. l"), "1\\. l");
        assert_eq!(markdown("1.5 of 2."), "1.5 of 2.");
        assert_eq!(
            markdown("![i](x) *b* _i_ `c` ~~s~~ &amp; $x$"),
            "\\!\\[i\\](x) \\*b\\* \\_i\\_ \\`c\\` \\~\\~s\\~\\~ \\&amp; \\$x\\$"
        );
    }

    #[test]
    fn code_outlasts_backticks_and_pipes() {
        assert_eq!(code("vllm serve x"), "`vllm serve x`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("\u{1b}"), "");
    }

    #[test]
    fn a_spreadsheet_sees_no_formula() {
        assert_eq!(cell("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")");
        assert_eq!(cell("\t@x"), "'@x");
        assert_eq!(cell("connect 3"), "connect 3");
    }

    proptest! {
        #[test]
        fn nothing_hidden_survives_and_no_line_is_broken(text in any::<String>()) {
            for shown in [terminal(&text), markdown(&text), code(&text), cell(&text)] {
                prop_assert!(!shown.chars().any(|c| c.is_control() || is_hidden(c)));
            }
            let escaped = markdown(&text);
            for (at, _) in escaped.match_indices(['|', '<', '`', '*']) {
                prop_assert!(escaped[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1);
            }
        }
    }
}
