use crate::WorkloadError;

/// A tokenizer read from a `tokenizer.json`. It exists only in builds with the feature `tokenizers`.
pub struct Tokenizer {
    #[cfg(feature = "tokenizers")]
    inner: tokenizers::Tokenizer,
    #[cfg(not(feature = "tokenizers"))]
    never: std::convert::Infallible,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokenizer")
    }
}

#[cfg(feature = "tokenizers")]
impl Tokenizer {
    /// Reads the contents of a `tokenizer.json`; `name` is its name for messages. Truncation and padding that the
    /// file may ask for are turned off, as they would change counts.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self, WorkloadError> {
        let error = |reason: &dyn std::fmt::Display| {
            let reason: String = reason.to_string().chars().take(200).collect();
            WorkloadError::tokenizer(format!(
                "{name}: not a usable tokenizer ({reason}); give the tokenizer.json of the model's folder"
            ))
        };
        let mut inner = tokenizers::Tokenizer::from_bytes(bytes).map_err(|reason| error(&reason))?;
        inner.with_truncation(None).map_err(|reason| error(&reason))?;
        inner.with_padding(None);
        let tokenizer = Self { inner };
        match tokenizer.count("What is a fathom?") {
            Some(1..) => Ok(tokenizer),
            _ => Err(error(&"it finds no token in an English sentence")),
        }
    }

    /// Tokens of a text, without the special tokens of a template; `None` when it cannot be encoded.
    pub fn count(&self, text: &str) -> Option<u32> {
        let encoding = self.inner.encode_fast(text, false).ok()?;
        u32::try_from(encoding.len()).ok()
    }
}

#[cfg(not(feature = "tokenizers"))]
impl Tokenizer {
    /// Always an error: this build has no tokenizers.
    pub fn from_bytes(_bytes: &[u8], name: &str) -> Result<Self, WorkloadError> {
        Err(WorkloadError::tokenizer(format!(
            "{name}: this build cannot read tokenizers; build with the feature `tokenizers`"
        )))
    }

    /// Never called, as no value exists in this build.
    pub fn count(&self, _text: &str) -> Option<u32> {
        match self.never {}
    }
}
