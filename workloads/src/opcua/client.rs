//! A client's connection. open62541 answers its calls from a thread of its own, which is also where notifications
//! are delivered.

use crate::control::Control;
use crate::link;
use anyhow::{Result, anyhow};
use open62541::{AsyncClient, ClientBuilder};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether the connection is still there.
const LOOK: Duration = Duration::from_millis(100);

/// What calls fail with when the other side is not there any more (OPC 10000-6, annex A.2).
const GONE: [&str; 7] = [
    "BadConnectionClosed",
    "BadServerNotConnected",
    "BadSecureChannelClosed",
    "BadSessionClosed",
    "BadDisconnect",
    "BadShutdown",
    "BadCommunicationError",
];

/// An open session.
#[derive(Clone)]
pub struct Session {
    client: Arc<AsyncClient>,
    /// `the broker at 127.0.0.1:4840`.
    peer: Arc<str>,
}

impl Session {
    /// Connects to `address`, which is `who` in errors.
    pub fn open(address: SocketAddr, who: &str) -> Result<Session> {
        let url = format!("opc.tcp://{address}");
        let opened = ClientBuilder::default().timeout(ANSWER_LIMIT).connect(&url);
        let client = opened.map_err(|error| match TcpStream::connect(address) {
            Err(reason) => link::explain(&reason, address).context(format!("{who} is unreachable")),
            Ok(_) => anyhow!("{who} at {address} does not let us in: {error}"),
        })?;
        let peer = format!("{who} at {address}").into();
        Ok(Session { client: Arc::new(client.into_async()), peer })
    }

    /// The library's client.
    pub fn client(&self) -> &Arc<AsyncClient> {
        &self.client
    }

    /// Why a call failed.
    pub fn explain(&self, error: &open62541::Error) -> anyhow::Error {
        if GONE.contains(&error.status_code().name()) {
            return self.closed();
        }
        self.check().err().unwrap_or_else(|| anyhow!("{} refuses: {error}", self.peer))
    }

    /// Fails when the connection is lost. The library would connect again; a run with a gap in it is worth nothing.
    pub fn check(&self) -> Result<()> {
        if self.client.state().connect_status.is_good() { Ok(()) } else { Err(self.closed()) }
    }

    fn closed(&self) -> anyhow::Error {
        anyhow!("{} closed the connection", self.peer)
    }

    /// Waits for something that arrives on the library's thread, and looks now and then whether it still can.
    pub fn park(&self, wait: Duration) -> Result<()> {
        let began = Instant::now();
        thread::park_timeout(wait.min(LOOK));
        // Whoever is woken is in a hurry.
        if began.elapsed() >= LOOK { self.check() } else { Ok(()) }
    }

    /// Leaves politely.
    pub fn close(self) {
        if let Some(client) = Arc::into_inner(self.client) {
            let _ = block_on(client.disconnect());
        }
    }
}

/// Waits for one of the library's answers.
pub fn block_on<F: Future>(future: F) -> Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    Ok(runtime.block_on(future))
}

/// A waker that wakes the main thread.
pub struct WakeMain(pub Control);

impl std::task::Wake for WakeMain {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}
