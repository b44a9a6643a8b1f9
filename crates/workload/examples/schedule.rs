//! Prints the first requests of two levels, the workload's fingerprint, and arrival times of an open loop.
//!
//! `cargo run -p plimsoll-workload --example schedule -- 7`

use plimsoll_record::{LengthLaw, Level, Plan, Rate};
use plimsoll_workload::{ArrivalTimes, Calibration, Stream, Workload, fingerprint};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(7);
    let plan = Plan {
        input_tokens: LengthLaw::Normal { mean: 64, sd: 10 },
        output_tokens: LengthLaw::Uniform { low: 80, high: 120 },
        ..Plan::default()
    };
    let workload = Workload::new(&plan, seed, None, None, None, Calibration::default())?;
    println!("seed {seed}, regime {}", workload.regime());
    for level in [1, 8].map(Level::Concurrency) {
        for (stream, n) in [(Stream::Warmup, 1), (Stream::Load, 3)] {
            for k in 0..n {
                let request = workload.request(level, 0, stream, k);
                let prompt = request.prompt.flatten();
                let start: String = prompt.chars().take(50).collect();
                let asked = request.asked_input_tokens.unwrap_or_default();
                println!("{level} {stream:?} {k}: {asked} in, {} out: {start}...", request.max_tokens);
            }
        }
    }
    println!("fingerprint {}", fingerprint(&workload, &[1, 8].map(Level::Concurrency), 10));
    let rate: Rate = "10".parse()?;
    for process in ["constant", "poisson", "gamma:0.25", "on-off:20/1,1s,4s"] {
        let times = ArrivalTimes::new(process.parse()?, rate, 0, None, seed, 0)?;
        let times: Vec<String> = times.take(6).map(|at| format!("{:.3}", at.as_secs_f64())).collect();
        println!("{process} arrivals at {} s", times.join(", "));
    }
    Ok(())
}
