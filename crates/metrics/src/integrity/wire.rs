use super::{Checks, warn};
use crate::RunData;
use plimsoll_record::{Endpoint, Redirects, RequestRecord};
use std::collections::BTreeMap;

/// How requests and answers travelled: what a reader of the numbers must know of it.
pub(super) fn check(checks: &mut Checks, run: &RunData) {
    let requests = &run.requests;
    let mut say = |id: &str, found: Option<String>| {
        checks.check(found.map(|text| warn(id, Vec::new(), text)));
    };
    say(
        "tls_not_verified",
        run.plan.insecure.then(|| {
            "TLS certificates were not verified (--insecure): whoever stands between could have answered."
                .to_owned()
        }),
    );
    say("retries_on", retries(run));
    say("redirects_followed", redirects(run));
    say("proxy", proxy(run));
    say("content_encoding", encodings(requests));
    say("retry_after", advice(requests, run.plan.retries));
    say("request_form", form(run));
}

fn retries(run: &RunData) -> Option<String> {
    let retried = run.requests.iter().filter(|request| request.retries > 0).count();
    // Attempts that met no connection sent nothing.
    let sent = |r: &RequestRecord| r.retries.saturating_sub(r.unsent_retries);
    let posts: u64 = run.requests.iter().map(|r| u64::from(sent(r)) + u64::from(r.sent_ns.is_some())).sum();
    (run.plan.retries > 0 || retried > 0).then(|| {
        format!(
            "Retries are on: {retried} of {} requests were tried again, {posts} POSTs in all. The time of failed attempts is part of a request's latency; failure counts are of requests, not of attempts.",
            run.requests.len()
        )
    })
}

fn redirects(run: &RunData) -> Option<String> {
    let hops: u64 = run.requests.iter().map(|request| u64::from(request.redirects)).sum();
    let redirected = run.requests.iter().filter(|request| request.redirects > 0).count();
    let allowed =
        if run.plan.redirects == Redirects::Refuse { " although the plan refuses them" } else { "" };
    (hops > 0).then(|| {
        format!(
            "Redirects were followed{allowed}: {redirected} of {} requests, {:.2} hops each. Each hop's time is part of the latency; name the final address instead.",
            run.requests.len(),
            hops as f64 / redirected as f64
        )
    })
}

fn proxy(run: &RunData) -> Option<String> {
    let mut proxies: Vec<&str> =
        run.conditions.environment.targets.iter().filter_map(|target| target.proxy.as_deref()).collect();
    proxies.sort_unstable();
    proxies.dedup();
    (!proxies.is_empty() || run.plan.proxy.is_some()).then(|| {
        let which = if proxies.is_empty() { String::new() } else { format!(" ({})", proxies.join(", ")) };
        format!("Requests went through a proxy{which}; its time is part of every latency.")
    })
}

fn encodings(requests: &[RequestRecord]) -> Option<String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for encoding in requests.iter().filter_map(|request| request.encoding.as_deref()) {
        *counts.entry(encoding).or_default() += 1;
    }
    (!counts.is_empty()).then(|| {
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count} times")).collect();
        format!(
            "The server compressed answers without being asked: {}. A compressor holds events back, and unpacking costs this client time.",
            counts.join(", ")
        )
    })
}

fn advice(requests: &[RequestRecord], retries: u32) -> Option<String> {
    let advised: Vec<(u32, u16)> =
        requests.iter().filter_map(|r| Some((r.retry_after_s?, r.http_status.unwrap_or(0)))).collect();
    let largest = advised.iter().map(|(seconds, _)| *seconds).max()?;
    let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
    for (_, status) in &advised {
        *statuses.entry(*status).or_default() += 1;
    }
    let statuses: Vec<String> = statuses
        .iter()
        .map(|(status, count)| match status {
            0 => format!("{count} without a status"),
            status => format!("{count} with status {status}"),
        })
        .collect();
    let followed = if retries == 0 {
        "The advice was not followed: this client keeps to its load."
    } else {
        "Further attempts waited as long as asked, within the time limit; other requests keep to the load."
    };
    Some(format!(
        "The server asked to wait before another attempt (Retry-After) for {} requests: {}; at most {largest} s. {followed}",
        advised.len(),
        statuses.join(", ")
    ))
}

/// The form that was found by probing before the load, where it is not the usual one.
fn form(run: &RunData) -> Option<String> {
    let server = &run.conditions.server;
    let usual = match run.plan.endpoint {
        Endpoint::Responses => "max_output_tokens",
        Endpoint::Chat | Endpoint::Completions | Endpoint::Messages => "max_tokens",
    };
    let mut parts = Vec::new();
    if let Some(field) = server.limit_field.as_deref().filter(|field| *field != usual) {
        parts.push(format!("the limit on output tokens is called {field} in place of {usual}"));
    }
    if !server.refused_fields.is_empty() {
        parts.push(format!("left out, as it refuses them: {}", server.refused_fields.join(", ")));
    }
    (!parts.is_empty()).then(|| {
        format!(
            "The form of the requests was found by probing the server before the load: {}.",
            parts.join("; ")
        )
    })
}
