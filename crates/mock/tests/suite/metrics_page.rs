//! The metrics page against a captured page of vLLM 0.32.0.

use crate::common::{capture_text, mock};
use std::collections::{BTreeMap, BTreeSet};

/// Families of the captured page that the mock does not have; `*_created`, `http_*` and `python_*` apart.
const LEFT_OUT: [&str; 14] = [
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
    "vllm:admission_rejections_total",
    "vllm:engine_sleep_state",
    "vllm:estimated_flops_per_gpu_total",
    "vllm:estimated_read_bytes_per_gpu_total",
    "vllm:estimated_write_bytes_per_gpu_total",
    "vllm:external_prefix_cache_hits_total",
    "vllm:external_prefix_cache_queries_total",
    "vllm:mm_cache_hits_total",
    "vllm:mm_cache_queries_total",
];
/// One more with a label set that no single machine has.
const LEFT_OUT_TOO: &str = "vllm:prompt_tokens_cached_by_source_total";

#[derive(Debug, Default, PartialEq)]
struct Family {
    help: String,
    kind: String,
    /// Sample name and labels, without values; values of labels that are part of the schema are kept.
    series: BTreeSet<String>,
}

fn families(page: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            name.clone_into(&mut current);
            help.clone_into(&mut families.entry(current.clone()).or_default().help);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            kind.clone_into(&mut families.entry(name.to_owned()).or_default().kind);
        } else if let Some((series, _)) = line.rsplit_once(' ') {
            families.entry(current.clone()).or_default().series.insert(series.to_owned());
        }
    }
    families.retain(|name, _| {
        !name.ends_with("_created") && !name.starts_with("http_") && !name.starts_with("python_")
    });
    families
}

/// Label names of an info series.
fn label_names(family: &Family) -> BTreeSet<String> {
    let series = family.series.first().unwrap();
    let labels = series.split_once('{').unwrap().1;
    labels.split("\",").map(|label| label.split_once('=').unwrap().0.to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn families_types_labels_and_buckets_are_the_captured_ones() {
    let mut real = families(&capture_text("metrics_after_load.txt"));
    let mut ours = families(&mock().metrics());

    let real_info = real.remove("vllm:cache_config_info").unwrap();
    let ours_info = ours.remove("vllm:cache_config_info").unwrap();
    assert_eq!((&ours_info.help, &ours_info.kind), (&real_info.help, &real_info.kind));
    let extra: Vec<_> = label_names(&ours_info).difference(&label_names(&real_info)).cloned().collect();
    assert!(extra.is_empty(), "{extra:?}");
    for label in ["block_size=\"16\"", "num_gpu_blocks=\"8192\"", "engine=\"0\""] {
        assert!(ours_info.series.first().unwrap().contains(label));
    }

    for (name, family) in &ours {
        assert_eq!(Some(family), real.get(name), "{name}");
    }
    let missing: Vec<&str> =
        real.keys().map(String::as_str).filter(|name| !ours.contains_key(*name)).collect();
    let mut left_out = LEFT_OUT.to_vec();
    left_out.push(LEFT_OUT_TOO);
    assert_eq!(missing, left_out);
}
