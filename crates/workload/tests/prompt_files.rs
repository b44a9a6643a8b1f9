//! Files as people have them. The collected cases are read from `PLIMSOLL_CASES`, beside the workspace by default.
#![expect(clippy::unwrap_used, reason = "what tests share")]

use plimsoll_record::{Level, Plan};
use plimsoll_workload::{Calibration, PromptFile, Stream, Workload};
use proptest::prelude::*;
use std::{collections::BTreeSet, io::Write, path::PathBuf};

fn cases() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases");
    PathBuf::from(std::env::var_os("PLIMSOLL_CASES").unwrap_or_else(|| beside.into())).join("files")
}

/// The collected cases; none, and a line that says so past the test harness, where they are not on this machine.
fn case(name: &str) -> Option<Vec<u8>> {
    let found = std::fs::read(cases().join(name)).ok();
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED 1 case: {name} is not in {}", cases().display());
    }
    found
}

fn prompts(file: PromptFile) -> BTreeSet<String> {
    let n = file.len() as u64;
    let workload =
        Workload::new(&Plan::default(), 1, Some(file), None, None, Calibration::default()).unwrap();
    (0..n)
        .map(|k| {
            let prompt = workload.request(Level::Concurrency(1), 0, Stream::Load, k).prompt;
            let turns: Vec<String> = prompt.chat().map(|(role, text)| format!("{role}: {text}")).collect();
            turns.join(" / ")
        })
        .collect()
}

fn set<const N: usize>(prompts: [&str; N]) -> BTreeSet<String> {
    prompts.map(str::to_owned).into()
}

#[test]
fn sharegpt_with_the_usual_oddities() {
    let Some(bytes) = case("F01-sharegpt-mixed.json") else { return };
    let file = PromptFile::parse(&bytes, "F01-sharegpt-mixed.json").unwrap();
    let places: Vec<usize> = file.first_skipped().iter().map(|skipped| skipped.number).collect();
    assert_eq!(places, [2, 6, 9]);
    assert_eq!(file.skipped().values().sum::<u64>(), 3);
    assert_eq!(
        prompts(file),
        set([
            "user: How do tides work near Esbjerg?",
            "user: Thanks, and the keel?",
            "system: Answer as a sailor. / user: What is a spring tide?",
            "user: Only a question here",
            "user: Name three knots.",
            "user: Roles named the other way?",
            "user: First turn?",
        ])
    );
}

#[test]
fn messages_in_three_shapes() {
    let Some(bytes) = case("F03-messages-plain.jsonl") else { return };
    let file = PromptFile::parse(&bytes, "F03-messages-plain.jsonl").unwrap();
    let workload =
        Workload::new(&Plan::default(), 1, Some(file.clone()), None, None, Calibration::default()).unwrap();
    let notes = workload.notes(1).join("\n");
    assert!(notes.contains("`model` of 1 entries is not used") && notes.contains("`max_tokens`"), "{notes}");
    assert_eq!(
        prompts(file.clone()),
        set([
            "system: Be brief. / user: What is a fathom?",
            "user: Hello / assistant: Hello, how can I help? / user: Name a port.",
            "user: One knot in km/h?",
        ])
    );
    let system = Some("Run's own.".to_owned());
    let replaced =
        Workload::new(&Plan::default(), 1, Some(file), system, None, Calibration::default()).unwrap();
    assert!(replaced.notes(1).join("\n").contains("system messages of 1 prompts are replaced"));
    for k in 0..3 {
        let prompt = replaced.request(Level::Concurrency(1), 0, Stream::Load, k).prompt;
        assert_eq!(prompt.chat().filter(|(role, _)| *role == "system").count(), 1);
    }
}

