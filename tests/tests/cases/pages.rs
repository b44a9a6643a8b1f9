//! What is not one request: metrics pages, model lists, readiness, and warnings in the report.

use crate::{client, judge::Verdict, script::Script, server::Server};
use plimsoll_metrics::bucket_quantile;
use plimsoll_record::{Counter, Gauge, HistogramName, Sample, SampleOutcome};
use serde_json::{Map, Value};

/// Adds to the verdict what these pages lead to.
pub fn judge(script: &Script, server: &Server, verdict: &mut Verdict) -> Result<(), String> {
    let expect = script.expect();
    if let Some(Value::Object(wanted)) = expect.get("metrics") {
        metrics(script, server, wanted, verdict)?;
    }
    if let Some(warning) = expect.get("warn").and_then(Value::as_str) {
        warned(script, server, warning, verdict)?;
    }
    let models = script.page("/v1/models");
    if !models.is_empty() {
        choose_model(script, server, &models, verdict)?;
    }
    if script.page("/health").len() > 1 {
        readiness(script, server, verdict)?;
    }
    Ok(())
}

fn metrics(
    script: &Script,
    server: &Server,
    wanted: &Map<String, Value>,
    verdict: &mut Verdict,
) -> Result<(), String> {
    server.reset()?;
    let url = server.url(&script.id);
    let samples = client::scrape(&url, script.page("/metrics").len().max(2))?;
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Err("no sample".to_owned());
    };
    for (key, wanted) in wanted {
        let found = match key.as_str() {
            "running" => last.gauges.get(&Gauge::Running).copied(),
            "waiting" => last.gauges.get(&Gauge::Waiting).copied(),
            "kv_usage_max" => last.gauges.get(&Gauge::KvUsage).copied(),
            "generation_tokens_delta" => rise(first, last, Counter::GenerationTokens),
            "prompt_tokens_delta" => rise(first, last, Counter::PromptTokens),
            "skipped_lines" => Some(f64::from(last.bad_lines)),
            "ttft_count_delta" => ttft(first, last).map(|(count, _, _)| count),
            "ttft_mean_s" => ttft(first, last).map(|(_, mean, _)| mean),
            "p90" => {
                let (_, _, p90) = ttft(first, last).ok_or("no histogram")?;
                if p90 != wanted.as_str().unwrap_or_default() {
                    verdict.wrong.push(format!("metrics.p90 is {p90}, not {wanted}"));
                }
                continue;
            }
            "must_warn" => {
                must_warn(script, server, last, verdict)?;
                continue;
            }
            other => {
                verdict.open.push(format!("metrics.{other}"));
                continue;
            }
        };
        let same = match (found, wanted.as_f64()) {
            (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-9,
            (None, None) => true,
            _ => false,
        };
        if same {
            continue;
        }
        if key == "kv_usage_max" && found.zip(wanted.as_f64()).is_some_and(|(found, most)| found < most) {
            verdict.second.push(format!(
                "a sample has the mean {found:?} of several engines' use, not the largest {wanted}"
            ));
            continue;
        }
        verdict.wrong.push(format!("metrics.{key} is {found:?}, not {wanted}"));
    }
    Ok(())
}

fn rise(first: &Sample, last: &Sample, counter: Counter) -> Option<f64> {
    Some(last.counters.get(&counter)? - first.counters.get(&counter)?)
}

/// Count, mean and p90 of the time to first token between two samples; the quantile in words.
fn ttft(first: &Sample, last: &Sample) -> Option<(f64, f64, String)> {
    let (before, after) =
        (first.histograms.get(&HistogramName::Ttft)?, last.histograms.get(&HistogramName::Ttft)?);
    let mut gained = after.clone();
    gained.count -= before.count;
    gained.sum -= before.sum;
    for (bucket, earlier) in gained.buckets.iter_mut().zip(&before.buckets) {
        bucket.1 -= earlier.1;
    }
    let p90 = bucket_quantile(&gained, 0.9)?;
    let words = if p90.high.is_none() { format!("> {}", p90.low) } else { format!("{}", p90.value) };
    Some((gained.count, gained.sum / gained.count, words))
}

