//! The form of requests that a server takes: found once before the load, never by repeating measured requests.

use crate::template::Form;
use plimsoll_record::{Conditions, Endpoint};
use plimsoll_transport::Trace;
use plimsoll_wire::request::limit_fields;

/// What leaving a field out means for the numbers.
const MEANINGS: [(&str, &str); 3] = [
    ("stream_options", "it may send no usage, and tokens may be unknown"),
    ("temperature", "it samples as its own default says"),
    ("ignore_eos", "answers may end before --output-tokens"),
];

/// The fields of a request in this form that a server may refuse.
pub fn candidates(endpoint: Endpoint, form: &Form) -> Vec<&'static str> {
    let mut fields = vec![form.limit];
    let optional = [
        ("stream_options", form.include_usage),
        ("include_usage", form.include_usage),
        ("continuous_usage_stats", form.continuous_usage),
        ("return_token_ids", form.token_ids),
        ("temperature", form.temperature),
        ("ignore_eos", form.ignore_eos),
        ("min_tokens", form.ignore_eos),
    ];
    fields.extend(optional.into_iter().filter(|(_, sent)| *sent).map(|(name, _)| name));
    // A refusal may name the limit that would be right as well; the one in use is the one that is refused.
    fields.retain(|field| *field == form.limit || !limit_fields(endpoint).contains(field));
    fields
}

/// The form without the field that was refused, or with another in its place; `None` when nothing is left to try. `tried`
/// are the names of the limit that were refused before.
pub fn without(
    endpoint: Endpoint,
    form: &Form,
    refused: &str,
    instead: Option<&str>,
    tried: &mut Vec<&'static str>,
) -> Option<Form> {
    let mut form = form.clone();
    match refused {
        "stream_options" | "include_usage" => (form.include_usage, form.continuous_usage) = (false, false),
        "continuous_usage_stats" => form.continuous_usage = false,
        "return_token_ids" => form.token_ids = false,
        "temperature" => form.temperature = false,
        "ignore_eos" | "min_tokens" => form.ignore_eos = false,
        limit if limit == form.limit => {
            tried.push(form.limit);
            let left = || limit_fields(endpoint).iter().copied().filter(|name| !tried.contains(name));
            let named = left().find(|name| Some(*name) == instead);
            form.limit = named.or_else(|| left().next())?;
        }
        _ => return None,
    }
    Some(form)
}

/// Writes the form into the conditions, and what is out of the ordinary into the notes.
pub fn describe(endpoint: Endpoint, asked: &Form, found: &Form, conditions: &mut Conditions) {
    let server = &mut conditions.server;
    server.limit_field = Some(found.limit.to_owned());
    let dropped = [
        ("stream_options", asked.include_usage && !found.include_usage),
        ("temperature", asked.temperature && !found.temperature),
        ("ignore_eos", asked.ignore_eos && !found.ignore_eos),
    ];
    for (field, _) in dropped.into_iter().filter(|(_, dropped)| *dropped) {
        server.refused_fields.push(field.to_owned());
        let meaning = MEANINGS.iter().find(|(name, _)| *name == field).map_or("", |(_, meaning)| meaning);
        conditions.notes.push(format!("the server refuses {field}; requests go without: {meaning}"));
    }
    if found.limit != asked.limit {
        server.refused_fields.push(asked.limit.to_owned());
        conditions.notes.push(format!(
            "the server refuses {} on {}; requests say {} instead",
            asked.limit,
            endpoint.path(),
            found.limit
        ));
    }
}

/// Are tokens of events not plain from the events themselves? An event with text is one token on most servers; a last
/// token without text, the end-of-sequence one, does not make a difference.
pub fn hides_tokens(trace: &Trace) -> bool {
    let texts = trace.events.iter().filter(|event| event.kind.is_text()).count();
    trace.output_tokens.is_some_and(|tokens| u64::from(tokens) > texts as u64 + 1)
}

