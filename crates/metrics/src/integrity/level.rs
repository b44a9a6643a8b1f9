use super::{Checks, families, invalid, named, of_server, open_loop, performance, stream, warn};
use crate::RunData;
use crate::bottleneck::SCRAPES;
use crate::latency::{COALESCED, FAMILIES};
use crate::level::{Inside, Measured};
use crate::quantile::{CONFIDENCE, interval_ranks, type7};
use crate::summary::Flag;
use plimsoll_record::{RequestRecord, TokenSource};

/// The flag of a level whose measured requests were not followed to their end.
pub(crate) const COHORT_CUT: &str = "cohort_cut";

/// Share of the requests in a window whose tokens nobody counted, above which the throughput is no throughput.
const UNCOUNTED: f64 = 0.01;

/// The checks of one level.
pub(crate) fn check(measured: &Measured<'_>, run: &RunData) -> Checks {
    let mut checks = Checks::default();
    checks.check(measured.inside.is_none().then(|| {
        warn(
            "window_not_closed",
            named(&["output_tok_s", "input_tok_s", "req_s", "in_flight"]),
            "The measured window never closed, so there is no throughput; latencies are of the requests that ended. Run the level again.".to_owned(),
        )
    }));
    checks.check(measured.level.cut.then(|| {
        warn(
            COHORT_CUT,
            families(&FAMILIES),
            "The level was cut off before all measured requests had ended. The long ones are missing from its latencies, and no SLO is judged by it. Run the level again.".to_owned(),
        )
    }));
    checks.check((measured.level.killed && measured.inside.is_some()).then(|| {
        let mut numbers = named(&["output_tok_s", "input_tok_s", "req_s", "in_flight", "in_flight_peak"]);
        numbers.extend(named(&["cycle_client", "cycle_network", "cycle_queue", "cycle_service"]));
        invalid(
            "records_missing",
            numbers,
            "The run was killed before the level's end, so requests that were in flight in the window left no record. Run the level again.".to_owned(),
        )
    }));
    if let Some(inside) = &measured.inside {
        inside_window(&mut checks, measured, inside, run);
    }
    if let Some(arriving) = &measured.arriving {
        open_loop::check(&mut checks, measured, arriving);
    }
    tokens(&mut checks, measured);
    stream::check(&mut checks, measured);
    client(&mut checks, measured);
    requests(&mut checks, measured);
    if let (Some(0), Some(slots)) = (run.plan.warmup, measured.level.level.concurrency()) {
        checks.check(first_wave(measured, slots));
    }
    if !measured.targets.is_empty() {
        checks.check(crate::targets::differ(&measured.level.cohort));
    }
    checks
}

