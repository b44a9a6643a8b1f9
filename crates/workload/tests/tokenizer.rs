//! Prompts of exact length. `PLIMSOLL_TOKENIZERS` holds tokenizers of real models, beside the workspace by default.
#![cfg(feature = "tokenizers")]
#![expect(clippy::unwrap_used, reason = "what tests share")]

use plimsoll_record::{LengthLaw, Level, Plan};
use plimsoll_workload::{Calibration, Stream, Tokenizer, Workload};
use std::{io::Write, path::PathBuf};

const TINY: &[u8] = include_bytes!("../../../fixtures/tokenizers/tiny/tokenizer.json");

fn tiny() -> Tokenizer {
    Tokenizer::from_bytes(TINY, "tiny").unwrap()
}

/// A real tokenizer; none, and a line that says so past the test harness, where it is not on this machine.
fn gpt2() -> Option<Tokenizer> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/tokenizers");
    let folder = PathBuf::from(std::env::var_os("PLIMSOLL_TOKENIZERS").unwrap_or_else(|| beside.into()));
    let path = folder.join("gpt2/tokenizer.json");
    let Ok(bytes) = std::fs::read(&path) else {
        let _ = writeln!(std::io::stderr(), "SKIPPED 1 tokenizer: no {}", path.display());
        return None;
    };
    Some(Tokenizer::from_bytes(&bytes, "gpt2").unwrap())
}

fn exact(make: impl Fn() -> Option<Tokenizer>) {
    let Some(counter) = make() else { return };
    for asked in [8, 16, 61, 256] {
        let plan = Plan { input_tokens: LengthLaw::Fixed(asked), ..Plan::default() };
        let workload = Workload::new(&plan, 3, None, None, make(), Calibration::default()).unwrap();
        for k in 0..20 {
            let request = workload.request(Level::Concurrency(4), 0, Stream::Load, k);
            assert_eq!(counter.count(&request.prompt.flatten()), Some(asked));
            assert_eq!(request, workload.request(Level::Concurrency(4), 0, Stream::Load, k));
        }
    }
}

/// Counted by hand: `h e` is a merge, `l`, `l`, `o` are letters; ` the` and ` with` are merged to one token each.
#[test]
fn counts_are_those_of_the_text_alone() {
    let tokenizer = tiny();
    assert_eq!(tokenizer.count("hello"), Some(4));
    assert_eq!(tokenizer.count("a the with"), Some(3));
    assert_eq!(tokenizer.count("the the the the the the the the the the"), Some(10));
    assert_eq!(tokenizer.count(""), Some(0));
}

#[test]
fn prompts_are_of_exact_length_where_words_are_split() {
    exact(|| Some(tiny()));
}

#[test]
fn prompts_are_of_exact_length_by_a_real_tokenizer() {
    exact(gpt2);
}

#[test]
fn each_word_is_one_token_of_a_large_vocabulary() {
    let Some(tokenizer) = gpt2() else { return };
    let workload = Workload::new(&Plan::default(), 3, None, None, None, Calibration::default()).unwrap();
    for k in 0..20 {
        let request = workload.request(Level::Concurrency(4), 0, Stream::Load, k);
        assert_eq!(tokenizer.count(&request.prompt.flatten()), request.asked_input_tokens);
    }
    let [short, long] =
        Calibration::probe_prompts().map(|prompt| tokenizer.count(&prompt.flatten()).unwrap());
    assert_eq!(Calibration::from_counts([short, long]).unwrap(), Calibration::default());
}

#[test]
fn the_template_is_left_room_and_the_system_prompt_comes_on_top() {
    let calibration = Calibration { overhead_tokens: 6.0, ..Calibration::default() };
    let plan = Plan { input_tokens: LengthLaw::Fixed(100), ..Plan::default() };
    let system = Some("the the".to_owned());
    let workload = Workload::new(&plan, 3, None, system, Some(tiny()), calibration).unwrap();
    let request = workload.request(Level::Concurrency(4), 0, Stream::Load, 0);
    assert_eq!(workload.count_tokens(&request.prompt.messages[0].content), Some(94));
    assert_eq!(request.asked_input_tokens, Some(102));
}

#[test]
fn what_is_no_tokenizer_is_refused() {
    for bytes in [b"".as_slice(), b"{}", b"<html>", b"{\"version\":\"1.0\"}"] {
        let error = Tokenizer::from_bytes(bytes, "x.json").unwrap_err();
        assert!(error.is_tokenizer() && error.to_string().contains("x.json: not a usable tokenizer"));
    }
}
