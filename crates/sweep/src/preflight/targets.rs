//! The servers of a run: reached, asked, compared.

use super::{Server, Way, server::About};
use crate::{Link, Observer, SweepError, SweepEvent};
use plimsoll_record::{Conditions, Plan};
use plimsoll_transport::FetchLimits;
use std::time::Duration;

/// Looks every server's name up and opens one connection to each.
pub async fn reach(
    plan: &Plan,
    link: &Link,
    way: &Way,
    observer: &mut dyn Observer,
) -> Result<Vec<Server>, SweepError> {
    let urls: Vec<&str> = match link {
        Link::Url => plan.url.iter().map(String::as_str).collect(),
        Link::Embedded(_) | Link::Memory(_) => vec![""],
    };
    let mut servers = Vec::new();
    for url in urls {
        let mut server = Server::reach(link, url, way).await?;
        observer.event(SweepEvent::Preflight(format!("looking at {}", server.shown())));
        server.connect(way.limit).await?;
        servers.push(server);
    }
    Ok(servers)
}

/// Asks every server what it is. All must serve the model; other differences are told.
pub async fn describe(
    plan: &Plan,
    servers: &[Server],
    conditions: &mut Conditions,
) -> Result<(), SweepError> {
    let time = plan.timeout.duration().min(Duration::from_secs(10));
    let limits = FetchLimits { time, redirects: plan.redirects, ..FetchLimits::default() };
    let mut all: Vec<(String, About)> = Vec::new();
    for server in servers {
        all.push((server.shown(), server.ask(limits).await?));
    }
    let Some((first, others)) = all.split_first() else { return Ok(()) };
    let model = first.1.choose_model(plan.model.as_deref())?;
    first.1.describe(&model, conditions);
    for (_, other) in others {
        if let Some(problem) = other.lacks(&model) {
            return Err(SweepError::target(problem));
        }
    }
    let version = |about: &About| about.version.clone().unwrap_or_else(|| "not told".to_owned());
    let length = |about: &About| about.max_model_len(&model).map_or("not told".to_owned(), |n| n.to_string());
    conditions.notes.extend(difference("version", &all, version));
    conditions.notes.extend(difference("max_model_len", &all, length));
    // What no server can take must not be sent to any.
    conditions.server.max_model_len = all.iter().filter_map(|(_, about)| about.max_model_len(&model)).min();
    Ok(())
}

/// A sentence, if the servers are not alike.
fn difference(what: &str, all: &[(String, About)], value: impl Fn(&About) -> String) -> Option<String> {
    let values: Vec<String> = all.iter().map(|(_, about)| value(about)).collect();
    if values.iter().all(|other| Some(other) == values.first()) {
        return None;
    }
    let each: Vec<String> =
        all.iter().zip(&values).take(8).map(|((shown, _), value)| format!("{shown}: {value}")).collect();
    Some(format!("the servers differ in {what}, so a mean over them describes none: {}", each.join(", ")))
}
