use plimsoll_record::Nanos;
use std::{cell::Cell, rc::Rc};
use tokio::time::Instant;

/// Stamps of a connection's socket, shared between the I/O wrapper that writes them and the exchange that reads them.
#[derive(Clone, Debug)]
pub struct Sensor(Rc<Stamps>);

#[derive(Debug)]
struct Stamps {
    last_read: Cell<Instant>,
    reads: Cell<u64>,
    bytes: Cell<u64>,
    first_write: Cell<Option<Instant>>,
    kernel_lag: Cell<Option<Nanos>>,
}

impl Sensor {
    /// A sensor that has seen nothing yet.
    pub fn new() -> Self {
        Self(Rc::new(Stamps {
            last_read: Cell::new(Instant::now()),
            reads: Cell::new(0),
            bytes: Cell::new(0),
            first_write: Cell::new(None),
            kernel_lag: Cell::new(None),
        }))
    }

    /// When the last read that brought bytes, or the end of the stream, returned.
    pub fn last_read(&self) -> Instant {
        self.0.last_read.get()
    }

    /// Number of such reads.
    pub fn reads(&self) -> u64 {
        self.0.reads.get()
    }

    /// Bytes read since [`Sensor::arm`].
    pub fn bytes(&self) -> u64 {
        self.0.bytes.get()
    }

    /// When the first byte since [`Sensor::arm`] was handed to the socket.
    pub fn first_write(&self) -> Option<Instant> {
        self.0.first_write.get()
    }

    /// The longest that bytes read since the first write had waited in the kernel, where the kernel tells. Of bytes that came in
    /// several segments before one read, the last counts: the true wait may be longer.
    pub fn kernel_lag(&self) -> Option<Nanos> {
        self.0.kernel_lag.get()
    }

    /// Forgets the first write and what was read since: the next write begins a request.
    pub fn arm(&self) {
        self.0.first_write.set(None);
        self.0.bytes.set(0);
        self.0.kernel_lag.set(None);
    }

    /// A read of `bytes` has returned, which had `waited` in the kernel.
    pub(crate) fn saw_read(&self, bytes: usize, waited: Option<Nanos>) {
        let now = Instant::now();
        self.0.last_read.set(now);
        self.0.reads.set(self.0.reads.get() + 1);
        self.0.bytes.set(self.0.bytes.get() + bytes as u64);
        // An answer cannot have waited for longer than its request is old; if it seems so, the wall clock was set.
        if let (Some(waited), Some(written)) = (waited, self.0.first_write.get())
            && u128::from(waited.0) <= now.saturating_duration_since(written).as_nanos()
        {
            self.0.kernel_lag.set(self.0.kernel_lag.get().max(Some(waited)));
        }
    }

    /// The stamp is taken before the system call: the request is under way from there on.
    pub(crate) fn about_to_write(&self) {
        if self.0.first_write.get().is_none() {
            self.0.first_write.set(Some(Instant::now()));
        }
    }
}

impl Default for Sensor {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_wait_longer_than_the_request_is_old_is_no_wait() {
        let sensor = Sensor::new();
        sensor.saw_read(1, Some(Nanos(1)));
        assert_eq!(sensor.kernel_lag(), None, "before any request");
        sensor.about_to_write();
        tokio::time::sleep(Duration::from_millis(10)).await;
        for (ms, largest) in [(3, 3), (11, 3), (3_600_000, 3), (10, 10), (2, 10)] {
            sensor.saw_read(1, Some(Nanos::from_millis(ms)));
            assert_eq!(sensor.kernel_lag(), Some(Nanos::from_millis(largest)));
        }
        sensor.saw_read(0, None);
        assert_eq!(
            (sensor.kernel_lag(), sensor.bytes(), sensor.reads()),
            (Some(Nanos::from_millis(10)), 6, 7)
        );
        sensor.arm();
        assert_eq!((sensor.kernel_lag(), sensor.bytes()), (None, 0));
    }
}
