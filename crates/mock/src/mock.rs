use crate::engine::EngineError;
use crate::shared::Shared;
use crate::{Ledger, MockConfig, http};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};

/// After a failed accept, for example for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A mock vLLM. Cheap to clone; clones are the same server.
///
/// It runs on the tokio runtime that polls its `serve_*` futures, best a current-thread one. Under a paused clock
/// a run over in-memory streams is deterministic.
#[derive(Clone, Debug)]
pub struct Mock {
    shared: Arc<Shared>,
    driver: Arc<Driver>,
}

/// The task that moves the engine; ends with the last [`Mock`].
#[derive(Debug, Default)]
struct Driver(Mutex<Option<JoinHandle<()>>>);

impl Drop for Driver {
    fn drop(&mut self) {
        let task = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task {
            task.abort();
        }
    }
}

impl Mock {
    /// An idle server. All times in its ledger count from `epoch`.
    pub fn new(config: MockConfig, epoch: Instant) -> Result<Self, EngineError> {
        Ok(Self { shared: Arc::new(Shared::new(config, epoch)?), driver: Arc::default() })
    }

    /// What it did so far.
    pub fn ledger(&self) -> Ledger {
        self.shared.read(|core| core.ledger().clone())
    }

    /// The page that `/metrics` would show now.
    pub fn metrics(&self) -> String {
        self.shared.metrics()
    }

    /// Serves one connection to its end.
    pub async fn serve_stream(&self, io: impl AsyncRead + AsyncWrite + Unpin + 'static) {
        self.ensure_driver();
        http::serve(Arc::clone(&self.shared), io).await;
    }

    /// Accepts and serves connections until dropped, which closes them all.
    pub async fn serve_tcp(&self, listener: TcpListener) {
        self.ensure_driver();
        let mut connections = JoinSet::new();
        loop {
            let accepted: io::Result<_> = tokio::select! {
                biased;
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Only costs latency when it fails.
                    let _ = stream.set_nodelay(true);
                    connections.spawn(http::serve(Arc::clone(&self.shared), stream));
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    pub(crate) fn ensure_driver(&self) {
        let mut task = self.driver.0.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let shared = Arc::clone(&self.shared);
            *task = Some(tokio::spawn(async move { shared.drive().await }));
        }
    }
}
