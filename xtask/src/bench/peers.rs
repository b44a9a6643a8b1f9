//! Plimsoll and other load clients in turn, against the mock with the same load.

use super::{
    measure::{self, Cost},
    mock::Mock,
    results,
    table::{Row, table},
    templates::{Load, TEMPLATES, Template},
};
use crate::{
    real::servers,
    shell::{self, cargo, root, say},
};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

#[derive(Debug, Args)]
pub struct Options {
    /// Requests in flight.
    #[arg(long, default_value_t = 64)]
    concurrency: u32,
    /// Requests.
    #[arg(long, default_value_t = 512)]
    requests: u32,
    /// Prompt length, tokens.
    #[arg(long, default_value_t = 64)]
    input: u32,
    /// Length of an answer, tokens.
    #[arg(long, default_value_t = 100)]
    output: u32,
    /// Time between two tokens of the mock; the first one comes after one to two of these.
    #[arg(long, default_value = "10ms")]
    step: String,
    /// Only clients whose names hold one of these words.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Folder with a tokenizer for clients that need one [default: the tiny model of `cargo xtask real vllm`].
    #[arg(long)]
    tokenizer: Option<PathBuf>,
    /// A plimsoll and a xtask that are built already are in this folder [default: built with optimisation].
    #[arg(long)]
    programs: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    let programs = match &options.programs {
        // Clients run in folders of their own.
        Some(folder) => fs::canonicalize(folder).with_context(|| folder.display().to_string())?,
        None => build()?,
    };
    let servers = servers()?;
    let tokenizer = options.tokenizer.clone().unwrap_or_else(|| servers.join("tiny-model"));
    ensure!(
        tokenizer.join("tokenizer.json").is_file(),
        "{} holds no tokenizer.json, which other clients need; name another with --tokenizer",
        tokenizer.display()
    );
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let wanted =
        |name: &str| options.only.is_empty() || options.only.iter().any(|word| name.contains(word.as_str()));
    for template in TEMPLATES.iter().filter(|template| wanted(template.name)) {
        let own = programs.join(template.program);
        let program = if template.name == "plimsoll" { Some(own) } else { template.find(&servers) };
        let Some(program) = program else {
            notes.push(format!(
                "not found: {} ({}); to have it: {}",
                template.name, template.program, template.hint
            ));
            continue;
        };
        match one(template, &program, options, &programs, &tokenizer) {
            Ok(row) => {
                if let Some(why) = &row.reported.withheld {
                    notes.push(format!(
                        "{} computes these figures and its report does not show them: {why}",
                        row.name
                    ));
                }
                rows.push(row);
            }
            Err(error) => notes.push(format!("failed: {}: {error:#}", template.name)),
        }
    }
    say(&format!(
        "\n{} requests of {} output tokens, {} in flight, a token each {}; errors are reported minus true, the truth \
         being the mock's ledger\n\n{}",
        options.requests,
        options.output,
        options.concurrency,
        options.step,
        table(&rows)
    ));
    say(
        "guidellm and aiperf report as ITL the mean gap of each request; they are held against the same of the ledger",
    );
    for line in notes {
        say(&line);
    }
    Ok(())
}

/// Plimsoll and the mock, with optimisation.
fn build() -> Result<PathBuf> {
    shell::run(cargo().args(["build", "--release", "--package", "plimsoll", "--package", "xtask"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release"))
}

fn one(
    template: &Template,
    program: &Path,
    options: &Options,
    programs: &Path,
    tokenizer: &Path,
) -> Result<Row> {
    let tokenizer = fs::canonicalize(tokenizer)?.display().to_string();
    // Some clients take the model's name for the tokenizer's place.
    let mock = Mock::start(&programs.join("xtask"), &tokenizer, &options.step)?;
    let out = root().join("target/peers").join(format!(
        "{}-{}",
        template.name.replace(' ', "-"),
        std::process::id()
    ));
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let load = Load {
        url: &mock.url,
        model: &tokenizer,
        tokenizer: &tokenizer,
        concurrency: options.concurrency,
        requests: options.requests,
        input: options.input,
        output: options.output,
        out: &out.display().to_string(),
    };
    let arguments: Vec<String> = template.arguments.split_whitespace().map(|word| load.fill(word)).collect();
    say(&format!("+ {} {}", template.program, arguments.join(" ")));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&out);
    command.envs(template.environment.iter().map(|(name, value)| (name, load.fill(value))));
    let log = out.join("output.log");
    let Cost { status, cpu, memory, started_ns } = measure::run(&mut command, &log)?;
    let truth = mock.stop()?;
    let reported = results::read(template.form, &out);
    let reported =
        reported.with_context(|| format!("it ended with {status}; its output is in {}", log.display()))?;
    let (warmup, after) = (reported.warmup, reported.after);
    let measured = options.requests as usize;
    // What came before the load: probes, and a warm-up.
    let before = truth.requests.len().saturating_sub(measured + warmup + after) + warmup;
    let first = truth.requests.iter().map(|request| request.arrival_ns).min();
    Ok(Row {
        name: template.name.to_owned(),
        cpu,
        tokens: truth.tokens(),
        memory,
        start: first.map(|first| Duration::from_nanos(first.saturating_sub(started_ns))),
        reported,
        truth: truth.figures(before, measured, template.gaps),
    })
}
