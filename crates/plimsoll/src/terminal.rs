//! Output. What came from a server or a file cannot move the cursor, and a closed pipe is no panic.

use crate::failure::Failure;
use std::io::{self, Write};

/// Prints to standard output. A reader that has gone away, as `head` does, ends the printing silently; a full disk does
/// not.
pub fn print(text: &str) -> Result<(), Failure> {
    printed(write(&mut io::stdout().lock(), text))
}

fn printed(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::other(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a line to standard error.
pub fn say(text: &str) {
    // There is nowhere left to tell of a failure.
    let _ = write(&mut io::stderr().lock(), &format!("{text}\n"));
}

/// Prints an error to standard error.
pub fn error(text: &str) {
    say(&format!("error: {text}"));
}

fn write(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(plain(text).as_bytes()).and_then(|()| out.flush())
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

    #[test]
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is_one() {
        assert!(printed(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        let failure = printed(Err(io::ErrorKind::StorageFull.into())).unwrap_err();
        assert_eq!(failure.exit(), crate::Exit::Other);
        assert!(failure.to_string().contains("standard output"));
    }
}
