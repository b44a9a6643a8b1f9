use crate::{
    CeilingStore, Ending, Observer, Rendered, Resolved, RunFolder, SweepError, SweepEvent, WallStamp,
    preflight::{self, Ready},
    render,
    run::Run,
};
use plimsoll_driver::Stop;
use plimsoll_record::{Environment, Plan, RequestRecord, TokenSource};
use plimsoll_transport::{MemoryDial, Secret};
use std::sync::Arc;

/// How the server is reached.
#[derive(Clone, Debug)]
pub enum Link {
    /// At the plan's `url`.
    Url,
    /// The embedded mock listens at this address; the plan has no `url`.
    Embedded(String),
    /// Over in-memory pipes to a server in this runtime, which must be a current-thread one with time paused. Call
    /// within a `LocalSet`.
    Memory(MemoryDial),
}

/// Everything a sweep needs.
#[derive(Debug)]
pub struct Setup {
    /// The plan.
    pub resolved: Resolved,
    /// How the server is reached.
    pub link: Link,
    /// The API key, if the server wants one.
    pub key: Option<Secret>,
    /// Ends the sweep early.
    pub stop: Stop,
    /// The run's wall-clock stamp, taken where the run begins.
    pub wall: WallStamp,
    /// The client's name and version.
    pub client: String,
    /// The command line, without secrets.
    pub argv: Vec<String>,
}

/// A sweep that has ended.
#[derive(Debug)]
pub struct Done {
    /// The evidence.
    pub folder: RunFolder,
    /// The report.
    pub rendered: Rendered,
    /// How the load ended.
    pub ending: Ending,
}

/// Runs a sweep from the preflight to the report.
pub async fn sweep(setup: Setup, observer: &mut dyn Observer) -> Result<Done, SweepError> {
    let Setup { resolved, link, key, stop, wall, client, argv } = setup;
    let clock = wall.clock();
    RunFolder::try_out(&resolved.plan.out)?;
    let files = preflight::Files::read(&resolved.plan)?;
    let mut ready: Ready = preflight::look(&resolved, &link, key.as_ref(), &files, clock, observer).await?;
    ready.conditions.environment = environment(&wall, &link, &resolved, &ready, client, argv);
    if ready.conditions.environment.ceiling.is_none() && !matches!(link, Link::Memory(_)) {
        observer.event(SweepEvent::Preflight(format!(
            "no self-test of this client with at most {} worker threads is stored for this host; `plimsoll selftest` tells \
             in 20 s what it can do",
            resolved.plan.workers
        )));
    }
    let workload = Arc::new(ready.workload(&resolved, files)?);
    let mut resolved = resolved;
    resolved.plan.model = Some(ready.conditions.server.model.clone());
    let folder = RunFolder::create(&resolved.plan.out, &wall, &ready.conditions.server.model)?;
    folder.write_head(&without_queries(resolved.plan.clone()), &ready.conditions)?;
    observer.event(SweepEvent::Started {
        folder: folder.path().to_owned(),
        levels: resolved.plan.levels(),
        repeats: resolved.plan.repeats,
    });
    let finish = count_tokens(&workload);
    let run = Run { resolved: &resolved, ready: &ready, workload, clock, stop, finish };
    let ending = run.go(&folder, observer).await?;
    let rendered = render(&folder)?;
    Ok(Done { folder, rendered, ending })
}

/// The plan as it may be written down: the query of an address may be a key.
fn without_queries(mut plan: Plan) -> Plan {
    for address in plan.url.iter_mut().chain(&mut plan.scrape) {
        address.truncate(address.find('?').unwrap_or(address.len()));
    }
    plan
}

/// Where the server sends no usage and the user has named a tokenizer, it counts the text, off the threads that send.
fn count_tokens(workload: &Arc<plimsoll_workload::Workload>) -> crate::writer::Finish {
    let workload = Arc::clone(workload);
    Box::new(move |record: &mut RequestRecord| {
        if record.output_tokens.is_some() || record.text_cut || record.text.is_empty() {
            return;
        }
        if let Some(count) = workload.count_tokens(&record.text) {
            record.output_tokens = Some(count);
            record.token_source = TokenSource::Tokenizer;
        }
    })
}

fn environment(
    wall: &WallStamp,
    link: &Link,
    resolved: &Resolved,
    ready: &Ready,
    client: String,
    argv: Vec<String>,
) -> Environment {
    let system = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let url = match link {
        Link::Url => {
            resolved.plan.url.first().map(|url| preflight::without_credentials(url)).unwrap_or_default()
        }
        Link::Embedded(url) => url.clone(),
        Link::Memory(_) => "memory".to_owned(),
    };
    Environment {
        started_at: wall.rfc3339(),
        started_unix_ns: wall.unix_ns(),
        url,
        argv,
        host: text(system.nodename()),
        os: format!("{} {} {}", text(system.sysname()), text(system.release()), text(system.machine())),
        targets: ready.ways.clone(),
        limits: ready.limits.clone(),
        ceiling: CeilingStore::of_environment()
            .filter(|_| !matches!(link, Link::Memory(_)))
            .and_then(|store| store.read(&client, resolved.plan.workers)),
        client,
        cpus: std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
    }
}
