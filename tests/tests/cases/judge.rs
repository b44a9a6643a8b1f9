//! Records against expectations.

use crate::script::{Script, Sent};
use plimsoll_record::{EventKind, FailureKind, Outcome, RequestRecord};
use serde_json::{Map, Value};
use std::time::Duration;

/// A timer on the server's side is never early; this is for the clocks' grain.
const EARLY: Duration = Duration::from_millis(5);
/// What a quiet machine adds at most.
const LATE: Duration = Duration::from_millis(60);

/// What was found about a case.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What is wrong.
    pub wrong: Vec<String>,
    /// Results that are right, though the script names a better one first.
    pub second: Vec<String>,
    /// Stamps that a busy machine may have made late; worth another try.
    pub late: Vec<String>,
    /// Expectations that were not compared.
    pub open: Vec<String>,
}

/// Keys that are compared elsewhere, or say nothing to compare.
const ELSEWHERE: [&str; 5] = ["note", "posts_per_request", "warn", "metrics", "if_rejected"];

/// Compares all records of a case.
pub fn judge(script: &Script, records: &[RequestRecord]) -> Verdict {
    let expect = script.expect();
    let mut verdict = Verdict::default();
    for key in expect
        .keys()
        .filter(|key| !ELSEWHERE.contains(&key.as_str()) && !Compare::KEYS.contains(&key.as_str()))
    {
        verdict.open.push(key.clone());
    }
    if records.is_empty() {
        verdict.wrong.push("no record".to_owned());
    }
    let sequence = expect.get("sequence").and_then(Value::as_array).cloned().unwrap_or_default();
    for (number, record) in records.iter().enumerate() {
        let mut compare = Compare { expect: &expect, record, verdict: &mut verdict };
        match text(&expect, "result") {
            "ok" => compare.first_of("ok", number, script),
            "error" => {
                let kind = text(&expect, "error_kind").to_owned();
                compare.first_of(&kind, number, script);
            }
            "mixed" => {
                let wanted = sequence.get(number).or(sequence.last()).and_then(Value::as_str).unwrap_or("ok");
                compare.first_of(wanted, number, script);
            }
            other => compare.verdict.open.push(format!("result {other}")),
        }
    }
    for list in [&mut verdict.wrong, &mut verdict.second, &mut verdict.late, &mut verdict.open] {
        list.dedup();
    }
    verdict
}

struct Compare<'a> {
    expect: &'a Map<String, Value>,
    record: &'a RequestRecord,
    verdict: &'a mut Verdict,
}

