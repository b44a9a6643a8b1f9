//! What the events and bodies of the responses and messages dialects mean (API references of OpenAI and Anthropic).

use super::{
    Chunk, ServerError, Usage,
    delta::Channels,
    lenient::append,
    payload::{Item, Payload, Rare, Response},
};
use std::borrow::Cow;

/// Takes what a payload without choices says. `event` is its name where it does not name itself. Tells whether it only
/// opens an answer.
pub fn take<'a>(chunk: &mut Chunk<'a>, payload: Payload<'a>, event: &str) -> bool {
    let Payload { name, object, delta, rare, .. } = payload;
    let name = if name.is_empty() { event } else { &name };
    if let Some(source) = name.strip_prefix("response.").and_then(|step| step.strip_suffix(".delta")) {
        put(chunk, channel(source, delta.bare));
        put(chunk, delta.channels);
        return false;
    }
    match name {
        "content_block_delta" => put(chunk, delta.channels),
        "message_delta" => finish(chunk, delta.stop_reason),
        "message_stop" => chunk.complete = true,
        _ => return rarer(chunk, rare.map(|rare| *rare).unwrap_or_default(), name, &object),
    }
    false
}

/// The events that few of are in a stream, and whole bodies.
fn rarer<'a>(chunk: &mut Chunk<'a>, rare: Rare<'a>, name: &str, object: &str) -> bool {
    if let Some(step) = name.strip_prefix("response.") {
        return response_step(chunk, rare, step);
    }
    match name {
        "message_start" => {
            // What it says of the output is an estimate from before the first token.
            chunk.usage = rare.message.usage.or(chunk.usage).and_then(Usage::of_prompt);
            return true;
        }
        "content_block_start" => put(chunk, rare.part.map(Item::begun).unwrap_or_default()),
        "error" if chunk.error.is_none() => {
            chunk.error = Some(ServerError::from_parts(&rare.message.text, rare.code));
        }
        "message" if object != "response" => {
            put(chunk, rare.content);
            finish(chunk, rare.stop_reason);
        }
        _ if object == "response" => {
            put(chunk, rare.output);
            end(chunk, rare.status, rare.incomplete.0);
        }
        _ => {}
    }
    false
}

/// An event of the responses dialect that is no delta. Those that end in `done` repeat what the deltas brought.
fn response_step<'a>(chunk: &mut Chunk<'a>, rare: Rare<'a>, step: &str) -> bool {
    match step {
        "created" => return true,
        "output_item.added" => {
            let Some(item) = rare.item else { return true };
            let message = !item.role.0.is_empty();
            put(chunk, item.begun());
            return message;
        }
        "content_part.added" | "reasoning_summary_part.added" => {
            put(chunk, rare.part.map(Item::begun).unwrap_or_default());
        }
        "completed" | "incomplete" | "failed" | "cancelled" => {
            chunk.complete = true;
            let Response { status, error, usage, incomplete } = rare.response;
            chunk.usage = usage.or(chunk.usage);
            chunk.error = chunk.error.take().or(error.and_then(ServerError::from_raw));
            end(chunk, status, incomplete.0);
            if chunk.finish_reason.is_none() && chunk.error.is_none() {
                end(chunk, Cow::Owned(step.to_owned()), Cow::Borrowed(""));
            }
        }
        "error" if chunk.error.is_none() => {
            chunk.error = Some(ServerError::from_parts(&rare.message.text, rare.code));
        }
        _ => {}
    }
    false
}

/// How a response ended, by its status and the reason for which it is incomplete.
fn end<'a>(chunk: &mut Chunk<'a>, status: Cow<'a, str>, incomplete: Cow<'a, str>) {
    match &*status {
        "failed" | "cancelled" if chunk.error.is_none() => {
            chunk.error = Some(ServerError { message: format!("the response is {status}"), code: None });
        }
        "completed" | "incomplete" => finish(chunk, if incomplete.is_empty() { status } else { incomplete }),
        _ => {}
    }
}

fn finish<'a>(chunk: &mut Chunk<'a>, reason: Cow<'a, str>) {
    if !reason.is_empty() {
        chunk.finish_reason = Some(reason);
    }
}

/// The channel of `response.<source>.delta`.
fn channel<'a>(source: &str, text: Cow<'a, str>) -> Channels<'a> {
    let none = Channels::default();
    match source {
        "output_text" | "refusal" => Channels { content: text, ..none },
        // Not text but sound and pictures, encoded.
        "audio" | "output_audio" | "image" => none,
        _ if source.contains("reasoning") => Channels { reasoning: text, ..none },
        _ if source.contains("call") => Channels { tool_call: text, ..none },
        _ => Channels { content: text, ..none },
    }
}

fn put<'a>(chunk: &mut Chunk<'a>, text: Channels<'a>) {
    append(&mut chunk.content, text.content);
    append(&mut chunk.reasoning, text.reasoning);
    append(&mut chunk.tool_call, text.tool_call);
}
