//! What this machine's client can do at most: three short loads on a server that costs little.

mod part;
mod store;

pub use store::CeilingStore;

use crate::SweepError;
use part::{Measured, Part};
use plimsoll_driver::Stop;
use plimsoll_record::{Ceiling, MockEngine, Span};
use std::{net::SocketAddr, time::Duration};

/// How the self-test is made.
#[derive(Clone, Copy, Debug)]
pub struct SelftestOptions {
    /// Worker threads.
    pub workers: u32,
    /// About how long it takes in all.
    pub time: Duration,
    /// Most streams that are tried at once.
    pub streams: u32,
}

/// What it found.
#[derive(Clone, Debug)]
pub struct Selftest {
    /// To be stored and compared with.
    pub ceiling: Ceiling,
    /// One row per figure.
    pub rows: Vec<SelftestRow>,
}

/// One figure and how it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SelftestRow {
    /// What.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// The load, what became of it, and how busy this client was.
    pub how: String,
}

/// Starts a server with this engine, which ends when the second value is dropped.
pub type Serve<'a> = &'a mut dyn FnMut(MockEngine) -> Result<(SocketAddr, Box<dyn Send>), SweepError>;

/// Slots of the load that measures requests.
const SLOTS: u32 = 64;
/// Streams of the loads that measure events, at a token a millisecond each: from well below what a thread can read to above
/// it. Where it falls behind, events come together, and those are not counted; so the best of these loads counts.
const STREAMS: [u32; 4] = [24, 48, 96, 192];
/// Open files that the loads of fixed size need when the server's ends are in this process, too.
pub const FILES_NEEDED: u64 = 2 * STREAMS[STREAMS.len() - 1] as u64 + SPARE_FILES;
/// Open files beside the connections.
pub const SPARE_FILES: u64 = 128;
/// Tokens of a stream that measures events: long enough that requests cost little.
const LONG: u32 = 400;
/// Tokens of a stream that is only held.
const HELD: u32 = 8;
/// Time between two of them.
const STEP: Duration = Duration::from_millis(250);
/// Times that fewer streams are tried after a loss.
const ATTEMPTS: u32 = 4;
/// Below this share of a processor the client was not the limit.
const BUSY: f64 = 0.9;

/// Measures. `say` hears what is going on. Blocks; call on a thread of its own.
pub fn selftest(
    options: &SelftestOptions,
    client: &str,
    measured_at: String,
    stop: &Stop,
    serve: Serve<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Selftest, SweepError> {
    let window = options.time / 4;
    let mut run = |part: Part, stop: &Stop| -> Result<Measured, SweepError> {
        let (address, server) = serve(part.engine())?;
        let measured = part.run(address, options.workers, stop);
        drop(server);
        if stop.is_set() {
            return Err(SweepError::invalid("stopped before the self-test was complete; nothing was stored"));
        }
        measured
    };
    say("requests per second");
    let part = Part { slots: SLOTS, tokens: 1, step: Duration::ZERO, window };
    let requests = whole(run(part, stop)?, "the load that measures requests")?;
    say("events per second");
    let mut events: Option<(u32, Measured)> = None;
    for slots in STREAMS {
        let part = Part { slots, tokens: LONG, step: Duration::from_millis(1), window: window / 4 };
        let measured = whole(run(part, stop)?, "a load that measures events")?;
        if events.as_ref().is_none_or(|(_, best)| best.events_s() < measured.events_s()) {
            events = Some((slots, measured));
        }
    }
    let (of, events) = events.unwrap_or_default();
    let mut streams = options.streams.max(1);
    let mut attempt = 1;
    let held = loop {
        say(&format!("{streams} streams at once"));
        let held = run(Part { slots: streams, tokens: HELD, step: STEP, window }, stop)?;
        if held.lost() == 0 || attempt == ATTEMPTS {
            break held;
        }
        attempt += 1;
        streams = (streams / 2).max(1);
    };
    if held.lost() > 0 {
        return Err(SweepError::other(format!(
            "{streams} streams at once lost events or failed: {}; look at the limit on open files and at what else runs \
             here",
            held.first_loss()
        )));
    }
    let rows = vec![
        SelftestRow {
            name: "streams at once",
            value: f64::from(held.most_in_flight()),
            how: format!(
                "{HELD} tokens each, one every {} ms; {} streams, each whole{}",
                STEP.as_millis(),
                held.complete(),
                if attempt > 1 { format!(" (lost some at {})", streams * 2) } else { String::new() }
            ),
        },
        SelftestRow {
            name: "events/s",
            value: events.events_s(),
            how: format!("{of} streams, a token an event, each in a read of its own{}", busy(&events)),
        },
        SelftestRow {
            name: "requests/s",
            value: requests.requests_s(),
            how: format!("{SLOTS} in flight, one token each{}", busy(&requests)),
        },
    ];
    let ceiling = Ceiling {
        measured_at,
        client: client.to_owned(),
        workers: options.workers,
        streams: held.most_in_flight(),
        events_s: events.events_s(),
        requests_s: requests.requests_s(),
    };
    Ok(Selftest { ceiling, rows })
}

/// What lost nothing. A figure of a load that did would be no ceiling.
fn whole(measured: Measured, what: &str) -> Result<Measured, SweepError> {
    match measured.lost() {
        0 => Ok(measured),
        lost => Err(SweepError::other(format!(
            "{what} lost {lost} requests or their events: {}; nothing was stored. Look at the limit on open files and at \
             what else runs here",
            measured.first_loss()
        ))),
    }
}

/// How busy the client's threads were; below the limit the server was, and the figure is a lower bound.
fn busy(measured: &Measured) -> String {
    match measured.busy() {
        None => String::new(),
        Some(share) if share < BUSY => {
            format!("; the client's threads were {:.0} % busy, so it can do more", share * 100.0)
        }
        Some(share) => format!("; the client's threads were {:.0} % busy", share * 100.0),
    }
}

/// An engine that costs next to nothing.
fn engine(slots: u32, step: Duration) -> MockEngine {
    MockEngine {
        max_num_seqs: slots.max(1),
        prefill_base: Span::from_millis(0),
        prefill_per_token: Span::from_millis(0),
        decode_base: Span::new(step),
        decode_per_seq: Span::from_millis(0),
        num_blocks: 1 << 22,
        ..MockEngine::default()
    }
}
