use crate::engine::EngineError;
use crate::{Ledger, Mock, MockConfig};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use thiserror::Error;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A mock on a thread and runtime of its own. Stops when dropped.
#[derive(Debug)]
pub struct MockHandle {
    addr: SocketAddr,
    mock: Mock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why a mock did not start.
#[derive(Debug, Error)]
#[error("the mock server did not start: {what}")]
pub struct SpawnError {
    what: &'static str,
    #[source]
    source: Source,
}

#[derive(Debug, Error)]
enum Source {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Starts a mock on a free port of the loopback interface. Times in its ledger count from `epoch`.
pub fn spawn_thread(config: MockConfig, epoch: Instant) -> Result<MockHandle, SpawnError> {
    spawn_thread_at(config, epoch, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
}

/// Starts a mock at this address; port 0 takes a free one.
pub fn spawn_thread_at(
    config: MockConfig,
    epoch: Instant,
    addr: SocketAddr,
) -> Result<MockHandle, SpawnError> {
    let failed = |what: &'static str| move |error: std::io::Error| SpawnError { what, source: error.into() };
    let mock = Mock::new(config, epoch)
        .map_err(|error| SpawnError { what: "its engine cannot be made", source: error.into() })?;
    let listener = TcpListener::bind(addr).map_err(failed("its address is not free"))?;
    listener.set_nonblocking(true).map_err(failed("its socket cannot be used"))?;
    let addr = listener.local_addr().map_err(failed("its socket has no address"))?;
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(failed("its runtime cannot be made"))?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(failed("its socket cannot be used"))?
    };
    let (stop, stopped) = oneshot::channel();
    let serving = mock.clone();
    let thread = std::thread::Builder::new()
        .name("mock".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = stopped => {}
                    () = serving.serve_tcp(listener) => {}
                }
            });
        })
        .map_err(failed("its thread cannot be made"))?;
    Ok(MockHandle { addr, mock, stop: Some(stop), thread: Some(thread) })
}

impl MockHandle {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Base address, as `--url` takes it.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// What it did so far.
    pub fn ledger(&self) -> Ledger {
        self.mock.ledger()
    }

    /// Closes all connections, waits for the thread's end and gives the last ledger.
    pub fn stop(mut self) -> Ledger {
        self.end();
        self.mock.ledger()
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread's panic was printed by the thread; the ledger is still there.
            let _ = thread.join();
        }
    }
}

impl Drop for MockHandle {
    fn drop(&mut self) {
        self.end();
    }
}
