//! Files of prompts.

mod entry;
mod order;
mod sniff;

pub use order::Order;

use crate::{Prompt, WorkloadError};
use entry::Entry;
use std::collections::BTreeMap;

/// How many skipped entries are kept with their place.
const KEPT: usize = 5;

/// The usable prompts of a file, and what was not usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFile {
    name: String,
    prompts: Vec<Prompt>,
    skipped: BTreeMap<String, u64>,
    first_skipped: Vec<Skipped>,
    unused_fields: BTreeMap<&'static str, u64>,
    dropped_systems: u64,
}

/// An entry that was not usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its line, or in a JSON array its place, from 1.
    pub number: usize,
    /// Why.
    pub reason: String,
}

impl PromptFile {
    /// Reads prompts; `name` is the file's name, for messages.
    ///
    /// Read are JSON Lines and JSON arrays of `{"prompt": "..."}`, `{"messages": [{"role", "content"}, ...]}`, bare lists
    /// of messages, bare strings, and `ShareGPT`'s `{"conversations": [{"from", "value"}, ...]}`, of which the first turn
    /// of the user is asked, after the system's if there is one. A name that ends in `.txt` is read as one prompt
    /// per line. A byte order mark, CRLF and blank lines are no part of any prompt.
    ///
    /// Entries that are not usable are counted by reason, and the rest is used. It is an error when nothing is usable.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, WorkloadError> {
        let refuse = |reason: String| WorkloadError::prompt_file(format!("{name}: {reason}"));
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = name.to_ascii_lowercase().ends_with(".txt");
        if let Some(reason) = sniff::not_prompts(bytes, text) {
            return Err(refuse(reason));
        }
        let mut file = Self::empty(name);
        if text {
            file.read_lines(bytes, entry::of_text);
        } else {
            file.read_json(bytes);
        }
        if file.prompts.is_empty() { Err(refuse(file.why_none())) } else { Ok(file) }
    }

    /// The file's name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of usable prompts, at least 1.
    #[expect(
        clippy::len_without_is_empty,
        reason = "never empty: a file without a usable prompt is an error"
    )]
    pub fn len(&self) -> usize {
        self.prompts.len()
    }

    /// Entries that were not usable, by reason.
    pub fn skipped(&self) -> &BTreeMap<String, u64> {
        &self.skipped
    }

    /// The first of them, with their places.
    pub fn first_skipped(&self) -> &[Skipped] {
        &self.first_skipped
    }

    /// The prompt at a position, the positions wrapping around.
    pub(crate) fn prompt(&self, position: usize) -> Prompt {
        self.prompts.get(position % self.prompts.len().max(1)).cloned().unwrap_or_default()
    }

    /// Takes the prompts' own system messages away, for a run that has one of its own.
    pub(crate) fn drop_system_messages(&mut self) {
        for prompt in &mut self.prompts {
            let before = prompt.messages.len();
            prompt.messages.retain(|message| message.role != "system");
            self.dropped_systems += u64::from(prompt.messages.len() < before);
        }
    }

    /// What a reader of the results should know; each is a sentence.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.skipped.is_empty() {
            let total: u64 = self.skipped.values().sum();
            notes.push(format!(
                "{}: {total} entries are not usable and were skipped: {}",
                self.name,
                self.reasons()
            ));
        }
        for (field, count) in &self.unused_fields {
            notes.push(format!("{}: `{field}` of {count} entries is not used; the plan's holds", self.name));
        }
        if self.dropped_systems > 0 {
            notes.push(format!(
                "{}: the system messages of {} prompts are replaced by the run's system prompt",
                self.name, self.dropped_systems
            ));
        }
        notes
    }

    fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            prompts: Vec::new(),
            skipped: BTreeMap::new(),
            first_skipped: Vec::new(),
            unused_fields: BTreeMap::new(),
            dropped_systems: 0,
        }
    }

    fn read_json(&mut self, bytes: &[u8]) {
        // One value over the whole file: an array, or a single object that is spread over lines.
        let whole = match bytes.trim_ascii_start().first() {
            Some(b'[' | b'{') => serde_json::from_slice(bytes),
            _ => Ok(serde_json::Value::Null),
        };
        match whole {
            Ok(serde_json::Value::Array(items)) if !entry::is_conversation(&items) => {
                for (index, item) in items.into_iter().enumerate() {
                    self.add(index + 1, entry::of_value(item));
                }
            }
            Ok(value @ (serde_json::Value::Object(_) | serde_json::Value::Array(_))) => {
                self.add(1, entry::of_value(value));
            }
            Ok(_) => self.read_lines(bytes, entry::of_json_line),
            Err(error) => {
                self.read_lines(bytes, entry::of_json_line);
                if self.prompts.is_empty() {
                    self.skipped.insert(format!("as one value: {error}"), 1);
                }
            }
        }
    }

    fn read_lines(&mut self, bytes: &[u8], read: impl Fn(&str) -> Entry) {
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let entry = std::str::from_utf8(line).map_or_else(|_| Entry::skip("not UTF-8"), &read);
            self.add(index + 1, entry);
        }
    }

    fn add(&mut self, number: usize, entry: Entry) {
        for field in entry.unused_fields {
            *self.unused_fields.entry(field).or_default() += 1;
        }
        match entry.messages {
            Ok(messages) => self.prompts.push(Prompt { system: None, messages }),
            Err(reason) => {
                *self.skipped.entry(reason.clone()).or_default() += 1;
                if self.first_skipped.len() < KEPT {
                    self.first_skipped.push(Skipped { number, reason });
                }
            }
        }
    }

    fn reasons(&self) -> String {
        let reasons: Vec<String> =
            self.skipped.iter().take(KEPT).map(|(reason, count)| format!("{count} x {reason}")).collect();
        let places: Vec<String> =
            self.first_skipped.iter().map(|skipped| skipped.number.to_string()).collect();
        format!("{} (the first at {})", reasons.join(", "), places.join(", "))
    }

    fn why_none(&self) -> String {
        if self.skipped.is_empty() {
            "no prompt in it, the file is empty; write one {\"prompt\": \"...\"} per line".to_owned()
        } else {
            format!(
                "no usable prompt: {}; write one {{\"prompt\": \"...\"}} or {{\"messages\": [...]}} per line",
                self.reasons()
            )
        }
    }
}