fn inside_window(checks: &mut Checks, measured: &Measured<'_>, inside: &Inside, run: &RunData) {
    if let Some(slots) = measured.level.level.concurrency() {
        checks.check((inside.in_flight < 0.95 * f64::from(slots)).then(|| {
            invalid(
                "in_flight_low",
                performance(),
                format!(
                    "Only {:.2} of {slots} requests were in flight on average, so the numbers do not describe {slots}. Failures, a slow client, a limit on connections or the making of new ones; see the bottleneck.",
                    inside.in_flight
                ),
            )
        }));
    }
    if let Some(durations) = measured.durations {
        checks.check(short_window(durations));
    }
    let grew = measured.arriving.is_some_and(|arriving| arriving.grew);
    if let Some(gap) = inside.little_gap.filter(|_| !grew) {
        // The requests in flight at the window's two edges, each somewhere within its stay, differ by chance: with C of
        // them at uniform ages, sd(gap) = sqrt(C / 6) / n. In an open loop their number varies, too: with L on average by
        // Poisson's law, sqrt(2 L / 3) / n. Less than two of these says nothing; in an open
        // loop, whose lengths of stay vary with its bursts, less than three.
        let variance = measured
            .level
            .level
            .concurrency()
            .map_or(2.0 * inside.in_flight / 3.0, |slots| f64::from(slots) / 6.0);
        let deviations = if measured.level.level.is_open_loop() { 3.0 } else { 2.0 };
        let chance = deviations * variance.sqrt() / inside.output.requests.max(1) as f64;
        checks.check((gap > chance.max(0.02)).then(|| {
            warn(
                "window_not_stationary",
                named(&["req_s", "in_flight"]),
                format!(
                    "Little's law misses by {:.1} % where its edges explain {:.1} %: requests that ended in the window do not account for those in flight. Use a longer window.",
                    100.0 * gap,
                    100.0 * chance
                ),
            )
        }));
    }
    if inside.output.uncounted_failures > 0 {
        let missing = inside.output.uncounted_failures;
        let share = missing as f64 / (missing + inside.output.requests) as f64;
        let class = if share > UNCOUNTED { invalid } else { warn };
        checks.check(Some(class(
            "uncounted_tokens",
            named(&["output_tok_s"]),
            format!(
                "{missing} failed requests ({:.1} %) streamed in the window without a token count; output tok/s leaves their tokens out.",
                100.0 * share
            ),
        )));
    }
    if let (true, Ok(rate)) = (run.conditions.prompts.regime == "cold", &inside.server.prefix_hit_rate) {
        checks.check((*rate > 0.01).then(|| {
            invalid(
                "prefix_cache_hits",
                performance(),
                format!(
                    "The server found {:.1} % of the prompt tokens in its prefix cache although the prompts are meant to be new. Restart it or use another seed.",
                    100.0 * rate
                ),
            )
        }));
    }
    let gauges = &inside.server.gauges;
    if !run.samples.is_empty() {
        checks.check((gauges.used < SCRAPES).then(|| {
            warn(
                "few_scrapes",
                named(&["server_running_gauge", "server_waiting_gauge", "server_waiting_share", "kv_usage_mean", "kv_usage_max"]),
                format!(
                    "{} usable scrapes fell inside the window, {SCRAPES} are needed to judge by gauges. Use a longer window or a shorter scrape interval.",
                    gauges.used
                ),
            )
        }));
        // Between two requests a server is idle for true, so a few say nothing.
        checks.check((20 * gauges.stale > gauges.stale + gauges.used).then(|| {
            warn(
                "stale_gauges",
                named(&["server_running_gauge", "server_waiting_gauge", "server_waiting_share"]),
                format!(
                    "{} of {} scrapes read 0 running and 0 waiting while tokens were generated; they are left out of the gauges. The numbers from the server's histograms do not suffer from this.",
                    gauges.stale,
                    gauges.stale + gauges.used
                ),
            )
        }));
    }
    checks.check(
        (inside.server.running.as_ref().err().map(|fell| fell.0) == Some(crate::server::RESET)).then(|| {
            invalid(
                "server_restarted",
                of_server(),
                "The server's counters went down inside the window: it was restarted.".to_owned(),
            )
        }),
    );
}

fn tokens(checks: &mut Checks, measured: &Measured<'_>) {
    let count = |source| measured.level.successes().filter(|request| request.token_source == source).count();
    let server = count(TokenSource::Usage) + count(TokenSource::TokenIds);
    let (tokenizer, unknown) = (count(TokenSource::Tokenizer), count(TokenSource::Unknown));
    let mut of_tokens = named(&["output_tok_s", "output_tokens_mean"]);
    of_tokens.extend(families(&["tpot", "itl"]));
    checks.check((unknown > 0).then(|| {
        warn(
            "token_source_unknown",
            of_tokens.clone(),
            format!(
                "{unknown} of {} complete requests have no token count; chunks are not tokens. Name a tokenizer file, or a server that sends usage.",
                server + tokenizer + unknown
            ),
        )
    }));
    checks.check((server > 0 && tokenizer > 0).then(|| {
        invalid(
            "token_source_mixed",
            of_tokens,
            format!("Tokens were counted by the server for {server} requests and by the tokenizer for {tokenizer}; the two differ."),
        )
    }));
    let latencies = &measured.latencies;
    if let Some(ratio) = latencies.tokens_per_chunk {
        let text = if latencies.smeared {
            format!(
                "A text event carries {ratio:.3} tokens on average; each gap is spread over the tokens that the server counts in its event."
            )
        } else {
            format!(
                "A text event carries {ratio:.3} tokens on average, so gaps between events are not gaps between tokens: ITL is hidden, ICL and TPOT stand."
            )
        };
        checks.check(((ratio - 1.0).abs() > 0.02).then(|| {
            if latencies.smeared {
                warn("tokens_per_chunk", families(&["itl"]), text)
            } else {
                invalid("tokens_per_chunk", families(&["itl"]), text)
            }
        }));
    }
    if let Some(share) = latencies.coalesced_share {
        checks.check((share > COALESCED).then(|| {
            invalid(
                "coalesced_events",
                families(&["itl"]),
                format!(
                    "{:.1} % of the events came in one read with the event before them, so gaps between events are bent: ITL is hidden. A proxy may buffer, or the client was late to read.",
                    100.0 * share
                ),
            )
        }));
    }
}

