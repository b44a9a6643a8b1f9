use crate::{
    Exit,
    flags::{CheckFlags, MockFlags, ReportFlags, SelftestFlags, SweepFlags},
    terminal,
};
use clap::{ArgAction, Parser, Subcommand, error::ErrorKind};

const CODES: &str = "\
Exit codes:
  0  done            3  the server cannot be used
  1  anything else   4  the run is invalid: incomplete, stopped, or void by an integrity flag
  2  usage           5  an SLO has failed
                   130  a second Ctrl-C";

const SWEEP_EXAMPLES: &str = "\
Examples:
  The embedded mock server, to see what comes out:
    plimsoll sweep
  Your server, the SLO fixed beforehand; level 10 is measured too because the SLO names it:
    plimsoll sweep --url http://127.0.0.1:8000 --concurrency 1,2,4,8,16 --slo \"at 10: ttft p95 < 1s\"
  Real questions with a shared system prompt:
    plimsoll sweep --url http://127.0.0.1:8000 --prompts questions.txt --system system.txt
  An open loop: requests arrive at these rates, whatever the server does; the clock starts when each was due:
    plimsoll sweep --url http://127.0.0.1:8000 --rate 1,2,4 --duration 60s
  Two servers behind TLS with a private CA, a key from a file, and a header from a variable:
    plimsoll sweep --url https://a:8443,https://b:8443 --ca-file ca.pem --api-key-file key --header \"X-Team: env:TEAM\"
  The same run again, from its folder:
    plimsoll sweep --plan runs/<time>-<model>/plan.toml

Lengths are written 256, 256:50 (normal, mean:sd) or 200-300 (uniform); times 250ms, 1.5s, 2m.
A plan file holds the same keys without the dashes: `concurrency = [1, 2, 4]`, `slo = \"...\"`.";

/// Load-tests an LLM server: how fast is it at each load, where is the knee, and what was the limit?
#[derive(Debug, Parser)]
#[command(name = "plimsoll", bin_name = "plimsoll", version, after_help = CODES)]
#[command(
    disable_help_subcommand = true,
    subcommand_required = true,
    args_override_self = true,
    disable_help_flag = true
)]
pub struct Cli {
    /// Print help.
    // The compact layout, a line per flag, also for the long form.
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    help: Option<bool>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sends load at rising concurrency and reads the result: table, knee, SLO verdicts, bottleneck.
    ///
    /// Without --url the mock server is started inside the program and swept, with short requests and windows.
    // A number below zero is told as one, not as a flag that there is not.
    #[command(after_help = SWEEP_EXAMPLES, allow_negative_numbers = true)]
    Sweep(Box<SweepFlags>),
    /// Tells in seconds whether a server answers on each route, correctly and completely.
    #[command(allow_negative_numbers = true)]
    Check(CheckFlags),
    /// Serves the mock vLLM until Ctrl-C.
    #[command(allow_negative_numbers = true)]
    Mock(MockFlags),
    /// Measures in about 20 s what this machine's client can do at most; `sweep` writes it beside its results.
    #[command(allow_negative_numbers = true)]
    Selftest(SelftestFlags),
    /// Makes the report of a run folder again, from the folder alone.
    Report(ReportFlags),
}

/// Help and version go to standard output; a wrong command line becomes one line.
pub fn refuse(error: &clap::Error) -> Exit {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return terminal::print(&error.to_string()).map_or_else(|failure| failure.exit(), |()| Exit::Done);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        terminal::say(&error.to_string());
        return Exit::Usage;
    }
    terminal::error(&one_line(&error.to_string()));
    Exit::Usage
}

/// clap's message without its usage block.
fn one_line(text: &str) -> String {
    let said = text.split("\nUsage:").next().unwrap_or(text);
    let said = said.split("\nFor more information").next().unwrap_or(said);
    let words: Vec<&str> = said.trim_start_matches("error:").split_whitespace().collect();
    format!("{}; see --help", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use plimsoll_record::Plan;

    #[test]
    fn a_negative_number_is_told_as_the_flags_own() {
        for line in ["sweep --retries -1", "sweep --rate -3", "mock --port -1", "check --timeout -1"] {
            let error = Cli::try_parse_from(["plimsoll"].into_iter().chain(line.split(' '))).unwrap_err();
            let flag = line.split(' ').nth(1).unwrap();
            assert!(one_line(&error.to_string()).contains(flag), "{line}: {error}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn errors_are_one_line_that_names_the_flag() {
        for (args, part) in [
            (&["plimsoll", "sweep", "--concurency", "1"][..], "--concurency"),
            (&["plimsoll", "sweep", "--concurrency", "a"], "--concurrency"),
            (&["plimsoll", "sweep", "--input-tokens", "9-1"], "--input-tokens"),
            (&["plimsoll", "sweep", "--duration", "soon"], "--duration"),
            (&["plimsoll", "sweep", "--endpoint", "embeddings"], "--endpoint"),
            (&["plimsoll", "sweep", "--concurrency", "1..4"], "such as 1,2,4"),
            (&["plimsoll", "sweep", "--rate", "fast"], "is not a rate"),
            (&["plimsoll", "sweep", "--arrivals", "bursty"], "gamma:0.5"),
            (&["plimsoll", "sweep", "--http", "3"], "write 1, 2 or auto"),
            (&["plimsoll", "sweep", "--redirects", "all"], "same-host"),
            (&["plimsoll", "report"], "<RUN>"),
            (&["plimsoll", "sweeep"], "sweeep"),
        ] {
            let text = one_line(&Cli::try_parse_from(args).unwrap_err().to_string());
            assert!(text.contains(part) && !text.contains('\n'), "{args:?}: {text}");
        }
    }

    /// The help names each default of the plan as the plan has it.
    #[test]
    fn defaults_in_the_help_are_the_plan_s() {
        let mut command = Cli::command();
        let sweep = command.find_subcommand_mut("sweep").unwrap();
        let help: String =
            sweep.render_long_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let plan = Plan::default();
        let demo = plimsoll_sweep::demo_plan();
        for default in [
            format!("[default: {}; mock: {}]", plan.input_tokens, demo.input_tokens),
            format!("[default: {}; mock: {}]", plan.output_tokens, demo.output_tokens),
            format!("[default: {}; mock: {}]", plan.min_window, demo.min_window),
            format!("[default: {}; mock: {}]", plan.scrape_interval, demo.scrape_interval),
            format!("[default: {}]", plan.timeout),
            format!("[default: {}]", plan.connect_timeout),
            format!("[default: {}]", plan.idle_timeout),
            format!("[default: {}]", plan.arrivals),
            format!("[default: {}]", plan.retries),
            format!("[default: {}]", plan.out.display()),
            format!(
                "[default: {}]",
                plan.concurrency.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
            ),
            format!("[default: {}]", plan.temperature),
            format!("[default: {}]", plan.workers),
        ] {
            assert!(help.contains(&default), "{default} is not in {help}");
        }
    }
}
