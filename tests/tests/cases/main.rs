//! The folder of replay scripts, one test per file: a raw HTTP conversation each, played byte for byte by the folder's
//! own server, and what is right for it. A new file there is a new test.
//!
//! The folder is `$PLIMSOLL_CASES`, else `../shared/cases` beside the workspace. Without it, or without Python, the
//! tests are skipped, and say so.

#![expect(clippy::print_stdout, reason = "a test harness speaks to its user")]

mod addresses;
mod client;
mod judge;
mod pages;
mod run;
mod script;
mod server;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use tokio::time::Instant;

/// Cases run side by side: most of their time is waiting.
const AT_ONCE: usize = 4;

/// How a test ended.
pub enum Ending {
    /// With what is worth telling: second choices, expectations not compared, stamps that came late.
    Passed(Vec<String>),
    /// With what is wrong.
    Failed(Vec<String>),
    /// With the reason.
    Skipped(String),
}

fn main() -> ExitCode {
    let arguments = Arguments::read(env::args().skip(1));
    let begun = Instant::now();
    let folder = folder();
    if arguments.list {
        for name in names(&folder).iter().filter(|name| arguments.wants(name)) {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let all = names(&folder);
    let wanted: Vec<&String> = all.iter().filter(|name| arguments.wants(name)).collect();
    println!("\nrunning {} tests", wanted.len());
    if all.is_empty() {
        println!(
            "skipped 1 folder: there are no replay scripts in {} (PLIMSOLL_CASES names another)",
            folder.display()
        );
    }
    let python = server::has_python();
    let done = Mutex::new((0, Vec::new(), 0));
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for worker in 0..AT_ONCE.min(wanted.len()) {
            let (done, next, wanted, folder) = (&done, &next, &wanted, &folder);
            scope.spawn(move || {
                let mut runner = run::Runner::new(folder, worker);
                while let Some(name) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = if python {
                        runner.run(name)
                    } else {
                        Ending::Skipped("there is no python3".to_owned())
                    };
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    report(name, result, &mut done);
                }
            });
        }
    });
    let (passed, failed, skipped) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if skipped > 0 {
        println!("skipped {skipped} cases");
    }
    if !failed.is_empty() {
        println!("\nfailures:\n    {}", failed.join("\n    "));
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {} failed; {skipped} ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        failed.len(),
        all.len() - wanted.len(),
        begun.elapsed().as_secs_f64()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

fn report(name: &str, result: Ending, done: &mut (u32, Vec<String>, u32)) {
    let (word, lines) = match result {
        Ending::Passed(lines) => {
            done.0 += 1;
            ("ok", lines)
        }
        Ending::Failed(lines) => {
            done.1.push(name.to_owned());
            ("FAILED", lines)
        }
        Ending::Skipped(why) => {
            done.2 += 1;
            ("ignored", vec![why])
        }
    };
    println!("test {name} ... {word}");
    for line in lines {
        println!("     {line}");
    }
}

fn folder() -> PathBuf {
    let beside = || plimsoll_tests::workspace::root().join("../shared/cases");
    env::var_os("PLIMSOLL_CASES").map_or_else(beside, PathBuf::from)
}

/// One for each script, and the cases about addresses where their table is there.
fn names(folder: &Path) -> Vec<String> {
    let scripts = std::fs::read_dir(folder.join("http")).into_iter().flatten().flatten();
    let mut names: Vec<String> = scripts
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".json")?.to_owned()))
        .collect();
    if !names.is_empty() {
        names.extend(addresses::NAMES.map(str::to_owned));
    }
    names.sort();
    names
}

/// The arguments that cargo passes on; those of the usual harness that have no meaning here are taken and ignored.
#[derive(Default)]
struct Arguments {
    list: bool,
    exact: bool,
    ignored: bool,
    filters: Vec<String>,
    skip: Vec<String>,
}

impl Arguments {
    fn read(words: impl Iterator<Item = String>) -> Self {
        let mut arguments = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--list" => arguments.list = true,
                "--exact" => arguments.exact = true,
                "--ignored" => arguments.ignored = true,
                "--skip" => arguments.skip.extend(words.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(words.next()),
                option if option.starts_with('-') => {}
                _ => arguments.filters.push(word),
            }
        }
        arguments
    }

    fn wants(&self, name: &str) -> bool {
        let fits = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        !self.ignored
            && (self.filters.is_empty() || self.filters.iter().any(fits))
            && !self.skip.iter().any(fits)
    }
}
