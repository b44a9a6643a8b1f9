//! What a server says of itself: `/v1/models` and `/version`.

use crate::chat::{
    ChunkError,
    lenient::{Count, List, Text},
};
use serde::Deserialize;

/// A served model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name to ask for.
    pub id: String,
    /// Largest prompt plus answer, tokens, if the server says so.
    pub max_model_len: Option<u32>,
}

/// Reads the body of `/v1/models`. Entries without an id are left out.
pub fn parse_models(body: &[u8]) -> Result<Vec<Model>, ChunkError> {
    #[derive(Deserialize)]
    struct Listing<'a> {
        #[serde(borrow, default)]
        data: List<Entry<'a>>,
    }
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow, default)]
        id: Text<'a>,
        #[serde(default)]
        max_model_len: Count,
    }
    let listing: Listing<'_> =
        serde_json::from_slice(body).map_err(|error| ChunkError::of_body(error, body))?;
    let named = listing.data.0.into_iter().filter(|entry| !entry.id.0.is_empty());
    Ok(named
        .map(|entry| Model { id: entry.id.0.into_owned(), max_model_len: entry.max_model_len.0 })
        .collect())
}

/// Reads the body of `/version`; absent when it names none.
pub fn parse_version(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Version<'a> {
        #[serde(borrow, default)]
        version: Text<'a>,
    }
    let version = serde_json::from_slice::<Version<'_>>(body).ok()?.version.0;
    (!version.is_empty()).then(|| crate::chat::clean(&version, 200))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lists_are_read() {
        let models =
            parse_models(br#"{"data":[{"id":"a"},{},7,{"id":"b","max_model_len":2048.0},{"id":null}]}"#)
                .unwrap();
        let got: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.max_model_len)).collect();
        assert_eq!(got, [("a", None), ("b", Some(2048))]);
        assert_eq!(parse_models(b"{}").unwrap(), []);
        assert_eq!(parse_models(br#"{"data":null}"#).unwrap(), []);
        let error = parse_models(b"<html>").unwrap_err().to_string();
        assert!(error.contains("<html>"), "{error}");
    }

    #[test]
    fn versions() {
        assert_eq!(parse_version(br#"{"version":"0.32.0"}"#).as_deref(), Some("0.32.0"));
        assert_eq!(parse_version(br#"{"version":null}"#), None);
        assert_eq!(parse_version(b"0.1"), None);
    }
}
