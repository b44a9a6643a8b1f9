//! One script: served, met by the client, judged.

use crate::{
    Ending, addresses, client,
    judge::{Verdict, judge},
    pages,
    script::Script,
    server::Server,
};
use plimsoll_record::RequestRecord;
use plimsoll_tests::TempDir;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A machine may be busy for a moment, not for so many.
const TRIES: usize = 3;
/// Beyond what the script takes.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Runs cases against a replay server of its own, so that nobody else's requests are counted.
pub struct Runner<'a> {
    folder: &'a Path,
    logs: TempDir,
    server: Option<Server>,
}

impl<'a> Runner<'a> {
    pub fn new(folder: &'a Path, worker: usize) -> Self {
        Self { folder, logs: TempDir::new(&format!("cases-{worker}")), server: None }
    }

    pub fn run(&mut self, name: &str) -> Ending {
        if let Some(result) = addresses::run(name, self.folder, &self.log(name)) {
            return result;
        }
        match self.script(name) {
            Ok(verdict) if verdict.wrong.is_empty() => {
                let told = |what: &'static str| move |line: String| format!("{what}: {line}");
                let mut lines: Vec<String> = verdict.second.into_iter().map(told("second choice")).collect();
                lines.extend(verdict.open.into_iter().map(told("not compared")));
                lines.extend(verdict.late.into_iter().map(told("late, in each try")));
                Ending::Passed(lines)
            }
            Ok(verdict) => Ending::Failed(verdict.wrong),
            Err(error) => Ending::Failed(vec![error]),
        }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs.path().join(format!("{name}.jsonl"))
    }

    fn script(&mut self, name: &str) -> Result<Verdict, String> {
        let script = Script::read(&self.folder.join("http").join(format!("{name}.json")))?;
        if self.server.is_none() {
            self.server = Some(Server::start(self.folder, self.log("server"), &[])?);
        }
        let server = self.server.as_ref().ok_or("no server")?;
        let mut verdict = Verdict::default();
        for _ in 0..TRIES {
            server.reset()?;
            let (records, found) = meet(&script, server)?;
            verdict = judge(&script, &records);
            verdict.wrong.extend(found);
            if !verdict.wrong.is_empty() || verdict.late.is_empty() {
                break;
            }
        }
        self.follow(&script, server, &mut verdict)?;
        pages::judge(&script, server, &mut verdict)?;
        Ok(verdict)
    }
}

impl Runner<'_> {
    /// Where a script redirects to another one, a client that is told to follow gets that one's answer.
    fn follow(&self, script: &Script, server: &Server, verdict: &mut Verdict) -> Result<(), String> {
        let location = script.location().unwrap_or_default();
        let Some(target) = location.split_once("/case/").and_then(|(_, rest)| rest.split('/').next()) else {
            return Ok(());
        };
        let target = Script::read(&self.folder.join("http").join(format!("{target}.json")))?;
        let limit = script.duration() + target.duration() + PATIENCE;
        let records = client::load_following(&server.url(&script.id), script.endpoint()?, 2, limit)?;
        let found = judge(&target, &records);
        verdict
            .wrong
            .extend(found.wrong.into_iter().map(|wrong| format!("with --redirects same-host: {wrong}")));
        if let Some(second) = verdict.second.first_mut() {
            second.push_str("; with --redirects same-host: ok");
        }
        Ok(())
    }
}

/// The records of a case's requests, and what was wrong about their number.
fn meet(script: &Script, server: &Server) -> Result<(Vec<RequestRecord>, Vec<String>), String> {
    let expect = script.expect();
    let url = server.url(&script.id);
    let mixed = expect.get("sequence").and_then(Value::as_array).map(Vec::len);
    let n = mixed.map_or(2, |length| length as u32 + 2);
    if script.refuses_fields() {
        // The right form of a request is found out before the load, by the program.
        let swept =
            client::sweep(&url, script.endpoint()?, n, &["--model", client::MODEL, "--scrape", "off"], &[])?;
        let wrong = (swept.ended.code != Some(0)).then(|| format!("the sweep ended with {:?}", swept.ended));
        return Ok((swept.records, wrong.into_iter().collect()));
    }
    let limit = (0..3).map(|number| script.attempt(number).duration()).max().unwrap_or_default() + PATIENCE;
    let records = client::load(&url, script.endpoint()?, n, limit)?;
    let posts = server.seen(&script.id)?.iter().filter(|line| line.starts_with("POST ")).count();
    let per_request = expect.get("posts_per_request").and_then(Value::as_u64).unwrap_or(1);
    let wanted = u64::from(n) * per_request;
    let wrong = (records.len() != n as usize || posts as u64 != wanted)
        .then(|| format!("{} records and {posts} POSTs of {n} planned requests", records.len()));
    Ok((records, wrong.into_iter().collect()))
}
