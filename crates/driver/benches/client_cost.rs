//! CPU time of this client per streamed token, against the barest loop that hyper allows, in the same run:
//! `cargo bench -p plimsoll-driver --bench client_cost [-- STREAMS TOKENS_PER_S SECONDS]`.
//!
//! The mock serves from a process of its own. Both clients take turns on one thread; the process's CPU time counts,
//! so that turning records into JSON on another thread is included in ours. Not a test: nothing is asserted.

#![expect(clippy::unwrap_used, reason = "a bench stops at what it did not expect")]

mod support;

use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use plimsoll_transport::Clock;
use std::{net::SocketAddr, time::Duration};
use support::{MockProcess, Streams, plimsoll, quantile};
use tokio::net::TcpStream;

const ROUNDS: usize = 5;

fn main() {
    let Some(load) = Streams::of_arguments([256, 100, 5], Duration::ZERO, 0) else { return };
    let mock = MockProcess::start(&load);
    println!(
        "client CPU per streamed token, {} streams x {} tok/s, {} s a turn, one thread",
        load.streams, load.tokens_per_s, load.seconds
    );
    let (mut bare, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        bare.push(turn(|| bare_loop(mock.address, load)));
        ours.push(turn(|| whole_client(mock.address, load)));
        ratios.push(ours[round - 1] / bare[round - 1]);
        println!(
            "  round {round}: bare frame() loop {:6.2} us, plimsoll {:6.2} us, ratio {:.2}",
            bare[round - 1],
            ours[round - 1],
            ratios[round - 1]
        );
    }
    let [bare, ours, ratio] = [&mut bare, &mut ours, &mut ratios].map(|figures| quantile(figures, 0.5));
    println!("  medians: bare frame() loop {bare:6.2} us, plimsoll {ours:6.2} us, ratio {ratio:.2}");
    assert_eq!(mock.stop().len(), 2 * ROUNDS * load.streams as usize, "one request a stream");
}

/// Microseconds of CPU per token.
fn turn(client: impl FnOnce() -> u64) -> f64 {
    let before = cpu();
    let tokens = client();
    (cpu().as_secs_f64() - before.as_secs_f64()) * 1e6 / tokens.max(1) as f64
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// One hyper connection per stream, its connection task beside it, every frame taken and dropped.
fn bare_loop(address: SocketAddr, load: Streams) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let mut tasks = Vec::new();
        for index in 0..load.streams {
            let body = load.body(index);
            tasks.push(tokio::spawn(async move {
                let socket = TcpStream::connect(address).await.unwrap();
                socket.set_nodelay(true).unwrap();
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.unwrap();
                tokio::spawn(connection);
                let request = hyper::Request::post("/v1/chat/completions")
                    .header("host", "bench")
                    .header("content-type", "application/json")
                    .body(Full::new(body))
                    .unwrap();
                let mut body = sender.send_request(request).await.unwrap().into_body();
                while let Some(frame) = body.frame().await {
                    std::hint::black_box(frame.unwrap());
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    (0..load.streams).map(|index| u64::from(load.tokens(index))).sum()
}

fn whole_client(address: SocketAddr, load: Streams) -> u64 {
    plimsoll(address, load, Clock::start(), |records| {
        let mut tokens = 0;
        for record in records {
            assert!(record.outcome.is_ok(), "{:?}", record.outcome);
            tokens += u64::from(record.output_tokens.unwrap());
            std::hint::black_box(serde_json::to_vec(&*record).unwrap());
        }
        tokens
    })
}