/// A window shorter than a request holds a phase of the load, not the load.
fn short_window(durations: f64) -> Option<Flag> {
    let text = |advice: &str| {
        format!(
            "The window was {durations:.1} times as long as a median request; {advice} Measure more requests, or give --duration."
        )
    };
    let mut numbers = named(&["output_tok_s", "input_tok_s", "req_s"]);
    if durations < 1.0 {
        numbers.extend(of_server());
        Some(invalid("window_short", numbers, text("rates over it mean nothing.")))
    } else {
        (durations < 2.0).then(|| warn("window_short", numbers, text("rates over it are rough.")))
    }
}

fn client(checks: &mut Checks, measured: &Measured<'_>) {
    let latencies = &measured.latencies;
    // The lower end of its interval: at small n one hiccup is the p99, and is no evidence of a busy client.
    let p99 = |sorted: &[f64]| {
        let rank = interval_ranks(sorted.len() as u64, 990_000, CONFIDENCE).low?;
        sorted.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied()
    };
    if let (Some(delay), Some(ttft)) = (p99(&latencies.send_delay), type7(&latencies.ttft, 500_000)) {
        let text = |verdict: &str| {
            format!(
                "One in a hundred requests was sent at least {:.2} ms late (p99, lower end of its 95 % interval); {verdict} for a median TTFT of {:.2} ms. The client's machine is busy.",
                1e3 * delay,
                1e3 * ttft
            )
        };
        let of = families(&["ttft", "e2e", "response"]);
        checks.check(if delay > (0.1 * ttft).max(0.001) {
            Some(invalid("send_delay", of, text("too much")))
        } else {
            (delay > (0.01 * ttft).max(0.001)).then(|| warn("send_delay", of, text("noticeable")))
        });
    }
    if let Some(lag) = p99(&latencies.client_lag) {
        let limit = type7(&latencies.tpot_all, 500_000).map_or(0.001, |tpot| (0.05 * tpot).max(0.001));
        checks.check((lag > limit).then(|| {
            warn(
                "client_lag",
                families(&["itl", "icl"]),
                format!(
                    "For one in a hundred requests this client took at least {:.2} ms (p99, lower end of its 95 % interval) from reading an event to using it. Stamps are taken at the read, but a client this busy may also read late.",
                    1e3 * lag
                ),
            )
        }));
    }
    checks.check(new_connections(measured));
}

