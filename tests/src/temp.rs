use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// A folder that is removed when dropped.
#[derive(Debug)]
pub struct TempDir(PathBuf);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl TempDir {
    /// A new, empty folder.
    ///
    /// # Panics
    /// Without a place for temporary files.
    #[expect(clippy::expect_used, reason = "for tests: a test without its folder cannot go on")]
    pub fn new(name: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("plimsoll-{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The same as text.
    pub fn str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// A file in it.
    ///
    /// # Panics
    /// When it cannot be written.
    #[expect(clippy::expect_used, reason = "for tests: a test without its file cannot go on")]
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a temporary file");
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A folder that stays behind harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
