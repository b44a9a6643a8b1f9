//! Cases about addresses, which have no script of their own.

use crate::{Ending, client, server::Server};
use plimsoll_record::{Endpoint, Outcome};
use plimsoll_wire::url::BaseUrl;
use serde_json::Value;
use std::{fs, net::TcpListener, path::Path, time::Duration};

pub const NAMES: [&str; 4] = ["U01-url-join", "U03-ipv6", "U05-http-proxy-env", "U07-self-signed"];

const LIMIT: Duration = Duration::from_secs(5);

/// Runs the case of this name, if it is one of these.
pub fn run(name: &str, folder: &Path, log: &Path) -> Option<Ending> {
    let result = match name {
        "U01-url-join" => join(folder),
        "U03-ipv6" => ipv6(folder, log),
        "U05-http-proxy-env" => proxy(folder, log),
        "U07-self-signed" => self_signed(folder, log),
        _ => return None,
    };
    Some(result.unwrap_or_else(|error| Ending::Failed(vec![error])))
}

/// A script that any server can be tried with: the first one that is ordinary.
const ORDINARY: &str = "S03-no-space";

fn join(folder: &Path) -> Result<Ending, String> {
    let table = folder.join("files/U01-url-join.tsv");
    let Ok(table) = fs::read_to_string(&table) else {
        return Ok(Ending::Skipped(format!("there is no {}", table.display())));
    };
    let mut wrong = Vec::new();
    let rows = table.lines().skip(1).filter(|row| !row.trim().is_empty());
    for row in rows {
        let [base, endpoint, wanted] = row.split('\t').collect::<Vec<_>>()[..] else {
            wrong.push(format!("`{row}` has not three columns"));
            continue;
        };
        let (wanted, or_error) =
            wanted.split_once(" (or ").map_or((wanted, false), |(wanted, _)| (wanted, true));
        let route = match endpoint {
            "metrics" => "/metrics".to_owned(),
            "health" => "/health".to_owned(),
            other => other.parse::<Endpoint>()?.path().to_owned(),
        };
        match base.parse::<BaseUrl>() {
            Ok(base) if base.url(&route) == wanted => {}
            Err(_) if or_error => {}
            Ok(found) => {
                wrong.push(format!("{base} and {endpoint} give {}, not {wanted}", found.url(&route)));
            }
            Err(error) => wrong.push(format!("{base}: {error}")),
        }
    }
    Ok(if wrong.is_empty() { Ending::Passed(Vec::new()) } else { Ending::Failed(wrong) })
}

fn ipv6(folder: &Path, log: &Path) -> Result<Ending, String> {
    if TcpListener::bind("[::1]:0").is_err() {
        return Ok(Ending::Skipped("there is no IPv6 here".to_owned()));
    }
    let server = Server::start(folder, log.to_owned(), &["--host", "::1"])?;
    let url = format!("{}/v1", server.url(ORDINARY));
    let records = client::load(&url, Endpoint::Chat, 2, LIMIT)?;
    let authority = server.base.trim_start_matches("http://");
    let hosts: Vec<Value> = server.log().iter().map(|line| line["host"].clone()).collect();
    let mut wrong = not_ok(records.iter().map(|record| &record.outcome));
    if hosts.len() != 2 || hosts.iter().any(|host| host != authority) {
        wrong.push(format!("Host headers {hosts:?}, not {authority}"));
    }
    Ok(if wrong.is_empty() { Ending::Passed(Vec::new()) } else { Ending::Failed(wrong) })
}

fn not_ok<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<String> {
    outcomes.filter(|outcome| !outcome.is_ok()).map(|outcome| format!("{outcome:?}")).collect()
}

/// A proxy named in the environment that nobody serves.
fn proxy(folder: &Path, log: &Path) -> Result<Ending, String> {
    let server = Server::start(folder, log.to_owned(), &[])?;
    let nobody = "http://127.0.0.1:9";
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let env = names.map(|name| (name, nobody));
    let swept = client::sweep(&server.url(ORDINARY), Endpoint::Chat, 2, &["--model", client::MODEL], &env)?;
    let wrong = not_ok(swept.records.iter().map(|record| &record.outcome));
    Ok(if swept.ended.code == Some(0) && swept.records.len() == 2 && wrong.is_empty() {
        Ending::Passed(Vec::new())
    } else {
        Ending::Failed(vec![format!("{wrong:?} {:?}", swept.ended)])
    })
}

fn self_signed(folder: &Path, log: &Path) -> Result<Ending, String> {
    let server = Server::start(folder, log.to_owned(), &["--tls"])?;
    let url = format!("{}/v1", server.url(ORDINARY));
    let certificate = folder.join("tls/cert.pem").display().to_string();
    let sweep = |more: &[&str]| {
        let all = [&["--model", client::MODEL][..], more].concat();
        client::sweep(&url, Endpoint::Chat, 2, &all, &[])
    };
    let mut wrong = Vec::new();
    let bare = sweep(&[])?;
    if bare.ended.code != Some(3) || !bare.ended.stderr.contains("certificate") {
        wrong.push(format!("without a flag: {:?}", bare.ended));
    }
    for more in [&["--insecure"][..], &["--ca-file", &certificate]] {
        let swept = sweep(more)?;
        wrong.extend(not_ok(swept.records.iter().map(|record| &record.outcome)));
        if swept.ended.code != Some(0) || swept.records.len() != 2 {
            wrong.push(format!("with {more:?}: {:?}", swept.ended));
        }
        if swept.told.contains("no server metrics") {
            wrong.push(format!("with {more:?} the metrics page was not read"));
        }
    }
    Ok(if wrong.is_empty() { Ending::Passed(Vec::new()) } else { Ending::Failed(wrong) })
}
