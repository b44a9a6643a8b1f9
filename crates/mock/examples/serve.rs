//! Serves a mock vLLM until it is stopped: `cargo run -p plimsoll-mock --example serve [PORT]`.
//!
//! ```text
//! curl -N localhost:8000/v1/chat/completions -H 'content-type: application/json' -d \
//!   '{"messages":[{"role":"user","content":"hello there"}],"max_tokens":16,"stream":true}'
//! ```

use plimsoll_mock::{Mock, MockConfig};
use std::error::Error;
use std::net::Ipv4Addr;
use tokio::net::TcpListener;
use tokio::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(8000), |port| port.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let mock = Mock::new(MockConfig::default(), Instant::now())?;
        println!("mock vLLM at http://{}; stop it with Ctrl-C", listener.local_addr()?);
        mock.serve_tcp(listener).await;
        Ok(())
    })
}
