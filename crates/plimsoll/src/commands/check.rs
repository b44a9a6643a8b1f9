use crate::{Exit, failure::Failure, flags::CheckFlags, key, runtime, terminal};
use plimsoll_metrics::quantile::Estimate;
use plimsoll_sweep::{CheckLoad, CheckOptions, CheckReport, CheckState, Stop, check as run};

/// Checks a server and prints what was found.
pub fn check(flags: &CheckFlags) -> Result<Exit, Failure> {
    if !(0.0..=2.0).contains(&flags.temperature) {
        return Err(Failure::usage(format!("--temperature: {} is not between 0 and 2", flags.temperature)));
    }
    let plan = flags.plan();
    if plan.timeout.nanos() == 0 {
        return Err(Failure::usage("--timeout: must be longer than 0"));
    }
    if plan.url.is_empty() {
        return Err(Failure::usage("--url: no address given; write for example --url http://127.0.0.1:8000"));
    }
    plimsoll_sweep::check_target(&plan)?;
    let options = CheckOptions {
        key: key::of_plan(&plan)?,
        plan,
        requests: flags.requests,
        concurrency: flags.concurrency,
        output_tokens: flags.output_tokens,
        temperature: flags.temperature,
    };
    let stop = Stop::new();
    let Some(report) = runtime::drive(&stop, || false, run(&options))? else {
        return Err(Failure::new(Exit::Invalid, "stopped before the check was complete"));
    };
    let report = report?;
    terminal::print(&text(&report))?;
    let failed = report.has_failed();
    Ok(if failed { Exit::Target } else { Exit::Done })
}

fn text(report: &CheckReport) -> String {
    let width = report.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for row in &report.rows {
        let state = match row.state {
            CheckState::Pass => "pass",
            CheckState::Warn => "WARN",
            CheckState::Fail => "FAIL",
        };
        lines.push(format!("{state}  {:width$}  {}", terminal::line(&row.name), terminal::line(&row.detail)));
    }
    if let Some(load) = &report.load {
        lines.extend(figures(load));
    }
    let count = |state| report.rows.iter().filter(|row| row.state == state).count();
    let (pass, warn, fail) = (count(CheckState::Pass), count(CheckState::Warn), count(CheckState::Fail));
    lines.push(format!("\n{pass} pass, {warn} warn, {fail} fail\n"));
    lines.join("\n")
}

fn figures(load: &CheckLoad) -> Vec<String> {
    let unknown = || "not known: the server sent no usage".to_owned();
    let failures: Vec<String> = load.failures.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let failures =
        if failures.is_empty() { "0 failed".to_owned() } else { format!("failed: {}", failures.join(", ")) };
    let tokens = load.tokens_per_response.map_or_else(unknown, |tokens| {
        format!("mean {:.1}, {} to {} (usage)", tokens.mean, tokens.min, tokens.max)
    });
    let throughput = load
        .output_tok_s
        .map_or_else(unknown, |rate| format!("{rate:.1} (tokens of all answers / wall time)"));
    let mut rows = vec![
        ("requests", format!("{}: {} ok, {failures}", load.requests, load.ok)),
        ("in flight", format!("{} asked, {:.2} on average", load.concurrency, load.in_flight)),
        ("wall time", format!("{:.3} s", load.wall_s)),
        ("req/s", format!("{:.2} (ok / wall time)", load.req_s)),
        ("tokens per response", tokens),
        ("output tok/s", throughput),
    ];
    if let Some(e2e) = &load.e2e {
        rows.push(("E2E mean", format!("{:.3} s, {:.3} to {:.3} s", e2e.mean, e2e.min, e2e.max)));
        rows.push(("E2E median", quantile(&e2e.median)));
        rows.push(("E2E p95", quantile(&e2e.p95)));
        rows.push(("E2E p99", quantile(&e2e.p99)));
    }
    let head = format!("\nsmall load, non-streaming on {}", terminal::line(&load.route));
    let rows = rows.into_iter().map(|(name, value)| format!("  {name:20}{value}"));
    std::iter::once(head).chain(rows).collect()
}

/// A quantile with its interval, a lower bound, or the reason why it is neither.
fn quantile(estimate: &Estimate) -> String {
    let Some(value) = estimate.value else {
        return format!("withheld: {}", estimate.reason.as_deref().unwrap_or("not known"));
    };
    match &estimate.interval {
        Some(interval) => match interval.high {
            Some(high) => format!("{value:.3} s [{:.3}, {high:.3}]", interval.low),
            None => format!(
                "at least {value:.3} s ({})",
                estimate.interval_reason.as_deref().unwrap_or("no upper end")
            ),
        },
        None => format!("{value:.3} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_sweep::{CheckRow, CheckSpread, CheckTokens};

    #[test]
    fn rows_and_figures() {
        let sorted: Vec<f64> = (1..=30).map(f64::from).collect();
        let load = CheckLoad {
            route: "/v1/completions".into(),
            requests: 31,
            concurrency: 5,
            ok: 30,
            failures: [("timeout".to_owned(), 1)].into(),
            wall_s: 10.0,
            req_s: 3.0,
            in_flight: 4.5,
            tokens_per_response: Some(CheckTokens { mean: 99.5, min: 90, max: 100 }),
            output_tok_s: Some(298.5),
            e2e: CheckSpread::of(&sorted),
        };
        let row = CheckRow { name: "health".into(), state: CheckState::Warn, detail: "a\u{1b}[1m\nb".into() };
        let text = text(&CheckReport { rows: vec![row], load: Some(load) });
        for part in [
            "WARN  health  a [1m b\n",
            "31: 30 ok, failed: 1 timeout",
            "mean 99.5, 90 to 100",
            "298.5 (tokens",
            "E2E median          15.500 s [10.000, 21.000]",
            "E2E p99             withheld: n = 30: p99 needs",
            "0 pass, 1 warn, 0 fail",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(
            figures_of_p95(&text).contains("withheld") || figures_of_p95(&text).contains("at least"),
            "{text}"
        );
    }

    /// With 30 observations p95 has no interval: it must not stand there as a plain number.
    fn figures_of_p95(text: &str) -> &str {
        text.lines().find(|line| line.contains("E2E p95")).unwrap()
    }
}
