use crate::MockConfig;
use crate::core::Core;
use crate::engine::EngineError;
use plimsoll_record::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// `created` of the first second; the mock has no wall clock.
const CREATED_BASE: u64 = 1_700_000_000;

/// What connections, driver and handle share. The lock is held for microseconds and never over an await.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: MockConfig,
    epoch: Instant,
    core: Mutex<Core>,
    /// The engine's next event moved.
    wake: Notify,
    /// Number of the next request to a generating route.
    numbers: AtomicU64,
}

impl Shared {
    pub(crate) fn new(config: MockConfig, epoch: Instant) -> Result<Self, EngineError> {
        let core = Mutex::new(Core::new(&config)?);
        Ok(Self { config, epoch, core, wake: Notify::new(), numbers: AtomicU64::new(0) })
    }

    /// Time since the epoch.
    pub(crate) fn now(&self) -> Nanos {
        let elapsed = Instant::now().saturating_duration_since(self.epoch);
        Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Seconds since the Unix epoch, had the mock started at a fixed instant.
    pub(crate) fn created(&self) -> u64 {
        CREATED_BASE + self.now().0 / 1_000_000_000
    }

    pub(crate) fn take_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn metrics(&self) -> String {
        let now = self.now();
        self.lock().page(now, &self.config, CREATED_BASE as f64)
    }

    /// Runs `change` at this instant and wakes the driver if the engine's next event moved.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Core, Nanos) -> T) -> T {
        let now = self.now();
        let mut core = self.lock();
        let before = core.next_event_time();
        let value = change(&mut core, now);
        if core.next_event_time() != before {
            self.wake.notify_one();
        }
        value
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Core) -> T) -> T {
        read(&self.lock())
    }

    /// Sleeps from event to event and passes tokens on; never ends.
    pub(crate) async fn drive(&self) {
        loop {
            let now = self.now();
            let next = {
                let mut core = self.lock();
                core.pump(now);
                core.next_event_time()
            };
            match next {
                None => self.wake.notified().await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = sleep_until(self.epoch + Duration::from_nanos(at.0)) => {}
                        () = self.wake.notified() => {}
                    }
                }
            }
        }
    }

    /// A panic elsewhere leaves consistent counts at worst one event short; the ledger is still worth reading.
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