#[test]
fn blank_empty_and_wrong_lines() {
    let Some(bytes) = case("F05-custom-prompt.jsonl") else { return };
    let file = PromptFile::parse(&bytes, "F05-custom-prompt.jsonl").unwrap();
    let skipped: Vec<(usize, &str)> =
        file.first_skipped().iter().map(|skipped| (skipped.number, skipped.reason.as_str())).collect();
    assert_eq!(
        skipped,
        [
            (4, "empty prompt"),
            (5, "no `prompt`, `messages` or `conversations`"),
            (6, "`prompt` is a list of token ids"),
        ]
    );
    assert_eq!(
        prompts(file),
        set([
            "user: Describe a lighthouse.",
            "user: Describe a mole.",
            "user: Line with a tab\tand \"quotes\".",
            "user: Last line without newline",
        ])
    );
}

#[test]
fn byte_order_mark_and_crlf() {
    let Some(bytes) = case("F06-bom-crlf.jsonl") else { return };
    let file = PromptFile::parse(&bytes, "F06-bom-crlf.jsonl").unwrap();
    assert_eq!(prompts(file), set(["user: Færge til Før", "user: Second", "user: Third"]));
}

#[test]
fn a_page_is_no_data_set() {
    let Some(bytes) = case("F17-html.jsonl") else { return };
    let error = PromptFile::parse(&bytes, "F17-html.jsonl").unwrap_err();
    assert!(error.is_prompt_file());
    assert!(error.to_string().contains("looks like an HTML page") && error.to_string().contains("<a href="));
}

#[test]
fn an_array_under_the_name_of_lines() {
    let Some(bytes) = case("F20-array.jsonl") else { return };
    let file = PromptFile::parse(&bytes, "F20-array.jsonl").unwrap();
    assert_eq!(prompts(file), set(["user: one", "user: two"]));
}

#[test]
fn nothing_usable_says_why() {
    let error = |bytes: &[u8], name: &str| PromptFile::parse(bytes, name).unwrap_err().to_string();
    assert!(error(b"", "empty.jsonl").contains("empty.jsonl: no prompt in it"));
    assert!(error(b"\xef\xbb\xbf\r\n \n", "blank.txt").contains("the file is empty"));
    let all = error(b"{\"prompt\": 3}\nnonsense\n\xff\xfe\xfd\n", "bad.jsonl");
    for part in ["1 x `prompt` is not a string", "1 x not JSON", "1 x not UTF-8", "the first at 1, 2, 3"] {
        assert!(all.contains(part), "{all}");
    }
    assert!(error(b"[{\"prompt\": \"cut of", "cut.json").contains("EOF"));
    assert!(error(b"[]", "none.json").contains("no prompt"));
    assert!(error("[".repeat(100_000).as_bytes(), "deep.json").contains("recursion"));
}

#[test]
fn texts_and_single_objects() {
    let file = PromptFile::parse(b"{\n \"prompt\": \"spread\"\n}\n", "one.json").unwrap();
    assert_eq!(prompts(file), set(["user: spread"]));
    let file = PromptFile::parse(b"first  \r\n\n<b> second\n", "Some.TXT").unwrap();
    assert_eq!(prompts(file), set(["user: first  ", "user: <b> second"]));
    let file = PromptFile::parse(b"[{\"role\":\"user\",\"content\":\"x\"}]", "chat.json").unwrap();
    assert_eq!(prompts(file), set(["user: x"]));
    let file = PromptFile::parse(b"[\"a\", \"b\"]", "strings.json").unwrap();
    assert_eq!(prompts(file), set(["user: a", "user: b"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Each line is used or counted, whatever it holds.
    #[test]
    fn nothing_is_lost(lines in prop::collection::vec(prop_oneof![
        Just("{\"prompt\":\"x\"}".to_owned()), Just("{".to_owned()), "[ -~]{0,20}",
    ], 1..12)) {
        let text = format!("{{\"prompt\":\"first\"}}\n{}", lines.join("\n"));
        let file = PromptFile::parse(text.as_bytes(), "x.jsonl").unwrap();
        let blank = lines.iter().filter(|line| line.trim().is_empty()).count() as u64;
        let counted = file.len() as u64 + file.skipped().values().sum::<u64>();
        prop_assert_eq!(counted + blank, lines.len() as u64 + 1);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text: bool) {
        if let Ok(file) = PromptFile::parse(&bytes, if text { "x.txt" } else { "x" }) {
            prop_assert!(file.len() > 0);
        }
    }
}
