//! What a plan and a seed promise of the requests.
#![expect(clippy::unwrap_used, reason = "what tests share")]

use plimsoll_record::{LengthLaw, Level, Plan};
use plimsoll_workload::{Calibration, PlannedRequest, PromptFile, Regime, Stream, Workload};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn generated(plan: &Plan, seed: u64) -> Workload {
    Workload::new(plan, seed, None, None, None, Calibration::default()).unwrap()
}

fn drawn_lengths() -> Plan {
    Plan {
        input_tokens: LengthLaw::Uniform { low: 200, high: 300 },
        output_tokens: LengthLaw::Normal { mean: 100, sd: 20 },
        ..Plan::default()
    }
}

fn first_block(request: &PlannedRequest) -> Vec<String> {
    request.prompt.messages[0].content.split(' ').take(16).map(str::to_owned).collect()
}

#[test]
fn no_two_requests_of_a_run_share_their_first_block() {
    let workload = generated(&Plan::default(), 1);
    let mut blocks = BTreeSet::new();
    let mut nonces = BTreeSet::new();
    let mut count = 0;
    for level in [1, 2, 32] {
        for repeat in 0..2 {
            for stream in [Stream::Warmup, Stream::Load] {
                for k in 0..100 {
                    let block = first_block(&workload.request(Level::Concurrency(level), repeat, stream, k));
                    nonces.insert(block[..8].to_vec());
                    blocks.insert(block);
                    count += 1;
                }
            }
        }
    }
    assert_eq!(blocks.len(), count);
    assert_eq!(nonces.len(), count);
}

#[test]
fn runs_of_different_seeds_share_no_block_and_of_the_same_seed_are_equal() {
    let plan = drawn_lengths();
    let (one, same, other) = (generated(&plan, 1), generated(&plan, 1), generated(&plan, 2));
    for k in 0..50 {
        let request = one.request(Level::Concurrency(8), 0, Stream::Load, k);
        assert_eq!(request, same.request(Level::Concurrency(8), 0, Stream::Load, k));
        assert_ne!(
            first_block(&request),
            first_block(&other.request(Level::Concurrency(8), 0, Stream::Load, k))
        );
    }
}

#[test]
fn a_change_of_one_law_leaves_the_other_draws() {
    let short = Plan { output_tokens: LengthLaw::Fixed(4), ..drawn_lengths() };
    let (one, two) = (generated(&drawn_lengths(), 1), generated(&short, 1));
    for k in 0..20 {
        let (one, two) = (
            one.request(Level::Concurrency(8), 0, Stream::Load, k),
            two.request(Level::Concurrency(8), 0, Stream::Load, k),
        );
        assert_eq!(one.prompt, two.prompt);
        assert_eq!(two.max_tokens, 4);
    }
}

#[test]
fn a_system_prompt_is_shared_and_its_length_known_or_absent() {
    let system = || Some("Be brief.".to_owned());
    let plan = Plan::default();
    let unknown = Workload::new(&plan, 1, None, system(), None, Calibration::default()).unwrap();
    let request = unknown.request(Level::Concurrency(1), 0, Stream::Load, 0);
    assert_eq!(request.prompt.system.as_deref(), Some("Be brief."));
    assert_eq!(request.asked_input_tokens, None);
    assert_eq!(unknown.regime(), Regime::SharedPrefix);
    let calibration = Calibration::from_counts([21, 277]).unwrap().with_system(33, 21);
    let known = Workload::new(&plan, 1, None, system(), None, calibration).unwrap();
    assert_eq!(known.request(Level::Concurrency(1), 0, Stream::Load, 0).asked_input_tokens, Some(256 + 12));
    assert_eq!(generated(&plan, 1).regime(), Regime::Cold);
}

/// A server whose tokenizer takes one token for each three bytes of a word and its space, and a template of 19 tokens.
fn split_words(text: &str) -> u32 {
    19 + text.split(' ').map(|word| (word.len() as u32 + 1).div_ceil(3)).sum::<u32>()
}

#[test]
fn calibrated_prompts_come_out_within_two_percent() {
    let counts = Calibration::probe_prompts().map(|prompt| split_words(&prompt.flatten()));
    let calibration = Calibration::from_counts(counts).unwrap();
    for asked in [128, 256, 1000] {
        let plan = Plan { input_tokens: LengthLaw::Fixed(asked), ..Plan::default() };
        let workload = Workload::new(&plan, 1, None, None, None, calibration).unwrap();
        for k in 0..20 {
            let request = workload.request(Level::Concurrency(4), 0, Stream::Load, k);
            let counted = split_words(&request.prompt.flatten());
            assert!(counted.abs_diff(asked) * 50 <= asked, "{counted} for {asked}");
            assert_eq!(request.asked_input_tokens, Some(asked));
        }
    }
}

#[test]
fn prompts_of_a_file_keep_their_text_and_repeats_are_noted() {
    let file = PromptFile::parse(b"one\ntwo\nthree\n", "three.txt").unwrap();
    let workload =
        Workload::new(&Plan::default(), 1, Some(file), None, None, Calibration::default()).unwrap();
    let round: BTreeSet<String> = (0..3)
        .map(|k| workload.request(Level::Concurrency(4), 0, Stream::Load, k).prompt.flatten())
        .collect();
    assert_eq!(round, ["one", "two", "three"].map(str::to_owned).into());
    let request = workload.request(Level::Concurrency(4), 0, Stream::Load, 0);
    assert_eq!(request.prompt, workload.request(Level::Concurrency(4), 0, Stream::Load, 3).prompt);
    assert_eq!(request.asked_input_tokens, None);
    assert_eq!(request.max_tokens, 128);
    assert_eq!(workload.regime().name(), "natural");
    assert!(workload.notes(3).is_empty());
    assert!(workload.notes(4)[0].contains("prompts repeat: 3 distinct"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn lengths_are_as_asked_whatever_the_key(
        seed: u64, level in 1_u32..20_000, repeat: u32, k: u64, low in 1_u32..300, more in 0_u32..300,
    ) {
        let plan = Plan {
            input_tokens: LengthLaw::Uniform { low, high: low + more },
            output_tokens: LengthLaw::Normal { mean: 5, sd: 400 },
            ..Plan::default()
        };
        let workload = generated(&plan, seed);
        let request = workload.request(Level::Concurrency(level), repeat, Stream::Load, k);
        let words = request.prompt.flatten().split(' ').count() as u32;
        prop_assert_eq!(request.asked_input_tokens, Some(words));
        prop_assert!((low..=low + more).contains(&words));
        prop_assert!(request.max_tokens >= 1);
        prop_assert_eq!(request.id, k);
    }
}
