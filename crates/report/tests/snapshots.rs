//! Whole reports of a made-up run.

mod sample;

use plimsoll_metrics::RunState;
use plimsoll_report::{ReportInput, levels_csv, markdown, summary_json, table};

fn with_input<T>(make: impl Fn(&ReportInput<'_>) -> T) -> T {
    let (plan, conditions, summary) = (sample::plan(), sample::conditions(), sample::summary());
    make(&ReportInput { plan: &plan, conditions: &conditions, summary: &summary })
}

#[test]
fn terminal() {
    let text = with_input(|input| table(input, None));
    assert!(text.lines().all(|line| line.chars().count() <= 120));
    insta::assert_snapshot!(text);
}

#[test]
fn terminal_of_72_columns_loses_nothing() {
    let text = with_input(|input| table(input, Some(72)));
    assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
    for title in ["req/s", "TTFT ms", "TPOT ms", "ITL ms", "E2E s", "running", "waiting", "KV cache %"] {
        assert_eq!(text.matches(title).count(), 1, "{title}");
    }
}

#[test]
fn report_md() {
    let text = with_input(markdown);
    // The definitions belong to the crate that computes by them.
    let (report, definitions) = text.split_once("| formula | numbers").unwrap();
    insta::assert_snapshot!(report);
    for id in ["ttft", "tpot", "itl", "e2e", "throughput", "kv_usage"] {
        assert!(definitions.contains(&format!("\n| `{id}` | ")), "{id}");
    }
}

#[test]
fn levels() {
    insta::assert_snapshot!(with_input(|input| levels_csv(input).unwrap()));
}

#[test]
fn json_reads_back_as_the_same_summary() {
    let text = with_input(|input| summary_json(input).unwrap());
    let back: plimsoll_metrics::Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(back, sample::summary());
    assert!(text.ends_with("}\n"));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let all = |input: &ReportInput<'_>| {
        (table(input, None), markdown(input), levels_csv(input).unwrap(), summary_json(input).unwrap())
    };
    assert_eq!(with_input(all), with_input(all));
}

#[test]
fn a_partial_run_says_so_first_and_a_clean_one_counts_its_checks() {
    let (plan, conditions, mut summary) = (sample::plan(), sample::conditions(), sample::summary());
    summary.state = RunState::Partial { reason: "stopped by the user at level 16".into() };
    summary.flags.clear();
    for level in &mut summary.levels {
        level.flags.clear();
    }
    let input = ReportInput { plan: &plan, conditions: &conditions, summary: &summary };
    assert!(table(&input, None).starts_with("PARTIAL: stopped by the user at level 16;"));
    assert!(table(&input, None).contains("no integrity flags (38 checks)"));
    let markdown = markdown(&input);
    assert_eq!(markdown.lines().nth(2).map(|line| line.starts_with("**PARTIAL:** stopped")), Some(true));
    assert!(markdown.contains("no integrity flags (38 checks)"));
}

#[test]
fn repeats_are_told_apart() {
    let (plan, conditions, mut summary) = (sample::plan(), sample::conditions(), sample::summary());
    summary.levels[1].level = 4.into();
    summary.levels[1].repeat = 1;
    let input = ReportInput { plan: &plan, conditions: &conditions, summary: &summary };
    assert!(table(&input, None).contains(" level rep   n fail"));
    assert!(table(&input, None).contains("level 4 (repeat 2): coalesced_reads"));
    assert!(markdown(&input).contains("| concurrency | repeat | window (s) | n | failed |"));
}

/// A withheld value stands in `summary.json` and nowhere else.
#[test]
fn withheld_values_are_not_shown() {
    with_input(|input| {
        for text in [table(input, None), markdown(input), levels_csv(input).unwrap()] {
            assert!(!text.contains("4.20") && !text.contains("0.0042"));
        }
        assert!(summary_json(input).unwrap().contains("0.0042"));
    });
}

/// No text of a server breaks out of its place, whatever it says.
#[test]
fn hostile_texts() {
    let evil =
        "x\u{1b}[2J\r\n\n# h\n| a | b |\n```\n<img src=x onerror=1> =cmd|' /C calc'!A0 [l](javascript:1)";
    let (mut plan, mut conditions, mut summary) = (sample::plan(), sample::conditions(), sample::summary());
    plan.slo = Some(evil.into());
    conditions.server.model = evil.into();
    conditions.server.cache_config.insert(evil.into(), evil.into());
    conditions.server.concepts.insert(evil.into(), evil.into());
    conditions.notes.push(evil.into());
    conditions.prompts.skipped.insert(evil.into(), 1);
    summary.flags[0].text = evil.into();
    summary.flags[0].id = evil.into();
    summary.bottleneck.text = evil.into();
    summary.levels[0].failures.insert(evil.into(), 1);
    summary.levels[0].numbers[7].reason = Some(evil.into());
    summary.slo[0].levels[0].text = evil.into();
    let clean = with_input(markdown);
    let input = ReportInput { plan: &plan, conditions: &conditions, summary: &summary };
    for text in [table(&input, None), markdown(&input), levels_csv(&input).unwrap()] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }
    let hostile = markdown(&input);
    let headings = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(headings(&hostile), headings(&clean));
    assert!(!hostile.lines().any(|line| line.starts_with("```")));
    let csv = levels_csv(&input).unwrap();
    assert_eq!(csv.lines().count(), 3);
}
