//! Generated prompts.

mod exact;
pub mod words;

use crate::{
    Calibration, Tokenizer,
    draw::{Draw, Key, Purpose},
};
use std::sync::Arc;

/// Makes the text of prompts that no cache has seen.
#[derive(Debug)]
pub struct Generator {
    vocabulary: Vec<&'static str>,
    calibration: Calibration,
    tokenizer: Option<Arc<Tokenizer>>,
}

impl Generator {
    pub fn new(calibration: Calibration, tokenizer: Option<Arc<Tokenizer>>) -> Self {
        Self { vocabulary: words::vocabulary(), calibration, tokenizer }
    }

    /// A prompt that the server should count as `asked` tokens, template included.
    ///
    /// Its first eight words spell a hash of the key, so that two requests part within the first block of sixteen
    /// tokens (the smallest block that servers cache prefixes by): of a million requests two share it with a
    /// probability under 1e-7, and the words after it, drawn apart, would have to be equal as well.
    pub fn prompt(&self, key: Key, asked: u32) -> String {
        let tokens = self.calibration.text_tokens(asked);
        let mut words = self.words(key);
        match &self.tokenizer {
            Some(tokenizer) => exact::fit(tokens, words, |text| tokenizer.count(text)),
            None => exact::join(&mut words, self.calibration.words(tokens)),
        }
    }

    /// The nonce, then words without end.
    fn words(&self, key: Key) -> impl Iterator<Item = &'static str> {
        let nonce = key.hash(Purpose::Nonce).to_le_bytes();
        let spelled = nonce.into_iter().filter_map(|byte| self.vocabulary.get(usize::from(byte)).copied());
        spelled.chain(Deck::new(self.vocabulary.clone(), key.draw(Purpose::PromptWords)))
    }
}

/// Deals the vocabulary in random order, again and again: each word about equally often, so that the length of a
/// prompt in tokens varies less than that of independent draws.
struct Deck {
    words: Vec<&'static str>,
    dealt: usize,
    draw: Draw,
}

impl Deck {
    fn new(words: Vec<&'static str>, draw: Draw) -> Self {
        Self { dealt: words.len(), words, draw }
    }
}

impl Iterator for Deck {
    type Item = &'static str;

    fn next(&mut self) -> Option<&'static str> {
        if self.dealt == self.words.len() {
            self.draw.shuffle(&mut self.words);
            self.dealt = 0;
        }
        self.dealt += 1;
        self.words.get(self.dealt - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn key(k: u64) -> Key {
        Key { k, ..Key::of_run(11) }
    }

    #[test]
    fn without_a_tokenizer_words_are_tokens_as_calibrated() {
        let generator = Generator::new(Calibration::default(), None);
        for asked in [1, 7, 16, 256, 5000] {
            assert_eq!(generator.prompt(key(0), asked).split(' ').count(), asked as usize);
        }
        let calibration = Calibration { tokens_per_word: 2.5, overhead_tokens: 20.0, system_tokens: None };
        let generator = Generator::new(calibration, None);
        assert_eq!(generator.prompt(key(0), 120).split(' ').count(), 40);
        assert_eq!(generator.prompt(key(0), 5).split(' ').count(), 1);
    }

    #[test]
    fn each_word_comes_about_equally_often() {
        let generator = Generator::new(Calibration::default(), None);
        let prompt = generator.prompt(key(0), 8 + 256);
        let words: Vec<&str> = prompt.split(' ').collect();
        assert_eq!(words[8..].iter().collect::<BTreeSet<_>>().len(), words::COUNT);
    }
}
