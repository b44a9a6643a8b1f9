//! One streamed chat completion, every event with its stamp:
//! `cargo run -p plimsoll-transport --example stream -- 127.0.0.1:8000 MODEL`.

use plimsoll_transport::{Clock, Dial, Head, Limits, Slot, Trace};
use plimsoll_wire::request::{Input, Message, RequestBody};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(model)) = (arguments.next(), arguments.next()) else {
        println!("usage: stream HOST:PORT MODEL");
        return Ok(());
    };
    let messages = vec![Message { role: "user", content: "What does a load line mark?" }];
    let body = RequestBody::new(&model, Input::Messages(messages), 32).to_bytes();
    let dial = Dial::Tcp(tokio::net::lookup_host(&address).await?.collect());
    let mut slot = Slot::new(dial, Head::new(&address, None)?, "/v1/chat/completions", Limits::default())?;
    let mut trace = Trace::default();
    slot.post(body, Clock::start(), &mut trace).await;
    for event in &trace.events {
        println!("{:10.3} ms  {:?}", event.at_ns.as_secs_f64() * 1e3, event.kind);
    }
    println!("{:?}\n{:?}", trace.outcome, trace.text);
    Ok(())
}