impl Compare<'_> {
    const KEYS: [&'static str; 20] = [
        "result",
        "error_kind",
        "http_status",
        "message_contains",
        "partial_text",
        "acceptable",
        "output_text",
        "reasoning_text",
        "tool_text",
        "usage",
        "usage_acceptable",
        "finish_reason",
        "n_chunks_with_content",
        "token_event_indexes",
        "ttft_from_event_index",
        "ttft_content_event_index",
        "ttft_ms_nominal",
        "ttft_absent",
        "must_finish_within_ms",
        "sequence",
    ];

    /// `wanted` is the first choice; others may be acceptable.
    fn first_of(&mut self, wanted: &str, number: usize, script: &Script) {
        if self.is(wanted) {
            self.details(wanted, number, script);
            return;
        }
        let others = self.expect.get("acceptable").and_then(Value::as_array).cloned().unwrap_or_default();
        let found = self.outcome();
        match others.iter().filter_map(Value::as_str).find(|other| self.is(other)) {
            Some(other) => {
                self.verdict.second.push(format!("{found}, where `{wanted}` is best and `{other}` will do"));
                let names_location = other.contains("Location");
                let target = script.location().unwrap_or_default().replace("{base}", "");
                if names_location && !found.contains(&target) {
                    self.wrong(format!("{found} does not name {target}"));
                }
                if let Some(encoding) = other.split_once("Content-Encoding ").map(|(_, encoding)| encoding)
                    && !found.contains(encoding)
                {
                    self.wrong(format!("{found} does not name {encoding}"));
                }
                if other.starts_with("ok") {
                    self.details("ok", number, script);
                } else {
                    self.failure();
                }
            }
            None => self.wrong(format!("{found}, not {wanted}")),
        }
    }

    /// Does the record's outcome fit such words as `ok`, `error http_status 503`, `truncated`, `ok with text ...`?
    fn is(&self, words: &str) -> bool {
        let words = words.strip_prefix("error ").unwrap_or(words);
        if let Some(rest) = words.strip_prefix("ok") {
            let text = rest.strip_prefix(" with text ").unwrap_or(&self.record.text);
            return self.record.outcome.is_ok() && self.record.text == text;
        }
        let mut parts = words.split_whitespace();
        let kind = match parts.next() {
            Some("connection_reset") => "reset",
            Some("connection_closed") => "closed",
            Some(kind) => kind,
            None => return false,
        };
        let status = parts.next().and_then(|status| status.parse().ok());
        let refused = self.record.outcome.failure() == Some(FailureKind::Policy) && kind == "http_status";
        self.record.outcome.failure().is_some_and(|found| found.name() == kind || refused)
            && status.is_none_or(|status: u16| self.record.http_status == Some(status))
    }

    fn outcome(&self) -> String {
        match &self.record.outcome {
            Outcome::Ok => "ok".to_owned(),
            Outcome::Failed { kind, message } => format!("{kind}: {message}"),
        }
    }

    fn wrong(&mut self, what: String) {
        self.verdict.wrong.push(what);
    }

    fn details(&mut self, wanted: &str, number: usize, script: &Script) {
        if wanted.starts_with("ok") {
            self.texts();
            self.usage();
            self.same("finish_reason", &Value::from(self.record.finish_reason.clone()));
        } else {
            self.failure();
            if text(self.expect, "result") == "mixed" {
                return;
            }
        }
        let limit =
            self.expect.get("must_finish_within_ms").and_then(Value::as_u64).map(Duration::from_millis);
        if let (Some(limit), Some(sent)) = (limit, self.record.sent_ns)
            && self.record.end_ns - sent > plimsoll_record::Nanos(limit.as_nanos() as u64)
        {
            self.wrong(format!("not over within {limit:?}"));
        }
        self.tokens(&script.attempt(number).events());
    }

    fn failure(&mut self) {
        self.same("http_status", &Value::from(self.record.http_status));
        let found = self.outcome();
        if let Some(part) = self.expect.get("message_contains").and_then(Value::as_str)
            && !found.contains(part)
        {
            self.wrong(format!("`{part}` is not in `{found}`"));
        }
        if found.split_once(": ").is_none_or(|(_, message)| message.trim().is_empty()) {
            self.wrong(format!("{found} has no reason"));
        }
        self.same("partial_text", &Value::from(self.record.text.clone()));
    }

    /// A key of the expectations, where it is there.
    fn same(&mut self, key: &str, found: &Value) {
        if let Some(wanted) = self.expect.get(key)
            && wanted != found
        {
            self.verdict.wrong.push(format!("{key} is {found}, not {wanted}"));
        }
    }

    /// The record has one text; its channels are told apart by the kinds of its events.
    fn texts(&mut self) {
        let part = |key: &str| text(self.expect, key).to_owned();
        let (output, reasoning, tool) = (part("output_text"), part("reasoning_text"), part("tool_text"));
        let orders =
            [[&reasoning, &output, &tool], [&output, &reasoning, &tool], [&reasoning, &tool, &output]];
        if !orders
            .iter()
            .any(|order| order.iter().map(|part| part.as_str()).collect::<String>() == self.record.text)
        {
            self.wrong(format!(
                "the text is {:?}, not {reasoning:?} + {output:?} + {tool:?}",
                self.record.text
            ));
        }
        if self.record.events.is_empty() {
            return;
        }
        for (kind, text) in
            [(EventKind::Content, output), (EventKind::Reasoning, reasoning), (EventKind::ToolCall, tool)]
        {
            let seen = self.record.events.iter().any(|event| event.kind == kind);
            if seen == text.is_empty() {
                self.wrong(format!("events of kind {kind:?}: {seen}, but their text is {text:?}"));
            }
        }
    }

    fn usage(&mut self) {
        let counts = |usage: &Value| {
            ["prompt_tokens", "completion_tokens"].map(|key| usage.get(key).and_then(Value::as_u64))
        };
        let found = [self.record.input_tokens, self.record.output_tokens].map(|count| count.map(u64::from));
        let wanted: Vec<Value> = match self.expect.get("usage_acceptable").and_then(Value::as_array) {
            Some(wanted) => wanted.clone(),
            None => vec![self.expect.get("usage").cloned().unwrap_or(Value::Null)],
        };
        if !wanted.iter().any(|usage| counts(usage) == found) {
            self.wrong(format!("usage is {found:?}, not one of {wanted:?}"));
        }
    }

    fn tokens(&mut self, sent: &[Sent]) {
        let tokens: Vec<(usize, _)> =
            self.record.events.iter().enumerate().filter(|(_, event)| event.kind.is_text()).collect();
        self.same("n_chunks_with_content", &Value::from(tokens.len()));
        let mapped: Vec<_> =
            tokens.iter().map(|(number, event)| (sent.get(*number).copied(), *event)).collect();
        let indexes: Vec<_> = mapped.iter().map(|(sent, _)| sent.map(|sent| sent.index)).collect();
        if let Some(wanted) = self.expect.get("token_event_indexes").filter(|wanted| wanted.is_array()) {
            let found: Value = indexes.iter().copied().map(Value::from).collect();
            if found != *wanted {
                self.wrong(format!("tokens in body events {found}, not {wanted}"));
            }
        }
        let index = |number: Option<usize>| {
            number.and_then(|number| sent.get(number)).map_or(Value::Null, |sent| Value::from(sent.index))
        };
        let first = self.record.first_token_ns.and_then(|at| {
            let stamped = self.record.events.iter().position(|event| event.at_ns == at);
            tokens.iter().find(|(_, event)| event.at_ns == at).map(|(number, _)| *number).or(stamped)
        });
        self.same("ttft_from_event_index", &index(first));
        let content = tokens.iter().find(|(_, event)| event.kind == EventKind::Content);
        self.same("ttft_content_event_index", &index(content.map(|(number, _)| *number)));
        if self.expect.get("ttft_absent").and_then(Value::as_bool) == Some(true)
            && self.record.first_token_ns.is_some()
        {
            self.wrong("a TTFT, though nothing was streamed".to_owned());
        }
        let nominal = self.expect.get("ttft_ms_nominal").and_then(Value::as_u64).map(Duration::from_millis);
        match (nominal, self.record.first_token_ns) {
            (Some(nominal), Some(at)) => self.stamp("TTFT", nominal, at),
            (Some(_), None) => self.wrong("no TTFT".to_owned()),
            (None, Some(_)) => self.wrong("a TTFT, though no token came".to_owned()),
            (None, None) => {}
        }
        for (sent, event) in &mapped {
            if let Some(sent) = sent {
                self.stamp("an event", sent.at, event.at_ns);
            }
        }
        for pair in mapped.windows(2) {
            let [(Some(before), first), (Some(after), second)] = pair else { continue };
            let one_write = before.write == after.write;
            if one_write && (first.at_ns != second.at_ns || !second.coalesced) {
                self.verdict.late.push("two events of one write have two stamps".to_owned());
            }
            if !one_write && after.at > before.at && first.at_ns >= second.at_ns {
                self.verdict.late.push("events of two writes have one stamp".to_owned());
            }
        }
    }

    /// Nothing can be read before it was written; how late it is read is the machine's matter.
    fn stamp(&mut self, what: &str, nominal: Duration, at: plimsoll_record::Nanos) {
        let Some(sent) = self.record.sent_ns else { return };
        let took = Duration::from_nanos((at - sent).0);
        if took + EARLY < nominal {
            self.wrong(format!("{what} is stamped {took:?} after the request; it was sent at {nominal:?}"));
        }
        if took > nominal + LATE {
            self.verdict
                .late
                .push(format!("{what} is stamped {took:?} after the request; it was sent at {nominal:?}"));
        }
    }
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}
