use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    path::Path,
};

/// Largest plan, key or header value that is read, bytes.
pub const SMALL: u64 = 16 << 20;
/// Largest file of prompts, system prompt or tokenizer that is read, bytes.
pub const LARGE: u64 = 1 << 30;

/// A file's bytes, if they are no more than `limit`: a path may lead to what has no end, such as a device or a pipe.
pub fn read_bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("it is larger than {} MiB", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The same of a text.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read_bounded(path, limit)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused_and_one_at_the_limit_is_not() {
        let path = std::env::temp_dir().join(format!("plimsoll-bounded-{}", std::process::id()));
        std::fs::write(&path, [b'a'; 8]).unwrap();
        assert_eq!(read_text(&path, 8).unwrap(), "aaaaaaaa");
        assert_eq!(read_bounded(&path, 7).unwrap_err().kind(), ErrorKind::FileTooLarge);
        if cfg!(unix) {
            let error = read_text(Path::new("/dev/zero"), 1 << 20).unwrap_err();
            assert_eq!(error.to_string(), "it is larger than 1 MiB");
        }
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path, 8).unwrap_err().to_string(), "it is not UTF-8 text");
        std::fs::remove_file(&path).unwrap();
    }
}
