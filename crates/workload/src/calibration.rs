use crate::{Prompt, WorkloadError, prompt::words};

/// How a server counts generated prompts: `tokens = overhead + tokens_per_word * words`.
///
/// Tokenizers differ in how they split words, and chat templates add tokens of their own. Two probes of different
/// length give both, so that generated prompts come out as long as asked. The default takes a word for a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Tokens of a word of a generated prompt, at the mean.
    pub tokens_per_word: f64,
    /// Tokens that the template adds to each prompt.
    pub overhead_tokens: f64,
    /// Tokens that the shared system prompt adds, if somebody counted them. They come on top of the asked length.
    pub system_tokens: Option<u32>,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { tokens_per_word: 1.0, overhead_tokens: 0.0, system_tokens: None }
    }
}

/// Words of the short probe; the long one has one more of each word of the vocabulary.
const SHORT: usize = 16;

impl Calibration {
    /// A short and a long prompt, to be sent over the endpoint of the load without a system prompt. The second is the
    /// first and then every word of the vocabulary once, so that the difference is the vocabulary's exact mean.
    pub fn probe_prompts() -> [Prompt; 2] {
        let vocabulary = words::vocabulary();
        let short: Vec<&str> = vocabulary.iter().copied().take(SHORT).collect();
        let long: Vec<&str> = short.iter().chain(&vocabulary).copied().collect();
        [Prompt::user(short.join(" ")), Prompt::user(long.join(" "))]
    }

    /// From the server's counts of prompt tokens (`usage.prompt_tokens`) of the two probes, in their order.
    pub fn from_counts(counts: [u32; 2]) -> Result<Self, WorkloadError> {
        let [short, long] = counts.map(f64::from);
        let tokens_per_word = (long - short) / words::COUNT as f64;
        // A word is one token in large vocabularies and at most five bytes, with its space, in the smallest. Some
        // slack below: whole phrases as tokens are conceivable. A server outside these does not count what it was sent.
        if !(0.25..=8.0).contains(&tokens_per_word) {
            return Err(WorkloadError::calibration(format!(
                "the server counts {} prompt tokens for {SHORT} words and {} for {}: not a count of tokens that prompts \
                 could be measured by; give --tokenizer, or a file of --prompts",
                counts[0],
                counts[1],
                SHORT + words::COUNT,
            )));
        }
        let overhead_tokens = (short - tokens_per_word * SHORT as f64).max(0.0);
        Ok(Self { tokens_per_word, overhead_tokens, system_tokens: None })
    }

    /// With the server's counts of the short probe, once with the shared system prompt and once without.
    #[must_use]
    pub fn with_system(self, with: u32, without: u32) -> Self {
        Self { system_tokens: Some(with.saturating_sub(without)), ..self }
    }

    /// How many tokens of the asked ones are left for the prompt's own text; at least 1.
    pub(crate) fn text_tokens(&self, asked: u32) -> u32 {
        libm::round(f64::from(asked) - self.overhead_tokens).clamp(1.0, f64::from(u32::MAX)) as u32
    }

    /// How many words make these tokens; at least 1.
    pub(crate) fn words(&self, text_tokens: u32) -> usize {
        let words = libm::round(f64::from(text_tokens) / self.tokens_per_word);
        words.clamp(1.0, f64::from(u32::MAX)) as usize
    }

    /// Refuses what would make endless prompts.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let sane = self.tokens_per_word >= 0.01 && self.tokens_per_word.is_finite();
        if sane && self.overhead_tokens.is_finite() && self.overhead_tokens >= 0.0 {
            return Ok(());
        }
        Err(WorkloadError::calibration(format!(
            "a calibration of {} tokens per word and {} more is not usable",
            self.tokens_per_word, self.overhead_tokens
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_counts_give_slope_and_overhead() {
        // 5 tokens of template, 2 tokens a word: 5 + 2 * 16 and 5 + 2 * 272.
        let calibration = Calibration::from_counts([37, 549]).unwrap();
        assert_eq!(
            calibration,
            Calibration { tokens_per_word: 2.0, overhead_tokens: 5.0, system_tokens: None }
        );
        assert_eq!(calibration.words(calibration.text_tokens(105)), 50);
        assert_eq!(calibration.with_system(50, 37).system_tokens, Some(13));
    }

    #[test]
    fn probes_have_the_words_that_the_slope_is_divided_by() {
        let [short, long] = Calibration::probe_prompts().map(|prompt| prompt.flatten());
        assert_eq!(short.split(' ').count(), SHORT);
        assert_eq!(long.split(' ').count(), SHORT + words::COUNT);
        assert!(long.starts_with(&short));
    }

    #[test]
    fn counts_that_contradict_are_refused() {
        for counts in [[0, 0], [100, 100], [500, 20], [1, u32::MAX]] {
            assert!(Calibration::from_counts(counts).unwrap_err().is_calibration(), "{counts:?}");
        }
        let broken = Calibration { tokens_per_word: 0.0, ..Calibration::default() };
        assert!(broken.check().is_err());
    }
}