/// A page that cannot be used is said once, and the load goes on.
fn must_warn(script: &Script, server: &Server, last: &Sample, verdict: &mut Verdict) -> Result<(), String> {
    let shown = last.outcome == SampleOutcome::Ok && !last.gauges.is_empty();
    if shown {
        verdict.wrong.push("figures from a page that has none".to_owned());
    }
    let swept =
        client::sweep(&server.url(&script.id), script.endpoint()?, 2, &["--model", client::MODEL], &[])?;
    if swept.ended.code != Some(0) || !swept.told.contains("no server metrics") {
        verdict.wrong.push(format!("no warning of missing metrics: {:?}", swept.ended));
    }
    Ok(())
}

/// What the program must say, by the script's word for it: one of these.
fn warned(script: &Script, server: &Server, warning: &str, verdict: &mut Verdict) -> Result<(), String> {
    let words: &[&str] = match warning {
        "malformed_frame" => &["malformed", "could not be read"],
        "empty_output" => &["empty", "without any generated text"],
        "burst" => &["one read", "burst", "coalesced"],
        "no_streaming" => &["did not stream"],
        other => {
            verdict.open.push(format!("warn {other}"));
            return Ok(());
        }
    };
    let more = ["--model", client::MODEL, "--scrape", "off"];
    server.reset()?;
    let swept = client::sweep(&server.url(&script.id), script.endpoint()?, 5, &more, &[])?;
    if !words.iter().any(|word| swept.told.contains(word)) {
        verdict
            .wrong
            .push(format!("no warning like {words:?}; exit {:?}: {}", swept.ended.code, swept.ended.stderr));
    }
    Ok(())
}

/// Of several models one is chosen aloud, or the user is asked; never in silence.
fn choose_model(
    script: &Script,
    server: &Server,
    replies: &[Value],
    verdict: &mut Verdict,
) -> Result<(), String> {
    let names: Vec<String> = replies
        .iter()
        .flat_map(|reply| reply.get("body_events").and_then(Value::as_array).cloned().unwrap_or_default())
        .filter_map(|event| serde_json::from_str::<Value>(event.get("text")?.as_str()?).ok())
        .flat_map(|page| page.get("data").and_then(Value::as_array).cloned().unwrap_or_default())
        .filter_map(|model| Some(model.get("id")?.as_str()?.to_owned()))
        .collect();
    if names.len() < 2 {
        return Ok(());
    }
    let swept = client::sweep(&server.url(&script.id), script.endpoint()?, 2, &["--scrape", "off"], &[])?;
    let named = names.iter().filter(|name| swept.ended.stderr.contains(*name)).count();
    let asked = swept.ended.code == Some(2) && named == names.len();
    let chosen = swept.ended.code == Some(0) && named > 0;
    if !asked && !chosen {
        verdict.wrong.push(format!("of {names:?} none was chosen aloud: {:?}", swept.ended));
    }
    Ok(())
}

/// The load begins when the server is ready, or a clear error says that it is not.
fn readiness(script: &Script, server: &Server, verdict: &mut Verdict) -> Result<(), String> {
    server.reset()?;
    let more = ["--model", client::MODEL, "--scrape", "off"];
    let swept = client::sweep(&server.url(&script.id), script.endpoint()?, 2, &more, &[])?;
    let seen = server.seen(&script.id)?;
    let asked = seen.iter().filter(|line| line.ends_with(" /health")).count();
    let polls = script.page("/health").len();
    match swept.ended.code {
        // Answered by a real request, or by the page when that says so.
        Some(0) if asked == 0 || asked >= polls => {}
        Some(0) => verdict.wrong.push(format!("the load began after {asked} of {polls} looks at /health")),
        Some(3) if swept.ended.stderr.contains("503") => {
            verdict.second.push(format!("the program gives up at once: {}", swept.ended.stderr.trim()));
        }
        _ => verdict.wrong.push(format!("a server that is not ready yet: {:?}", swept.ended)),
    }
    Ok(())
}
