use super::{CpuGroup, counters::Counters};
use plimsoll_record::{ClientSample, Nanos};
use plimsoll_transport::Clock;
use std::{
    io,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};

/// How often.
const INTERVAL: Duration = Duration::from_secs(1);
/// A last interval shorter than this tells nothing.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// Reads the counters of process and host once a second, on a thread of its own.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Sampler {
    /// Starts it. In real time only: it sleeps.
    pub fn start(clock: Clock, sink: impl Fn(ClientSample) + Send + 'static) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let body = move || {
            let group = CpuGroup::of_process();
            let mut from = clock.now();
            let mut before = Counters::read(group.as_ref());
            let begun = from;
            for number in 1.. {
                // An absolute schedule, so that intervals do not drift.
                let due = begun
                    + Nanos(u64::try_from(INTERVAL.as_nanos()).unwrap_or(u64::MAX).saturating_mul(number));
                let wait = Duration::from_nanos((due - clock.now()).0);
                let last = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
                let to = clock.now();
                if last && to - from < SHORTEST {
                    return;
                }
                let now = Counters::read(group.as_ref());
                sink(now.since(&before, from, to));
                if last {
                    return;
                }
                (before, from) = (now, to);
            }
        };
        let thread = std::thread::Builder::new().name("plimsoll-client".to_owned()).spawn(body)?;
        Ok(Self { stop, thread })
    }

    /// Ends it; the last interval is shorter. No sample comes after.
    pub fn stop(self) {
        drop(self.stop);
        // Its panic was printed by the thread; the samples that it took stand.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn intervals_meet_and_the_last_one_is_cut() {
        let (sender, receiver) = channel();
        let sampler = Sampler::start(Clock::start(), move |sample| drop(sender.send(sample))).unwrap();
        tokio::time::sleep(Duration::from_millis(1300)).await;
        sampler.stop();
        let samples: Vec<ClientSample> = receiver.iter().collect();
        assert!((1..=3).contains(&samples.len()), "{samples:?}");
        for pair in samples.windows(2) {
            assert_eq!(pair[0].at_ns + pair[1].interval_ns, pair[1].at_ns);
        }
        assert!(samples.iter().all(|sample| sample.worker.is_none() && sample.cpu_ns.is_some()));
    }
}
