//! Replies over real sockets: good pages and what else servers answer.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use plimsoll_record::{Gauge, Sample, SampleOutcome, SampleTrigger};
use plimsoll_scrape::{ScrapeThread, Scraper, Settings, Target};
use plimsoll_transport::{Clock, Dial, Secret};
use plimsoll_wire::url::BaseUrl;
use std::{sync::mpsc, time::Duration};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

const PAGE: &str =
    "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 3.0\nN/A\n";

fn scraper(server: &MockServer, suffix: &str, settings: Settings) -> Scraper {
    let base: BaseUrl = format!("{}{suffix}", server.uri()).parse().unwrap();
    let dial = Dial::Tcp(vec![*server.address()]);
    let key = Secret::new("hunter2".to_owned());
    Scraper::new(Target::new(dial, &base, Some(&key)).unwrap(), settings, Clock::start())
}

async fn sample_of(reply: ResponseTemplate) -> Sample {
    let server = MockServer::start().await;
    Mock::given(matchers::path("/metrics")).respond_with(reply).mount(&server).await;
    let settings =
        Settings { timeout: Duration::from_millis(300), page_limit: 10_000, ..Settings::default() };
    let sample = scraper(&server, "/v1?key=hunter3", settings).scrape_once(SampleTrigger::Tick).await;
    assert!(!format!("{sample:?}").contains("hunter"), "{sample:?}");
    sample
}

async fn failure_of(reply: ResponseTemplate) -> String {
    let sample = sample_of(reply).await;
    assert!(sample.gauges.is_empty() && sample.counters.is_empty(), "absent, not zero: {sample:?}");
    match sample.outcome {
        SampleOutcome::Failed { message } => message,
        SampleOutcome::Ok => String::new(),
    }
}

#[tokio::test]
async fn a_good_page() {
    let server = MockServer::start().await;
    Mock::given(matchers::path("/metrics"))
        .and(matchers::header("accept", "text/plain;version=0.0.4"))
        .and(matchers::header("authorization", "Bearer hunter2"))
        .respond_with(ResponseTemplate::new(200).set_body_string(PAGE))
        .mount(&server)
        .await;
    let scrape = scraper(&server, "/v1/?key=hunter3", Settings::default()).scrape(SampleTrigger::Edge).await;
    let sample = scrape.sample;
    assert_eq!(
        (&sample.outcome, sample.trigger, sample.bad_lines),
        (&SampleOutcome::Ok, SampleTrigger::Edge, 1)
    );
    assert_eq!(sample.gauges.get(&Gauge::Running), Some(&3.0));
    assert_eq!(sample.gauges.get(&Gauge::Waiting), None);
    assert_eq!(sample.target, format!("{}/metrics", server.uri()));
    let notes = scrape.notes.unwrap();
    assert_eq!(notes.sources["running"], "vllm:num_requests_running");
    assert_eq!(notes.first_bad_line.as_deref(), Some("N/A"));
}

#[tokio::test]
async fn what_is_no_page_says_why() {
    let missing = failure_of(ResponseTemplate::new(404).set_body_string(r#"{"detail":"Not Found"}"#)).await;
    assert!(missing.contains("status 404") && missing.contains("Not Found"), "{missing}");
    let broken = failure_of(ResponseTemplate::new(500).set_body_string("boom")).await;
    assert!(broken.contains("status 500") && broken.contains("boom"), "{broken}");
    let html = failure_of(ResponseTemplate::new(200).set_body_string("<html>\n<p>hi</p></html>")).await;
    assert!(html.contains("not a metrics page but HTML"), "{html}");
    let json = failure_of(ResponseTemplate::new(200).set_body_string("[{\"a\":1}]")).await;
    assert!(json.contains("JSON"), "{json}");
    let large = failure_of(ResponseTemplate::new(200).set_body_string(PAGE.repeat(200))).await;
    assert!(large.contains("larger than 10000 bytes"), "{large}");
    let slow = failure_of(ResponseTemplate::new(200).set_delay(Duration::from_secs(30))).await;
    assert!(slow.contains("no complete answer"), "{slow}");
}

#[tokio::test]
async fn one_redirect_on_the_same_server_is_followed() {
    let server = MockServer::start().await;
    let redirect = ResponseTemplate::new(307).insert_header("location", "/metrics/");
    Mock::given(matchers::path("/metrics")).respond_with(redirect).mount(&server).await;
    let page = ResponseTemplate::new(200).set_body_string(PAGE);
    Mock::given(matchers::path("/metrics/")).respond_with(page).mount(&server).await;
    let sample = scraper(&server, "", Settings::default()).scrape_once(SampleTrigger::Tick).await;
    assert_eq!(sample.outcome, SampleOutcome::Ok);
    let elsewhere = ResponseTemplate::new(302).insert_header("location", "http://127.0.0.2:1/metrics");
    let message = failure_of(elsewhere).await;
    assert!(message.contains("redirected to http://127.0.0.2:1/metrics, another server"), "{message}");
    let again = failure_of(ResponseTemplate::new(307).insert_header("location", "/metrics")).await;
    assert!(again.contains("status 307"), "{again}");
}

#[tokio::test]
async fn a_closed_port_is_a_sample() {
    let base: BaseUrl = "http://127.0.0.1:1/v1?key=hunter2".parse().unwrap();
    let dial = Dial::Tcp(vec!["127.0.0.1:1".parse().unwrap()]);
    let scraper = Scraper::new(Target::new(dial, &base, None).unwrap(), Settings::default(), Clock::start());
    let sample = scraper.scrape_once(SampleTrigger::Tick).await;
    let SampleOutcome::Failed { message } = &sample.outcome else { unreachable!("{sample:?}") };
    assert!(message.contains("127.0.0.1:1") && !format!("{sample:?}").contains("hunter2"), "{sample:?}");
}

#[tokio::test]
async fn a_thread_scrapes_until_it_is_stopped() {
    let server = MockServer::start().await;
    let page = ResponseTemplate::new(200).set_body_string(PAGE);
    Mock::given(matchers::path("/metrics")).respond_with(page).mount(&server).await;
    let (sender, samples) = mpsc::channel();
    // An interval that does not come again: the other samples were asked for.
    let settings = Settings { interval: Duration::from_hours(1000), ..Settings::default() };
    let thread = ScrapeThread::start(scraper(&server, "", settings), move |sample| {
        let _ = sender.send(sample);
    })
    .unwrap();
    assert_eq!(thread.handle().edge().await.unwrap().outcome, SampleOutcome::Ok);
    assert!(thread.handle().settle().await.unwrap().still);
    let handle = thread.handle().clone();
    thread.stop().unwrap();
    assert_eq!(handle.edge().await, None);
    assert_eq!(handle.settle().await, None);
    let edges = samples.iter().filter(|sample| sample.trigger == SampleTrigger::Edge).count();
    assert_eq!(edges, 4);
}
