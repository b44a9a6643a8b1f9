use super::sheet::{Sheet, cells};
use crate::{
    ReportInput, escape,
    figure::{NONE, significant},
};
use plimsoll_record::{Plan, SCRAPE_OFF};

/// The sheet of conditions. What is not known keeps its row, so that a reader sees that it is not known.
pub fn conditions(sheet: &mut Sheet, input: &ReportInput<'_>) {
    sheet.heading(2, "Conditions");
    let mut rows = Rows(Vec::new());
    rows.foreign("Date (start, RFC 3339)", &input.conditions.environment.started_at);
    server(&mut rows, input);
    load(&mut rows, input);
    client(&mut rows, input);
    sheet.table(&cells(["Condition", "Value"]), &rows.0, 2);
    targets(sheet, input);
    let notes: Vec<String> = input.conditions.notes.iter().map(|note| escape::markdown(note)).collect();
    if !notes.is_empty() {
        sheet.paragraph("Noted before the load began:");
        sheet.list(&notes);
    }
}

struct Rows(Vec<Vec<String>>);

impl Rows {
    /// A value of our own words.
    fn own(&mut self, name: &str, value: String) {
        let value = if value.is_empty() { NONE.to_owned() } else { value };
        self.0.push(vec![name.to_owned(), value]);
    }

    /// A value that somebody else wrote.
    fn foreign(&mut self, name: &str, value: &str) {
        self.own(name, escape::markdown(value));
    }

    fn code(&mut self, name: &str, value: &str) {
        self.own(name, escape::code(value));
    }
}

fn server(rows: &mut Rows, input: &ReportInput<'_>) {
    let server = &input.conditions.server;
    rows.code("Server address", &input.conditions.environment.url);
    rows.foreign("Server version", server.version.as_deref().unwrap_or_default());
    rows.foreign("Server software (its header)", server.software.as_deref().unwrap_or_default());
    rows.code("Model", &server.model);
    let models: Vec<String> = server.models.iter().map(|model| escape::code(model)).collect();
    rows.own("Models served", models.join(", "));
    rows.own(
        "Largest prompt plus answer, tokens",
        server.max_model_len.map(|n| n.to_string()).unwrap_or_default(),
    );
    let cache: Vec<String> =
        server.cache_config.iter().map(|(key, value)| escape::code(&format!("{key}={value}"))).collect();
    rows.own("Cache configuration", cache.join(" "));
    rows.own(
        "Accelerator, launch command, other processes",
        format!("{NONE} (a server does not tell; write them here)"),
    );
    let idle = match server.idle_before {
        Some(true) => "yes",
        Some(false) => "no: other load was present",
        None => "",
    };
    rows.own("Server idle before the load", idle.to_owned());
    let usage = if server.stream_usage { "yes" } else { "no" };
    rows.own("Usage in the stream", usage.to_owned());
    let read: Vec<String> = server
        .concepts
        .iter()
        .map(|(concept, metric)| format!("{} from {}", escape::markdown(concept), escape::code(metric)))
        .collect();
    rows.own("Server metrics read", read.join(", "));
    rows.foreign("Server metrics not shown", &server.missing_concepts.join(", "));
}

fn load(rows: &mut Rows, input: &ReportInput<'_>) {
    let (plan, conditions) = (input.plan, input.conditions);
    rows.own("Route", format!("`{}`, streaming", plan.endpoint.path()));
    rows.own("Load", loop_of(input));
    let levels: Vec<String> = conditions
        .levels
        .iter()
        .map(|level| {
            let added = if conditions.added_levels.contains(level) { " (added for the SLO)" } else { "" };
            format!("{level}{added}")
        })
        .collect();
    rows.own("Levels", levels.join(", "));
    rows.own("Measured requests per level", cohort(plan));
    rows.own("Repeats per level", plan.repeats.to_string());
    rows.own(
        "Warm-up requests per level",
        plan.warmup.map_or_else(|| "two per user, at least 4".to_owned(), |n| n.to_string()),
    );
    rows.own("Prompts", prompts(input));
    let length =
        if plan.prompts.is_some() { "as in the file".to_owned() } else { plan.input_tokens.to_string() };
    rows.own("Input length, tokens", length);
    rows.code(
        "System prompt",
        &plan.system.as_deref().map(|path| path.display().to_string()).unwrap_or_default(),
    );
    rows.own("`max_tokens`", plan.output_tokens.to_string());
    rows.own("Temperature", plan.temperature.to_string());
    rows.own("`ignore_eos`", if plan.ignore_eos { "yes" } else { "no" }.to_owned());
    rows.own("Seed", conditions.seed.to_string());
    rows.foreign("SLO", plan.slo.as_deref().unwrap_or_default());
    rows.own("Time limit per request", plan.timeout.to_string());
}

