//! The vocabulary of generated prompts.

/// Number of words: one byte picks one.
pub const COUNT: usize = 256;

/// Common English words of four letters. Large byte-pair vocabularies hold each as one token, with and without a
/// space before it; of a small vocabulary they all take about the same number, as they are equally long.
const WORDS: &str = "\
    that with from have this will they more said your were them year some when than \
    over also part time what just into work only play back most know need want even \
    make then look very does down many call well much such long show good made last \
    used same game here take hand high help sign find team lead read real fact both \
    each head life pass turn feel best must open post come week form told next mark \
    hard test rest full care case less list home left data main keep plan name four \
    move near free book away able days tell talk view word cost give kind mean past \
    line sure grow ever sing news hour deal side hold city once done body seen fund \
    went meet love sent land face area mind miss food half else true type live self \
    room fall step stop pick wind pack foot item upon text code page port rate walk \
    site size easy girl soon host norm role ball film stay card cell sold soft late \
    deep base link pull user ways tool felt eyes road gets vote goal wide slow path \
    date fair fell huge town bank safe cast wall door club paid load note song star \
    rule cool save nice feet wife sell fine feed gold park kids wait ship unit edit \
    jump gain push born join cold kick copy task heat wood cash cars pair nine flow \
    fuel farm seek tree rich plus fold ends edge lock wear warm king seat ring pure";
/// The words, in their fixed order.
pub fn vocabulary() -> Vec<&'static str> {
    WORDS.split(' ').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_256_different_ones_of_four_letters() {
        let words = vocabulary();
        assert_eq!(words.len(), COUNT);
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), COUNT);
        assert!(
            words.iter().all(|word| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
    }
}
