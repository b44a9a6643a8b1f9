//! Requests made ahead of their use.

use bytes::Bytes;
use plimsoll_driver::{Prepared, Stream, Supply};
use plimsoll_record::Level;
use plimsoll_workload::{PlannedRequest, Workload};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
};

/// Which requests one worker sends at one level.
#[derive(Clone)]
pub struct Share {
    pub workload: Arc<Workload>,
    pub template: Arc<dyn Fn(&PlannedRequest) -> Bytes + Send + Sync>,
    pub level: Level,
    pub repeat: u32,
    /// The worker's number.
    pub worker: u32,
    /// Number of workers: request k is worker k mod this.
    pub of: u32,
    /// Requests of a stream that the level may need at once.
    pub ahead: u32,
}

impl Share {
    fn prepare(&self, stream: Stream, index: u64) -> Prepared {
        let id = u64::from(self.worker) + index * u64::from(self.of.max(1));
        let drawn_from = match stream {
            Stream::Warmup => plimsoll_workload::Stream::Warmup,
            Stream::Load => plimsoll_workload::Stream::Load,
        };
        let planned = self.workload.request(self.level, self.repeat, drawn_from, id);
        Prepared {
            id,
            body: (self.template)(&planned),
            asked_input_tokens: planned.asked_input_tokens,
            max_tokens: planned.max_tokens,
        }
    }
}

/// Makes each request when it is asked for: for paused time, where making takes no time.
pub struct Inline {
    share: Share,
    warmups: u64,
    loads: u64,
}

impl Inline {
    pub const fn new(share: Share) -> Self {
        Self { share, warmups: 0, loads: 0 }
    }
}

impl Supply for Inline {
    fn next(&mut self, stream: Stream) -> Option<Prepared> {
        let index = match stream {
            Stream::Warmup => &mut self.warmups,
            Stream::Load => &mut self.loads,
        };
        let prepared = self.share.prepare(stream, *index);
        *index += 1;
        Some(prepared)
    }
}

/// Makes requests on threads of their own, a few hundred ahead of their use.
pub struct Ahead {
    warmups: Made,
    loads: Made,
}

/// The requests of one stream.
struct Made {
    /// Taken from the thread already.
    first: VecDeque<Prepared>,
    rest: Receiver<Prepared>,
    /// Those that were waited for.
    starved: u32,
}

/// How many requests of a stream are made ahead beyond what the level may need at once.
const DEPTH: usize = 64;

impl Ahead {
    /// Starts the threads; they end when the supply is dropped.
    pub fn start(share: &Share) -> Self {
        Self { warmups: produce(share.clone(), Stream::Warmup), loads: produce(share.clone(), Stream::Load) }
    }
}

fn produce(share: Share, stream: Stream) -> Made {
    let (sender, receiver) = sync_channel(DEPTH + share.ahead as usize);
    let make = move || {
        for index in 0.. {
            if sender.send(share.prepare(stream, index)).is_err() {
                return;
            }
        }
    };
    // Without its thread the channel is closed, the supply empty, and the level ends at once and is reported as partial.
    drop(std::thread::Builder::new().name("plimsoll-supply".to_owned()).spawn(make));
    Made { first: VecDeque::new(), rest: receiver, starved: 0 }
}

impl Made {
    fn wait_for(&mut self, count: usize) {
        while self.first.len() < count {
            let Ok(prepared) = self.rest.recv() else { return };
            self.first.push_back(prepared);
        }
    }

    fn next(&mut self) -> Option<Prepared> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        match self.rest.try_recv() {
            Err(TryRecvError::Empty) => {
                let late = self.rest.recv().ok()?;
                self.starved += 1;
                Some(late)
            }
            ready => ready.ok(),
        }
    }
}

impl Supply for Ahead {
    fn next(&mut self, stream: Stream) -> Option<Prepared> {
        match stream {
            Stream::Warmup => self.warmups.next(),
            Stream::Load => self.loads.next(),
        }
    }

    fn starved(&self) -> u32 {
        self.warmups.starved + self.loads.starved
    }

    fn prepare(&mut self, warmups: usize, loads: usize) {
        self.warmups.wait_for(warmups);
        self.loads.wait_for(loads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(rest: Receiver<Prepared>) -> Made {
        Made { first: VecDeque::new(), rest, starved: 0 }
    }

    #[test]
    fn what_is_not_ready_when_it_is_due_is_counted() {
        let prepared = |id| Prepared { id, body: Bytes::new(), asked_input_tokens: None, max_tokens: 1 };
        let (ready, rest) = sync_channel(1);
        let (late, loads) = sync_channel(0);
        ready.send(prepared(0)).unwrap();
        let mut supply = Ahead { warmups: made(rest), loads: made(loads) };
        assert_eq!(supply.next(Stream::Warmup).map(|prepared| prepared.id), Some(0));
        assert_eq!(supply.starved(), 0);
        // A channel without room hands over only when somebody waits; the thread may be there first a few times.
        let thread =
            std::thread::spawn(move || (0..10_000).take_while(|id| late.send(prepared(*id)).is_ok()).count());
        for id in 0..10_000 {
            assert_eq!(supply.next(Stream::Load).map(|prepared| prepared.id), Some(id));
        }
        assert_eq!(thread.join().unwrap(), 10_000);
        let starved = supply.starved();
        assert!((1..=10_000).contains(&starved), "{starved}");
        assert!(supply.next(Stream::Load).is_none());
        assert_eq!(supply.starved(), starved, "the end is no wait");
    }
}
