//! The mock's tokenizer: a token is a run of text between white space.
//!
//! - The id of a word is a hash of its bytes, below [`VOCABULARY`].
//! - A chat prompt has [`MESSAGE_TOKENS`] tokens per message beside the words (start, role, end) and
//!   [`REPLY_TOKENS`] at the end (start of the assistant's turn).
//! - Generated text is made of words too, each with a leading space: word `i` of an answer depends on the prompt
//!   and on `i` alone. So the number of words of an answer is its number of tokens.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Number of token ids.
pub const VOCABULARY: u32 = 1 << 17;
/// Tokens that the chat template adds per message.
pub const MESSAGE_TOKENS: u32 = 3;
/// Tokens that the chat template adds at the end.
pub const REPLY_TOKENS: u32 = 2;

/// Tokens of [`first_block_hash`].
const FIRST_BLOCK: usize = 16;
/// Ids from here on are words; below are the template's.
const FIRST_WORD: u32 = 16;

const WORDS: [&str; 32] = [
    " anchor", " ballast", " beam", " bilge", " bow", " buoy", " cargo", " chart", " cleat", " deck",
    " draft", " fathom", " freight", " galley", " harbor", " helm", " hull", " keel", " knot", " ledger",
    " mast", " mooring", " pier", " pilot", " port", " quay", " rudder", " sail", " stern", " tide", " wake",
    " wharf",
];

/// Token ids of a text.
pub fn encode(text: &str) -> Vec<u32> {
    text.split_whitespace().map(word_id).collect()
}

/// Token ids of a conversation of (role, text) under the chat template.
pub fn encode_chat<'a>(messages: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u32> {
    let mut tokens = Vec::new();
    for (role, text) in messages {
        tokens.extend([1, word_id(role)]);
        tokens.extend(text.split_whitespace().map(word_id));
        tokens.push(2);
    }
    tokens.extend([1, word_id("assistant")]);
    tokens
}

/// Hash of a prompt; the seed of its answer.
pub fn prompt_hash(tokens: &[u32]) -> u64 {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
    xxh3_64(&bytes)
}

/// Hash of a prompt's first 16 tokens.
pub fn first_block_hash(tokens: &[u32]) -> u64 {
    prompt_hash(tokens.get(..FIRST_BLOCK).unwrap_or(tokens))
}

/// Token `index` of the answer to a prompt.
pub fn answer_word(prompt_hash: u64, index: u32) -> &'static str {
    let draw = xxh3_64_with_seed(&index.to_le_bytes(), prompt_hash);
    WORDS.get((draw % WORDS.len() as u64) as usize).copied().unwrap_or(" keel")
}

/// Id of that token.
pub fn answer_id(prompt_hash: u64, index: u32) -> u32 {
    word_id(answer_word(prompt_hash, index).trim_start())
}

fn word_id(word: &str) -> u32 {
    let range = u64::from(VOCABULARY - FIRST_WORD);
    FIRST_WORD + (xxh3_64(word.as_bytes()) % range) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_token() {
        assert_eq!(encode(" one\ttwo  three\n").len(), 3);
        assert_eq!(encode("one two"), encode("one  two"));
        assert_ne!(encode("one"), encode("two"));
        assert!(encode(" \n").is_empty());
    }

    #[test]
    fn the_template_adds_a_fixed_number() {
        let tokens = encode_chat([("system", "be brief"), ("user", "one two three")]);
        assert_eq!(tokens.len() as u32, 5 + 2 * MESSAGE_TOKENS + REPLY_TOKENS);
    }

    #[test]
    fn answers_depend_on_the_prompt_and_the_index() {
        let answer = |seed| (0..50).map(|index| answer_word(seed, index)).collect::<String>();
        assert_eq!(answer(1), answer(1));
        assert_ne!(answer(1), answer(2));
        assert_eq!(answer(1).split_whitespace().count(), 50);
        let ids: Vec<u32> = (0..50).map(|index| answer_id(1, index)).collect();
        assert_eq!(ids, encode(&answer(1)));
    }
}