/// Closed or open, with the arrival process.
fn loop_of(input: &ReportInput<'_>) -> String {
    let plan = input.plan;
    let levels = &input.conditions.levels;
    let mut parts = Vec::new();
    if levels.is_empty() || levels.iter().any(|level| !level.is_open_loop()) {
        parts.push("closed loop: each user sends its next request when the last has ended".to_owned());
    }
    if levels.iter().any(|level| level.is_open_loop()) {
        let cap = plan.cap.map_or_else(String::new, |cap| format!(", at most {cap} in flight"));
        parts.push(format!(
            "open loop: requests arrive by schedule ({}), whatever the server does{cap}",
            plan.arrivals
        ));
    }
    parts.join("; ")
}

/// Addresses with their connections, as tried before the load.
fn targets(sheet: &mut Sheet, input: &ReportInput<'_>) {
    let targets = &input.conditions.environment.targets;
    if targets.is_empty() {
        return;
    }
    sheet.paragraph("Targets, each with one connection before the load:");
    let time = |at: Option<plimsoll_record::Nanos>| {
        at.map_or_else(|| NONE.to_owned(), |at| format!("{} ms", significant(at.as_secs_f64() * 1e3)))
    };
    let text = |text: Option<&str>, none: &str| text.map_or_else(|| none.to_owned(), escape::markdown);
    let row = |(index, target): (usize, &plimsoll_record::TargetConditions)| {
        vec![
            (index + 1).to_string(),
            escape::code(&target.url),
            escape::markdown(&target.addresses.join(", ")),
            text(target.http.as_deref(), NONE),
            text(target.tls.as_deref(), "none"),
            text(target.proxy.as_deref(), "none"),
            time(target.dns_ns),
            time(target.connect_ns),
            time(target.tls_ns),
        ]
    };
    let rows: Vec<Vec<String>> = targets.iter().enumerate().map(row).collect();
    let header =
        cells(["target", "URL", "addresses", "HTTP", "TLS", "proxy", "DNS", "connect", "TLS handshake"]);
    sheet.table(&header, &rows, 6);
}

fn cohort(plan: &Plan) -> String {
    match (plan.requests, plan.duration) {
        (Some(n), _) => n.to_string(),
        (None, Some(duration)) => format!("all that start within {duration}"),
        (None, None) => format!("by rule, in a window of at least {}", plan.min_window),
    }
}

fn prompts(input: &ReportInput<'_>) -> String {
    let prompts = &input.conditions.prompts;
    let mut parts =
        vec![escape::markdown(&prompts.source), format!("regime {}", escape::markdown(&prompts.regime))];
    parts.extend(prompts.usable.map(|usable| format!("{usable} usable")));
    let skipped = prompts.skipped.iter();
    parts.extend(skipped.map(|(reason, count)| format!("{count} skipped ({})", escape::markdown(reason))));
    parts.join(", ")
}

fn client(rows: &mut Rows, input: &ReportInput<'_>) {
    let (plan, environment) = (input.plan, &input.conditions.environment);
    rows.foreign("Client", &environment.client);
    rows.code("Client command line", &command_line(&environment.argv));
    rows.foreign("Client host", &environment.host);
    rows.foreign("Client system", &environment.os);
    rows.own(
        "Client processors",
        if environment.cpus == 0 { String::new() } else { environment.cpus.to_string() },
    );
    rows.own("Client worker threads", plan.workers.to_string());
    let limits = &environment.limits;
    let room = |needed: Option<u64>, allowed: Option<u64>| match (needed, allowed) {
        (Some(needed), Some(allowed)) => format!("{needed} needed, {allowed} allowed"),
        _ => String::new(),
    };
    rows.own("Open files", room(limits.files_needed, limits.files_allowed));
    rows.own("Local ports", room(limits.ports_needed, limits.ports_allowed));
    rows.own(
        "Client processor quota",
        limits.cpu_quota.map(|quota| format!("{} processors", significant(quota))).unwrap_or_default(),
    );
    rows.own("Client self-test", self_test(environment));
    let scrape = match plan.scrape.as_deref() {
        Some(SCRAPE_OFF) => "off".to_owned(),
        target => format!("{} every {}", escape::code(target.unwrap_or("/metrics")), plan.scrape_interval),
    };
    rows.own("Scrape of the server's metrics", scrape);
}

/// What this machine's client reached against the mock.
fn self_test(environment: &plimsoll_record::Environment) -> String {
    environment.ceiling.as_ref().map_or_else(String::new, |ceiling| {
        format!(
            "{} events/s, {} req/s, {} streams, worker threads: {} ({}, {})",
            significant(ceiling.events_s),
            significant(ceiling.requests_s),
            ceiling.streams,
            ceiling.workers,
            escape::markdown(&ceiling.client),
            escape::markdown(&ceiling.measured_at)
        )
    })
}

/// Quoted for a shell, so that it can be run again.
fn command_line(argv: &[String]) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quote = |argument: &String| {
        if !argument.is_empty() && argument.chars().all(bare) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let argv = ["plimsoll", "--slo", "at 10: ttft p95 < 1s", "", "it's"].map(str::to_owned);
        assert_eq!(command_line(&argv), r"plimsoll --slo 'at 10: ttft p95 < 1s' '' 'it'\''s'");
    }
}