/// Requests that had to open a connection; where they are some and not all, TTFT is a mixture of two.
fn new_connections(measured: &Measured<'_>) -> Option<Flag> {
    let cohort = &measured.level.cohort;
    let waited = |request: &&RequestRecord| request.conn.connect_ns.is_some();
    let count = cohort.iter().copied().filter(|request| waited(request)).count();
    let median = |new: bool| {
        let of = measured.level.successes().filter(|request| waited(request) == new);
        let mut ttft: Vec<f64> = of.filter_map(|request| crate::timing::Timing::of(request).ttft).collect();
        ttft.sort_by(f64::total_cmp);
        type7(&ttft, 500_000).map(|ns| ns / 1e6)
    };
    let grew = measured.arriving.is_some_and(|arriving| arriving.grew);
    let both = match (median(true), median(false)) {
        (Some(new), Some(kept)) if !grew => format!(
            " TTFT is a mixture: its median is {new:.2} ms with a new connection and {kept:.2} ms without."
        ),
        _ => String::new(),
    };
    (count > 0).then(|| {
        warn(
            "new_connections",
            families(&["ttft", "e2e"]),
            format!(
                "{count} of {} measured requests ({:.1} %) had to wait for a new connection, which is part of their TTFT. {}{both}",
                cohort.len(),
                100.0 * count as f64 / cohort.len() as f64,
                if measured.level.level.is_open_loop() {
                    "More were in flight than ever before, or the server or a proxy closes connections."
                } else {
                    "The server or a proxy closes connections."
                }
            ),
        )
    })
}

fn requests(checks: &mut Checks, measured: &Measured<'_>) {
    let cohort = &measured.level.cohort;
    let kinds = crate::targets::failures(cohort);
    checks.check((!kinds.is_empty()).then(|| {
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        warn(
            "failures",
            Vec::new(),
            format!(
                "Of {} measured requests some failed: {}. They are misses in every SLO and in no latency number, so latencies are of the survivors.",
                cohort.len(),
                kinds.join(", ")
            ),
        )
    }));
    let disordered = measured.latencies.disordered;
    checks.check((disordered > 0).then(|| {
        warn(
            "stamps_out_of_order",
            Vec::new(),
            format!("{disordered} measured requests have stamps in an impossible order; what depends on them is left out."),
        )
    }));
    let malformed: u64 = cohort.iter().map(|request| u64::from(request.malformed)).sum();
    checks.check((malformed > 0).then(|| {
        warn(
            "malformed_frames",
            Vec::new(),
            format!("{malformed} frames of the measured streams could not be read and were skipped; tokens in them are not counted as events."),
        )
    }));
    if let Some((asked, real)) = prompt_lengths(measured) {
        checks.check(((real / asked - 1.0).abs() > 0.02).then(|| {
            warn(
                "prompt_length",
                named(&["input_tok_s"]),
                format!(
                    "Prompts of {asked:.1} tokens were asked for and {real:.1} counted by the server, on average: its chat template and tokenizer. Compare runs by the counted length."
                ),
            )
        }));
    }
}

/// Mean asked and counted prompt length of the requests that have both.
fn prompt_lengths(measured: &Measured<'_>) -> Option<(f64, f64)> {
    let both = |request: &RequestRecord| Some((request.asked_input_tokens?, request.input_tokens?));
    let (mut n, mut asked, mut real) = (0_u64, 0_u64, 0_u64);
    for (a, r) in measured.level.successes().filter_map(both) {
        (n, asked, real) = (n + 1, asked + u64::from(a), real + u64::from(r));
    }
    (n > 0 && asked > 0).then(|| (asked as f64 / n as f64, real as f64 / n as f64))
}

/// Without a warm-up, the first request of each slot may have met a cold engine or a burst of prefills.
fn first_wave(measured: &Measured<'_>, slots: u32) -> Option<Flag> {
    let median = |requests: &[&RequestRecord]| {
        let mut ttft: Vec<f64> =
            requests.iter().filter_map(|request| crate::timing::Timing::of(request).ttft).collect();
        ttft.sort_by(f64::total_cmp);
        type7(&ttft, 500_000)
    };
    let successes: Vec<&RequestRecord> = measured.level.successes().collect();
    let (first, rest) = successes.split_at_checked(slots as usize)?;
    let (first, rest) = (median(first)?, median(rest)?);
    (first > 3.0 * rest).then(|| {
        invalid(
            "first_wave",
            families(&["ttft", "e2e"]),
            format!(
                "There was no warm-up, and the first requests waited {:.1} times as long for their first token as the others. Run with a warm-up.",
                first / rest.max(1.0)
            ),
        )
    })
}
