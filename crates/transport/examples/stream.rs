//! One streamed chat completion, every event with its stamp:
//! `cargo run -p plimsoll-transport --features tls,http2 --example stream -- https://127.0.0.1:8000 MODEL [CA-FILE]`.

use plimsoll_transport::{Clock, Dial, DialOptions, Head, Limits, Slot, TlsOptions, Trace};
use plimsoll_wire::{
    request::{Input, Message, RequestBody},
    url::BaseUrl,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(model)) = (arguments.next(), arguments.next()) else {
        println!("usage: stream URL MODEL [CA-FILE]");
        return Ok(());
    };
    let base: BaseUrl = address.parse()?;
    let tls = TlsOptions { ca_file: arguments.next().map(Into::into), ..TlsOptions::default() };
    let resolved = Dial::resolve(&base, &DialOptions { tls, ..DialOptions::default() }).await?;
    println!("{:?}", resolved.dial.probe().await?);
    let messages = vec![Message { role: "user", content: "What does a load line mark?" }];
    let body = RequestBody::new(&model, Input::Messages(messages), 32).to_bytes();
    let head = Head::new(&base.authority(), None)?;
    let mut slot = Slot::new(resolved.dial, head, &base.path("/v1/chat/completions"), Limits::default())?;
    let mut trace = Trace::default();
    slot.post(body, Clock::start(), &mut trace).await;
    for event in &trace.events {
        println!("{:10.3} ms  {:?}", event.at_ns.as_secs_f64() * 1e3, event.kind);
    }
    println!("{:?}\n{:?}", trace.outcome, trace.text);
    Ok(())
}