/// Does a stream tell the tokens of its events, and do they add up to what its usage says, if it has one?
pub fn tells_tokens(trace: &Trace) -> bool {
    let counted: u64 = trace.events.iter().filter_map(|event| event.tokens).map(u64::from).sum();
    let every = trace.events.iter().filter(|event| event.kind.is_text()).all(|event| event.tokens.is_some());
    let total = trace.output_tokens.or(trace.output_ids).map(u64::from);
    // The end-of-sequence token may come with no event.
    every && counted > 0 && total.is_some_and(|total| counted == total || counted + 1 == total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::{EventKind, Nanos, StreamEvent};

    #[test]
    fn each_refusal_gives_another_form_until_none_is_left() {
        let usual = Form::usual(Endpoint::Chat, true);
        let mut tried = Vec::new();
        let mut drop =
            |form: &Form, field, instead| without(Endpoint::Chat, form, field, instead, &mut tried);
        assert!(!drop(&usual, "stream_options", None).unwrap().include_usage);
        assert!(!drop(&usual, "min_tokens", None).unwrap().ignore_eos);
        assert!(!drop(&usual, "temperature", None).unwrap().temperature);
        let other = drop(&usual, "max_tokens", Some("max_completion_tokens")).unwrap();
        assert_eq!(other.limit, "max_completion_tokens");
        assert_eq!(drop(&other, "max_completion_tokens", Some("max_tokens")), None, "no way back");
        let usual = Form::usual(Endpoint::Responses, false);
        let last = without(
            Endpoint::Responses,
            &usual,
            "max_output_tokens",
            Some("max_completion_tokens"),
            &mut Vec::new(),
        );
        assert_eq!(last.unwrap().limit, "max_completion_tokens", "as the server says");
    }

    #[test]
    fn only_fields_that_are_sent_can_be_refused() {
        let form = Form::usual(Endpoint::Messages, false);
        assert_eq!(candidates(Endpoint::Messages, &form), ["max_tokens", "temperature"]);
        let form = Form { continuous_usage: true, ..Form::usual(Endpoint::Chat, true) };
        assert!(candidates(Endpoint::Chat, &form).contains(&"continuous_usage_stats"));
        assert!(!candidates(Endpoint::Chat, &form).contains(&"return_token_ids"));
    }

    #[test]
    fn what_was_left_out_is_told() {
        let asked = Form::usual(Endpoint::Chat, true);
        let found = Form { limit: "max_completion_tokens", ignore_eos: false, ..asked.clone() };
        let mut conditions = Conditions::default();
        describe(Endpoint::Chat, &asked, &found, &mut conditions);
        assert_eq!(conditions.server.limit_field.as_deref(), Some("max_completion_tokens"));
        assert_eq!(conditions.server.refused_fields, ["ignore_eos", "max_tokens"]);
        assert!(conditions.notes[0].contains("answers may end before"), "{:?}", conditions.notes);
        assert!(conditions.notes[1].contains("say max_completion_tokens instead"), "{:?}", conditions.notes);
    }

    fn trace(events: &[(EventKind, Option<u32>)], tokens: u32) -> Trace {
        let event = |(kind, tokens): &(EventKind, Option<u32>)| StreamEvent {
            at_ns: Nanos(0),
            kind: *kind,
            tokens: *tokens,
            coalesced: false,
        };
        Trace { events: events.iter().map(event).collect(), output_tokens: Some(tokens), ..Trace::default() }
    }

    #[test]
    fn tokens_are_hidden_when_an_event_has_several() {
        use EventKind::{Content, Empty};
        let plain = trace(&[(Content, None), (Content, None), (Content, None)], 3);
        assert!(!hides_tokens(&plain) && !tells_tokens(&plain));
        assert!(!hides_tokens(&trace(&[(Content, None)], 2)), "one token without text ends most answers");
        assert!(hides_tokens(&trace(&[(Content, None), (Content, None)], 8)));
        assert!(
            hides_tokens(&trace(&[(Content, None), (Empty, None), (Empty, None)], 3)),
            "halves of characters"
        );
        let told = trace(&[(Content, Some(4)), (Content, Some(4))], 8);
        assert!(tells_tokens(&told));
        assert!(!tells_tokens(&trace(&[(Content, Some(4)), (Content, None)], 8)), "not for every event");
        assert!(!tells_tokens(&trace(&[(Content, Some(4)), (Content, Some(9))], 8)), "more than in all");
        let mut ids = Trace { output_tokens: None, output_ids: Some(8), ..told };
        assert!(tells_tokens(&ids), "ids stand for a usage");
        ids.output_ids = None;
        assert!(!tells_tokens(&ids));
    }
}
