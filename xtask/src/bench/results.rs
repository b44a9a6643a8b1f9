//! Reads what each client reports, in its own file.

use super::{templates::Form, truth::Figures};
use anyhow::{Context, Result, bail};
use plimsoll_metrics::Summary;
use plimsoll_record::{Phase, RequestRecord, read_lines};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What a client reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    pub figures: Figures,
    /// Requests that it counts as complete.
    pub completed: Option<u64>,
    /// Requests of its warm-up, which come before the measured ones; probes are not among them.
    pub warmup: usize,
    /// Requests after the last measured one.
    pub after: usize,
    /// Why its own report does not show these figures, where that is so.
    pub withheld: Option<String>,
}

/// Finds and reads the results below `out`.
pub fn read(form: Form, out: &Path) -> Result<Reported> {
    if form == Form::Plimsoll {
        return plimsoll(out);
    }
    let ends_with = match form {
        Form::Aiperf => "profile_export_aiperf.json",
        Form::Llmperf => "_summary.json",
        _ => "result.json",
    };
    let path = find(out, ends_with).with_context(|| format!("no {ends_with} below {}", out.display()))?;
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    let json = serde_json::from_slice(&bytes).with_context(|| path.display().to_string())?;
    parse(form, &json)
}

fn find(folder: &Path, ends_with: &str) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    let here = entries.iter().find(|path| path.to_str().is_some_and(|name| name.ends_with(ends_with)));
    here.cloned()
        .or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, ends_with)))
}

/// Milliseconds are as they stand, seconds are converted.
fn parse(form: Form, json: &Value) -> Result<Reported> {
    let number = |pointer: &str| json.pointer(pointer).and_then(Value::as_f64);
    let pair = |base: &str, median: &str, p99: &str, scale: f64| {
        [median, p99].map(|name| number(&format!("{base}{name}")).map(|value| value * scale))
    };
    let (figures, completed) = match form {
        Form::Vllm => (
            Figures {
                ttft: pair("/", "median_ttft_ms", "p99_ttft_ms", 1.0),
                itl: pair("/", "median_itl_ms", "p99_itl_ms", 1.0),
            },
            number("/completed"),
        ),
        Form::Guidellm => {
            let of = |name: &str| {
                let base = format!("/benchmarks/0/metrics/{name}/successful/percentiles/");
                pair(&base, "p50", "p99", 1.0)
            };
            let completed = number("/benchmarks/0/metrics/request_totals/successful");
            (Figures { ttft: of("time_to_first_token_ms"), itl: of("inter_token_latency_ms") }, completed)
        }
        Form::Aiperf => {
            let of = |name: &str| pair(&format!("/{name}/"), "p50", "p99", 1.0);
            let completed = number("/request_count/avg").or_else(|| number("/request_count/sum"));
            (Figures { ttft: of("time_to_first_token"), itl: of("inter_token_latency") }, completed)
        }
        Form::Llmperf => {
            let of = |name: &str| pair(&format!("/results_{name}_quantiles_"), "p50", "p99", 1e3);
            (
                Figures { ttft: of("ttft_s"), itl: of("inter_token_latency_s") },
                number("/results_num_completed_requests"),
            )
        }
        Form::Plimsoll => bail!("a run folder is no single file"),
    };
    Ok(Reported { figures, completed: completed.map(|count| count as u64), ..Reported::default() })
}

