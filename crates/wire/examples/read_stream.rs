//! Reads a captured event stream and prints what each event carried:
//! `cargo run -p plimsoll-wire --example read_stream -- body.txt`. Without a file it reads a short stream of its own.

use plimsoll_wire::{chat, sse::SseDecoder};
use std::{error::Error, fs};

const SAMPLE: &[u8] = b": ping\n\n\
data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n\
data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\n\
data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n\
data: [DONE]\n\n";

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = match std::env::args().nth(1) {
        Some(path) => fs::read(path)?,
        None => SAMPLE.to_vec(),
    };
    let mut decoder = SseDecoder::new();
    // A network gives pieces of any size.
    for piece in bytes.chunks(16) {
        decoder.push(piece);
        while let Some(event) = decoder.next_event() {
            let event = event?;
            match chat::parse_event(event.name, event.data) {
                Ok(chunk) => println!("{:?} {:?} {:?}", chunk.kind, chunk.content, chunk.usage),
                Err(error) => println!("skipped: {error}"),
            }
        }
    }
    if let Some(rest) = decoder.finish() {
        println!("cut off: {}", rest.data);
    }
    Ok(())
}
