//! Output. What came from a server or a file cannot move the cursor, and a closed pipe is no panic.

use std::io::{self, Write};

/// Prints to standard output. A reader that has gone away, as `head` does, ends the printing silently.
pub fn print(text: &str) {
    write(&mut io::stdout().lock(), text);
}

/// Prints a line to standard error.
pub fn say(text: &str) {
    write(&mut io::stderr().lock(), &format!("{text}\n"));
}

/// Prints an error to standard error.
pub fn error(text: &str) {
    say(&format!("error: {text}"));
}

fn write(out: &mut dyn Write, text: &str) {
    // There is nowhere left to tell of a failure.
    let _ = out.write_all(plain(text).as_bytes()).and_then(|()| out.flush());
}

/// Text without control characters, line ends apart, and without characters that turn the writing direction.
pub fn plain(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if hidden(c) { ' ' } else { c }).collect()
}

/// The same on one line.
pub fn line(text: &str) -> String {
    plain(text).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_directions_are_taken_out() {
        assert_eq!(plain("a\u{1b}[31mb\r\nc\u{202e}d\t\u{9b}"), "a [31mb \nc d  ");
        assert_eq!(line("a\nb"), "a b");
        assert_eq!(plain("한국어 é"), "한국어 é");
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_panic() {
        write(&mut Closed, "text");
    }
}
