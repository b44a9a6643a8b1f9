//! Pages as servers of several kinds write them, and the rule that a bad line costs no good one.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use plimsoll_record::{Counter, Gauge, HistogramName};
use plimsoll_wire::{concepts::Concepts, prometheus::Page};
use proptest::prelude::*;

fn good_line() -> impl Strategy<Value = String> {
    let label = ("[a-z_]{1,6}", "[a-z,}={ #]{0,8}").prop_map(|(name, value)| format!("{name}=\"{value}\""));
    let labels = prop::collection::vec(label, 0..2).prop_map(|labels| match labels.as_slice() {
        [] => String::new(),
        [one, ..] => format!("{{{one}}}"),
    });
    let value = prop::sample::select(vec!["1.0", "+Inf", "5e+011", "-0.25", "3 1790000000123"]);
    ("[a-z:_]{1,8}", labels, value).prop_map(|(name, labels, value)| format!("{name}{labels} {value}"))
}

fn bad_line() -> impl Strategy<Value = Vec<u8>> {
    let kinds: &[&[u8]] =
        &[b"a N/A", b"a{b=\"c\" 1", b"not a sample", b"\xFF\xFE", b"a{b=\"\\", b"{} 1", b"= 1", b"a 1 2 3"];
    prop::sample::select(kinds.to_vec()).prop_map(<[u8]>::to_vec)
}

proptest! {
    #[test]
    fn a_bad_line_costs_no_good_one(
        lines in prop::collection::vec(prop_oneof![good_line().prop_map(|l| (true, l.into_bytes())), bad_line().prop_map(|l| (false, l))], 1..30),
        ends in prop::sample::select(vec!["\n", "\r\n", "  \n", "\n\n"]),
    ) {
        let mut body = b"# a comment\n".to_vec();
        let mut clean = body.clone();
        for (good, line) in &lines {
            body.extend_from_slice(line);
            body.extend_from_slice(ends.as_bytes());
            if *good {
                clean.extend_from_slice(line);
                clean.push(b'\n');
            }
        }
        let page = Page::parse(&body).unwrap();
        let alone = Page::parse(&clean).unwrap();
        prop_assert_eq!(page.bad_lines as usize, lines.iter().filter(|(good, _)| !good).count());
        prop_assert_eq!(alone.bad_lines, 0);
        prop_assert_eq!(&page.samples, &alone.samples);
        prop_assert_eq!(page.samples.len() + page.duplicates as usize, lines.iter().filter(|(good, _)| *good).count());
    }

    #[test]
    fn no_body_panics(body in prop::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>()) {
        let _ = Page::parse(&body);
        let text = b"# TYPE a histogram\na_bucket{le=\"+Inf\",x=\"\\\"\"} 1 2 # {t=\"1\"} 1\n{\"b.c\",d=\"e\"} NaN\nvllm:x_sum 1\n";
        if let Ok(page) = Page::parse(&text[..cut.index(text.len())]) {
            Concepts::read(&page, Some("m"));
        }
    }
}

fn concepts(page: &str) -> Concepts {
    Concepts::read(&Page::parse(page.as_bytes()).unwrap(), Some("m"))
}

fn gauge(page: &str, gauge: Gauge) -> Option<f64> {
    concepts(page).gauges.get(&gauge).copied()
}

#[test]
fn what_is_absent_is_not_zero() {
    let none = concepts("# TYPE vllm:num_requests_running gauge\nother 1\nvllm:num_requests_waiting NaN\n");
    assert!(
        none.is_empty() && none.gauges.is_empty() && none.counters.is_empty() && none.finished.is_empty()
    );
    assert_eq!(none.missing.len(), 3 + 5 + 1 + 7);
}

#[test]
fn engines_are_summed_and_shares_averaged() {
    let page = "vllm:num_requests_running{engine=\"0\"} 8\nvllm:num_requests_running{engine=\"1\"} 4\n\
        vllm:kv_cache_usage_perc{engine=\"0\"} 0.75\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.25\n";
    assert_eq!(gauge(page, Gauge::Running), Some(12.0));
    assert_eq!(gauge(page, Gauge::KvUsage), Some(0.5));
    // Each process shows the gauge, one keeps it.
    let pids = "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"1\"} 0\nvllm:kv_cache_usage_perc{engine=\"0\",pid=\"2\"} 0.5\n";
    assert_eq!(gauge(pids, Gauge::KvUsage), Some(0.5));
}

#[test]
fn names_of_older_and_other_servers() {
    let old = "vllm:gpu_cache_usage_perc 0.25\nvllm:generation_tokens 60\n\
        vllm:time_per_output_token_seconds_bucket{le=\"+Inf\"} 4\nvllm:time_per_output_token_seconds_sum 2\n";
    let read = concepts(old);
    assert_eq!(read.gauges.get(&Gauge::KvUsage), Some(&0.25));
    assert_eq!(read.counters.get(&Counter::GenerationTokens), Some(&60.0));
    assert_eq!(read.histograms[&HistogramName::Itl].count.to_string(), "4");
    assert_eq!(read.sources["kv_usage"], "vllm:gpu_cache_usage_perc");
    // Where both stand on the page, as in vLLM 0.9.2 to 0.10.2, the new one counts, alone.
    assert_eq!(
        gauge("vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc 0.75\n", Gauge::KvUsage),
        Some(0.75)
    );
    // Every tensor-parallel rank of SGLang shows the same whole.
    let sglang = "sglang:num_running_reqs{tp_rank=\"0\"} 3\nsglang:num_running_reqs{tp_rank=\"1\"} 3\n";
    assert_eq!(gauge(sglang, Gauge::Running), Some(3.0));
    assert_eq!(gauge("sglang_num_queue_reqs 2\n", Gauge::Waiting), Some(2.0));
    assert_eq!(gauge("llamacpp:requests_processing 1\n", Gauge::Running), Some(1.0));
}

#[test]
fn the_asked_models_series_count_when_it_is_there() {
    let page =
        "vllm:num_requests_running{model_name=\"m\"} 2\nvllm:num_requests_running{model_name=\"other\"} 9\n";
    let read = concepts(page);
    assert_eq!(read.gauges[&Gauge::Running].to_string(), "2");
    assert_eq!(read.other_models.into_iter().collect::<Vec<_>>(), ["other"]);
    assert_eq!(gauge("vllm:num_requests_running{model_name=\"alias\"} 9\n", Gauge::Running), Some(9.0));
}

#[test]
fn histograms_are_added_at_their_common_bounds() {
    let page = "vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"1\"} 1\n\
        vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"+Inf\"} 4\n\
        vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"2.5\"} 3\n\
        vllm:e2e_request_latency_seconds_bucket{engine=\"1\",le=\"2.50\"} 5\n\
        vllm:e2e_request_latency_seconds_bucket{engine=\"1\",le=\"0.5\"} 1\n\
        vllm:e2e_request_latency_seconds_bucket{engine=\"1\",le=\"+Inf\"} 7\n\
        vllm:e2e_request_latency_seconds_sum{engine=\"0\"} 1.5\n\
        vllm:e2e_request_latency_seconds_sum{engine=\"1\"} 2\n";
    let read = concepts(page);
    let e2e = &read.histograms[&HistogramName::E2e];
    assert_eq!(
        (e2e.buckets.as_slice(), e2e.count.to_string(), e2e.sum.to_string()),
        (&[(2.5, 8.0)][..], "11".into(), "3.5".into())
    );
}