/// From the summary. A figure that failed a check is taken as it was computed, and the reason told.
fn plimsoll(out: &Path) -> Result<Reported> {
    let summary =
        find(out, "summary.json").with_context(|| format!("no run folder below {}", out.display()))?;
    let folder = summary.parent().context("a file without a folder")?;
    let records = read_lines::<RequestRecord>(&fs::read(folder.join("requests.jsonl"))?).records;
    let summary: Summary = serde_json::from_slice(&fs::read(&summary)?).context("summary.json")?;
    let level = summary.levels.first().context("the run has no level")?;
    let mut withheld = None;
    let mut of = |family: &str| {
        ["p50", "p99"].map(|suffix| {
            let number = level.number(&format!("{family}_{suffix}"))?;
            if number.value.is_none() {
                withheld.clone_from(&number.reason);
            }
            Some(number.value.or(number.withheld)? * 1e3)
        })
    };
    let figures = Figures { ttft: of("ttft"), itl: of("itl") };
    let of_phase = |phase| records.iter().filter(|record| record.phase == phase).count();
    Ok(Reported {
        figures,
        completed: Some(level.ok),
        warmup: of_phase(Phase::Warmup),
        after: of_phase(Phase::Filler),
        withheld,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Shapes of the clients' own files, with figures of our own.
    #[test]
    fn each_form_gives_the_same_figures() {
        let distribution =
            |p50: f64, p99: f64| json!({"successful": {"percentiles": {"p50": p50, "p99": p99}}});
        let files = [
            (
                Form::Vllm,
                json!({"completed": 40, "median_ttft_ms": 52.0, "p99_ttft_ms": 61.0, "median_itl_ms": 10.5, "p99_itl_ms": 12.0}),
            ),
            (
                Form::Guidellm,
                json!({"benchmarks": [{"metrics": {
                    "request_totals": {"successful": 40, "errored": 0},
                    "time_to_first_token_ms": distribution(52.0, 61.0),
                    "inter_token_latency_ms": distribution(10.5, 12.0),
                }}]}),
            ),
            (
                Form::Aiperf,
                json!({
                    "request_count": {"unit": "requests", "avg": 40.0},
                    "time_to_first_token": {"unit": "ms", "p50": 52.0, "p99": 61.0},
                    "inter_token_latency": {"unit": "ms", "p50": 10.5, "p99": 12.0},
                }),
            ),
            (
                Form::Llmperf,
                json!({
                    "results_num_completed_requests": 40,
                    "results_ttft_s_quantiles_p50": 0.052, "results_ttft_s_quantiles_p99": 0.061,
                    "results_inter_token_latency_s_quantiles_p50": 0.0105,
                    "results_inter_token_latency_s_quantiles_p99": 0.012,
                }),
            ),
        ];
        for (form, json) in files {
            let found = parse(form, &json).unwrap();
            let close = |found: [Option<f64>; 2], wanted: [f64; 2]| {
                found
                    .iter()
                    .zip(wanted)
                    .all(|(found, wanted)| found.is_some_and(|found| (found - wanted).abs() < 1e-9))
            };
            assert!(
                close(found.figures.ttft, [52.0, 61.0]) && close(found.figures.itl, [10.5, 12.0]),
                "{form:?}"
            );
            assert_eq!(found.completed, Some(40), "{form:?}");
            assert_eq!(
                parse(form, &json!({})).unwrap(),
                Reported::default(),
                "{form:?}: absent is not known"
            );
        }
    }

    /// A folder of llmperf's: the summary beside the answers one by one, its seconds given in milliseconds.
    #[test]
    fn llmperf_is_read_from_its_folder() {
        let out = std::env::temp_dir().join(format!("plimsoll-llmperf-{}", std::process::id()));
        fs::create_dir_all(&out).unwrap();
        let answers = json!([{
            "error_code": null, "error_msg": "", "inter_token_latency_s": 9.0, "ttft_s": 9.0,
            "end_to_end_latency_s": 9.0, "request_output_throughput_token_per_s": 9.0,
            "number_total_tokens": 96, "number_output_tokens": 32, "number_input_tokens": 64,
        }]);
        let summary = json!({
            "version": "2023-08-31", "name": "m_64_32_summary", "model": "m",
            "mean_input_tokens": 64, "stddev_input_tokens": 0,
            "mean_output_tokens": 32, "stddev_output_tokens": 0, "num_concurrent_requests": 3,
            "results_ttft_s_quantiles_p25": 0.051, "results_ttft_s_quantiles_p50": 0.052,
            "results_ttft_s_quantiles_p95": 0.060, "results_ttft_s_quantiles_p99": 0.061,
            "results_ttft_s_mean": 0.5, "results_ttft_s_max": 0.7,
            "results_inter_token_latency_s_quantiles_p50": 0.0105,
            "results_inter_token_latency_s_quantiles_p99": 0.012,
            "results_inter_token_latency_s_mean": 0.5,
            "results_num_requests_started": 43, "results_error_rate": 0.0, "results_number_errors": 0,
            "results_error_code_frequency": "{}", "results_num_completed_requests": 40,
            "results_num_completed_requests_per_min": 100.5, "timestamp": 1,
        });
        let read_with = |summary: Option<&Value>| {
            fs::write(out.join("m_64_32_individual_responses.json"), answers.to_string()).unwrap();
            if let Some(summary) = summary {
                fs::write(out.join("m_64_32_summary.json"), summary.to_string()).unwrap();
            }
            read(Form::Llmperf, &out)
        };
        let missing = read_with(None).unwrap_err().to_string();
        let found = read_with(Some(&summary)).unwrap();
        fs::remove_dir_all(&out).unwrap();
        assert!(missing.contains("no _summary.json below"), "{missing}");
        let close =
            |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found - wanted).abs() < 1e-9);
        let ([ttft, ttft_p99], [itl, itl_p99]) = (found.figures.ttft, found.figures.itl);
        assert!(close(ttft, 52.0) && close(ttft_p99, 61.0), "{found:?}");
        assert!(close(itl, 10.5) && close(itl_p99, 12.0), "{found:?}");
        assert_eq!(found.completed, Some(40));
        assert_eq!((found.warmup, found.after, found.withheld), (0, 0, None));
    }
}
