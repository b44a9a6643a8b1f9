use super::{CheckOptions, CheckRow, CheckState, pages::ms};
use crate::{
    SweepError,
    preflight::{Prober, Server, describe_form},
    template::{Form, Template},
};
use bytes::Bytes;
use plimsoll_driver::Target;
use plimsoll_record::{Conditions, Endpoint, EventKind, FailureKind, Outcome};
use plimsoll_transport::{Clock, Limits, Slot, Trace};
use plimsoll_workload::Prompt;

/// Checks the routes that generate, streaming and not.
pub struct Answers<'a> {
    pub server: &'a Server,
    pub options: &'a CheckOptions,
    pub model: &'a str,
}

/// Tokens of each answer.
const MAX_TOKENS: u32 = 16;
const QUESTION: &str = "What does the line on a ship's hull tell about its load?";

impl Answers<'_> {
    /// Adds the rows; returns the routes that are served, each with the form of requests that it takes.
    pub async fn all(&self, rows: &mut Vec<CheckRow>) -> Vec<Template> {
        let mut served = Vec::new();
        let mut absent = Vec::new();
        for (endpoint, name) in [(Endpoint::Chat, "chat"), (Endpoint::Completions, "completions")] {
            let mut template = Template {
                endpoint,
                model: self.model.to_owned(),
                temperature: 0.0,
                form: Form::usual(endpoint, false),
            };
            // The form is found as a sweep finds it, so that what passes here runs there.
            let asked = template.form.clone();
            let target = target(self.server, endpoint);
            let prober = Prober::new(&target, self.options.plan.timeout.duration());
            let streamed = prober.find_form(&mut template, &Prompt::user(QUESTION), MAX_TOKENS).await;
            if let Some(reason) = streamed.as_ref().ok().and_then(not_served) {
                absent.push((name, reason));
                continue;
            }
            let row = judge_whole(name, &self.whole(&template).await);
            if row.state != CheckState::Fail {
                served.push(template.clone());
            }
            rows.push(row);
            let row = judge_sent(&format!("{name}, streamed"), &streamed);
            rows.push(told(row, endpoint, &asked, &template.form));
        }
        // One of the two routes is enough to carry a load.
        for (name, reason) in absent {
            let row = if served.is_empty() { CheckRow::fail } else { CheckRow::warn };
            rows.push(row(name.to_owned(), format!("not served ({reason})")));
        }
        served
    }

    /// Does this server, one of several, take requests in the form that the first one takes?
    pub async fn other(&self, name: &str, template: &Template) -> CheckRow {
        let target = target(self.server, template.endpoint);
        let prober = Prober::new(&target, self.options.plan.timeout.duration());
        judge_sent(name, &prober.send(template, &Prompt::user(QUESTION), MAX_TOKENS).await)
    }

    async fn whole(&self, template: &Template) -> Trace {
        self.post(template.endpoint, template.whole(&Prompt::user(QUESTION), MAX_TOKENS)).await
    }

    async fn post(&self, endpoint: Endpoint, body: Bytes) -> Trace {
        let limits = Limits { stream: false, ..Limits::default() };
        let mut trace = Trace::default();
        let path = self.server.path(endpoint.path());
        let mut slot = match Slot::new(self.server.dial.clone(), self.server.head.clone(), &path, limits) {
            Ok(slot) => slot,
            Err(error) => {
                trace.fail(error.kind(), error.to_string());
                return trace;
            }
        };
        let clock = Clock::start();
        let limit = self.options.plan.timeout.duration();
        if tokio::time::timeout(limit, slot.post(body, clock, &mut trace)).await.is_err() {
            slot.cut_off(
                clock,
                &mut trace,
                FailureKind::Timeout,
                &format!("no complete answer within {limit:?}"),
            );
        }
        trace
    }
}

/// The route of a server, as a load would use it.
fn target(server: &Server, endpoint: Endpoint) -> Target {
    Target {
        dial: server.dial.clone(),
        head: server.head.clone(),
        path: server.path(endpoint.path()),
        limits: Limits::default(),
    }
}

fn judge_sent(name: &str, sent: &Result<Trace, SweepError>) -> CheckRow {
    match sent {
        Ok(trace) => judge_stream(name, trace),
        Err(error) => CheckRow::fail(name, error.to_string()),
    }
}

/// The row with what the server refuses of a usual request. A field that goes by another name is nothing missing.
fn told(row: CheckRow, endpoint: Endpoint, asked: &Form, found: &Form) -> CheckRow {
    let mut conditions = Conditions::default();
    describe_form(endpoint, asked, found, &mut conditions);
    if conditions.notes.is_empty() {
        return row;
    }
    let lacks = Form { limit: asked.limit, ..found.clone() } != *asked;
    let state = if lacks && row.state == CheckState::Pass { CheckState::Warn } else { row.state };
    CheckRow::new(row.name, state, format!("{}; {}", conditions.notes.join("; "), row.detail))
}

fn failure(trace: &Trace) -> Option<(FailureKind, &str)> {
    match &trace.outcome {
        Some(Outcome::Failed { kind, message }) => Some((*kind, message)),
        Some(Outcome::Ok) => None,
        None => Some((FailureKind::Closed, "no outcome")),
    }
}

/// Why a route is not there, as opposed to being there and failing: a status that says so, or a model without the
/// chat template that the chat route needs.
fn not_served(trace: &Trace) -> Option<String> {
    let (_, message) = failure(trace)?;
    match trace.http_status? {
        404 | 405 | 501 => Some(message.to_owned()),
        400 if message.contains("chat template") => Some(message.to_owned()),
        _ => None,
    }
}

