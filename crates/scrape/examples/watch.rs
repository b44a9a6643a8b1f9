//! Prints what a server says of itself, once a second, five times:
//! `cargo run -p plimsoll-scrape --example watch -- http://127.0.0.1:8000`

use plimsoll_record::{Gauge, SampleTrigger};
use plimsoll_scrape::{Scraper, Settings, Target};
use plimsoll_transport::{Clock, Dial};
use plimsoll_wire::url::BaseUrl;
use std::{error::Error, time::Duration};
use tokio::{net::lookup_host, time::sleep};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let base: BaseUrl = std::env::args().nth(1).as_deref().unwrap_or("http://127.0.0.1:8000").parse()?;
    let dial = Dial::Tcp(lookup_host((base.host(), base.port())).await?.collect());
    let scraper = Scraper::new(Target::new(dial, &base, None)?, Settings::default(), Clock::start());
    for _ in 0..5 {
        let sample = scraper.scrape_once(SampleTrigger::Tick).await;
        let gauge = |gauge| sample.gauges.get(&gauge).map_or("-".to_owned(), f64::to_string);
        let (running, waiting) = (gauge(Gauge::Running), gauge(Gauge::Waiting));
        println!(
            "{:7.2} s  running {running}  waiting {waiting}  {:?}",
            sample.at_ns.as_secs_f64(),
            sample.outcome
        );
        sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}
