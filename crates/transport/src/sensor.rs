use std::{cell::Cell, rc::Rc};
use tokio::time::Instant;

/// Stamps of a connection's socket, shared between the I/O wrapper that writes them and the exchange that reads them.
#[derive(Clone, Debug)]
pub struct Sensor(Rc<Stamps>);

#[derive(Debug)]
struct Stamps {
    last_read: Cell<Instant>,
    reads: Cell<u64>,
    first_write: Cell<Option<Instant>>,
}

impl Sensor {
    /// A sensor that has seen nothing yet.
    pub fn new() -> Self {
        Self(Rc::new(Stamps {
            last_read: Cell::new(Instant::now()),
            reads: Cell::new(0),
            first_write: Cell::new(None),
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

    /// When the first byte since [`Sensor::arm`] was handed to the socket.
    pub fn first_write(&self) -> Option<Instant> {
        self.0.first_write.get()
    }

    /// Forgets the first write: the next one begins a request.
    pub fn arm(&self) {
        self.0.first_write.set(None);
    }

    pub(crate) fn saw_read(&self) {
        self.0.last_read.set(Instant::now());
        self.0.reads.set(self.0.reads.get() + 1);
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