fn judge_whole(name: &str, trace: &Trace) -> CheckRow {
    if let Some((kind, message)) = failure(trace) {
        return CheckRow::fail(name, format!("{kind}: {message}"));
    }
    let Some(finish) = &trace.finish_reason else {
        let state = if trace.text.is_empty() { CheckState::Fail } else { CheckState::Warn };
        return CheckRow::new(name, state, "200, but the answer has no finish_reason");
    };
    let took = trace.end.unwrap_or_default() - trace.sent.unwrap_or_default();
    let about = format!(
        "{} characters, finish_reason {finish}, {}",
        trace.text.chars().count(),
        ms(took.as_secs_f64())
    );
    match (trace.input_tokens, trace.output_tokens) {
        (Some(input), Some(output)) if output > 0 => {
            CheckRow::pass(name, format!("{output} tokens for {input} of prompt, {about}"))
        }
        (_, Some(0)) if trace.text.is_empty() => {
            CheckRow::warn(name, format!("an answer without text: {about}"))
        }
        _ => CheckRow::warn(name, format!("no usage, so tokens are not known: {about}")),
    }
}

fn judge_stream(name: &str, trace: &Trace) -> CheckRow {
    if let Some((kind, message)) = failure(trace) {
        return CheckRow::fail(name, format!("{kind}: {message}"));
    }
    let has = |kind| trace.events.iter().any(|event| event.kind == kind);
    let texts = trace.events.iter().filter(|event| event.kind.is_text()).count();
    // An event without text stands for a token whose character is not complete yet, as vLLM sends it.
    let empties = trace.events.iter().filter(|event| event.kind == EventKind::Empty).count();
    let role = if has(EventKind::Role) { "role event first" } else { "no role event" };
    let first = trace.first_token.unwrap_or_default() - trace.sent.unwrap_or_default();
    let tokens =
        trace.output_tokens.map_or("tokens not known".to_owned(), |tokens| format!("{tokens} tokens"));
    let and_empty = if empties > 0 { format!(" and {empties} empty ones") } else { String::new() };
    let about = format!(
        "{tokens} in {texts} text events{and_empty}, first after {}, {role}",
        ms(first.as_secs_f64())
    );
    let mut odd = Vec::new();
    if !has(EventKind::Done) {
        odd.push("no [DONE]".to_owned());
    }
    match trace.output_tokens {
        None => odd.push(
            "no usage although asked for: tok/s and TPOT will not be known without --tokenizer".to_owned(),
        ),
        // A last token without text, the end-of-sequence one, is no merging.
        Some(tokens) if f64::from(tokens) > 1.5 * (texts + empties) as f64 => {
            odd.push("several tokens come in one event: time between tokens cannot be seen".to_owned());
        }
        Some(_) => {}
    }
    if trace.malformed > 0 {
        odd.push(format!("{} events that are no JSON", trace.malformed));
    }
    if odd.is_empty() {
        CheckRow::pass(name, about)
    } else {
        CheckRow::warn(name, format!("{}; {about}", odd.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::{Nanos, StreamEvent};

    fn stream(kinds: &[EventKind], tokens: Option<u32>) -> Trace {
        let event =
            |kind: &EventKind| StreamEvent { at_ns: Nanos(5), kind: *kind, tokens: None, coalesced: false };
        Trace {
            events: kinds.iter().map(event).collect(),
            output_tokens: tokens,
            outcome: Some(Outcome::Ok),
            ..Trace::default()
        }
    }

    #[test]
    fn a_stream_is_whole_or_says_what_it_lacks() {
        use EventKind::{Content, Done, Empty, Role};
        let whole = judge_stream("s", &stream(&[Role, Content, Content, Content, Done], Some(4)));
        assert_eq!(whole.state, CheckState::Pass, "{whole:?}");
        for (kinds, tokens, part) in [
            (&[Content, Content][..], Some(2), "no [DONE]"),
            (&[Content, Done], None, "no usage"),
            (&[Content, Content, Done], Some(8), "several tokens"),
            (
                &[Content, Empty, Content, Empty],
                Some(4),
                "no [DONE]; 4 tokens in 2 text events and 2 empty ones",
            ),
        ] {
            let row = judge_stream("s", &stream(kinds, tokens));
            assert_eq!(row.state, CheckState::Warn);
            assert!(row.detail.contains(part), "{}", row.detail);
        }
        assert_eq!(judge_stream("s", &Trace::default()).state, CheckState::Fail);
    }

    #[test]
    fn json_that_is_no_answer_fails() {
        let odd = Trace { outcome: Some(Outcome::Ok), http_status: Some(200), ..Trace::default() };
        assert_eq!(judge_whole("w", &odd).state, CheckState::Fail);
        let unknown = Trace { finish_reason: Some("stop".into()), text: "a".into(), ..odd };
        assert_eq!(judge_whole("w", &unknown).state, CheckState::Warn);
    }

    #[test]
    fn an_absent_route_is_told_from_a_broken_one() {
        let with = |status, message: &str| {
            let outcome = Outcome::Failed { kind: FailureKind::HttpStatus, message: message.to_owned() };
            Trace { http_status: Some(status), outcome: Some(outcome), ..Trace::default() }
        };
        assert!(not_served(&with(404, "Not Found")).is_some());
        assert!(not_served(&with(400, "the model has no chat template")).is_some());
        assert!(not_served(&with(400, "bad")).is_none());
        assert!(not_served(&with(500, "broken")).is_none());
    }
}
