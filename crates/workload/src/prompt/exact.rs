use std::ops::RangeInclusive;

/// Joins the next `n` words.
pub fn join<'a>(words: &mut impl Iterator<Item = &'a str>, n: usize) -> String {
    let mut text = String::with_capacity(n * 5);
    extend(&mut text, words, n);
    text
}

/// Short endings, tried where less than a word is missing.
const FILLERS: [&str; 6] = [" a", ".", " I", "!", ",", "?"];

/// Rounds of counting; a text is fitted in two or three.
const ROUNDS: usize = 48;

/// A text of exactly `target` tokens as `count` counts them, made of the first words and, if need be, a short ending.
/// Where a tokenizer has no text of that length (a word of several tokens that no ending completes), the nearest that
/// was found.
pub fn fit<'a>(
    target: u32,
    mut words: impl Iterator<Item = &'a str>,
    count: impl Fn(&str) -> Option<u32>,
) -> String {
    let mut text = join(&mut words, target as usize);
    let mut nearest: Option<(u32, String)> = None;
    for _ in 0..ROUNDS {
        let Some(counted) = count(&text) else { break };
        if counted == target {
            return text;
        }
        let miss = counted.abs_diff(target);
        if nearest.as_ref().is_none_or(|(least, _)| miss < *least) {
            nearest = Some((miss, text.clone()));
        }
        let per_word = f64::from(counted) / (text.matches(' ').count() + 1) as f64;
        let whole_words = libm::floor(f64::from(miss) / per_word.max(0.01)) as usize;
        if counted > target {
            if !cut(&mut text, whole_words.max(1)) {
                break;
            }
        } else if whole_words >= 2 {
            extend(&mut text, &mut words, whole_words);
        } else if !finish(&mut text, words.next(), counted..=target, &count) {
            // No ending fits: another last word may.
            cut(&mut text, 1);
            extend(&mut text, &mut words, 1);
        }
    }
    nearest.map_or(text, |(_, text)| text)
}

fn extend<'a>(text: &mut String, words: &mut impl Iterator<Item = &'a str>, n: usize) {
    for word in words.take(n) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
}

/// Takes the last `n` words away, but never the first word; false when there was none to take.
fn cut(text: &mut String, n: usize) -> bool {
    let before = text.len();
    for _ in 0..n {
        let Some(space) = text.rfind(' ') else { break };
        text.truncate(space);
    }
    text.len() < before
}

/// Appends one more word or a short ending, whichever first raises the count without passing the target.
fn finish(
    text: &mut String,
    word: Option<&str>,
    counted_to_target: RangeInclusive<u32>,
    count: impl Fn(&str) -> Option<u32>,
) -> bool {
    let length = text.len();
    let word = word.map(|word| format!(" {word}"));
    for ending in word.as_deref().into_iter().chain(FILLERS) {
        text.push_str(ending);
        let fits = |now: &u32| counted_to_target.contains(now) && now != counted_to_target.start();
        if count(text).as_ref().is_some_and(fits) {
            return true;
        }
        text.truncate(length);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::words::vocabulary;

    /// Tokenizers that count words, bytes, pieces of three bytes of a word, and words that differ in cost.
    fn counters() -> [fn(&str) -> Option<u32>; 4] {
        [
            |text| Some(text.split_whitespace().count() as u32),
            |text| Some(text.len() as u32),
            |text| Some(text.split(' ').map(|word| word.len().div_ceil(3) as u32).sum()),
            |text| Some(text.split(' ').map(|word| 1 + u32::from(word.as_bytes()[0]) % 3).sum()),
        ]
    }

    #[test]
    fn any_length_from_a_word_on_is_met_exactly() {
        for target in 4..700 {
            for (index, count) in counters().into_iter().enumerate() {
                let text = fit(target, vocabulary().into_iter().cycle(), count);
                assert_eq!(count(&text), Some(target), "counter {index}");
            }
        }
    }

    #[test]
    fn what_cannot_be_met_ends_and_is_near() {
        // Every text is an even number of tokens.
        let even = |text: &str| Some(2 * text.split_whitespace().count() as u32);
        let text = fit(101, vocabulary().into_iter().cycle(), even);
        assert!(even(&text).unwrap().abs_diff(101) <= 1);
        // Less than one word has.
        assert_eq!(fit(1, vocabulary().into_iter().cycle(), |text| Some(text.len() as u32)), "that");
        // Never counts anything.
        assert!(!fit(10, vocabulary().into_iter().cycle(), |_| None).is_empty());
        assert!(!fit(10, vocabulary().into_iter().cycle(), |_| Some(0)).is_empty());
    }
}
