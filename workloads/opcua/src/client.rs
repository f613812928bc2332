//! A client's connection. open62541 answers its calls from a thread of its own, which is also where notifications
//! are delivered.

use anyhow::{Result, anyhow};
use open62541::{AsyncClient, ClientBuilder};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use wirelap_harness::control::Control;
use wirelap_harness::link;

const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Interval at which it is looked whether the connection is still there.
const LOOK: Duration = Duration::from_millis(100);

/// Longest time that the library takes to let go of what it calls back.
const LETTING_GO: Duration = Duration::from_secs(1);

/// Errors of calls when the other side is not there any more (OPC 10000-6, annex A.2).
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
pub struct OpcuaSession {
    client: SharedClient,
    /// `the broker at 127.0.0.1:4840`.
    peer: Arc<str>,
}

/// A client that what runs on the library's own thread may share. The library waits for that thread when the
/// client is dropped, so it must never be dropped there: the thread would wait for itself.
#[derive(Clone)]
struct SharedClient {
    /// `None` only while it is dropped.
    client: Option<Arc<AsyncClient>>,
    opener: ThreadId,
}

impl Drop for SharedClient {
    fn drop(&mut self) {
        if thread::current().id() == self.opener {
            return;
        }
        // Exactly one of those who drop the last ones at once gets it.
        if let Some(client) = self.client.take().and_then(Arc::into_inner) {
            // The process is about to end.
            std::mem::forget(client);
        }
    }
}

impl OpcuaSession {
    /// Connects to `address`, which is `who` in errors.
    pub fn open(address: SocketAddr, who: &str) -> Result<OpcuaSession> {
        let url = format!("opc.tcp://{address}");
        let opened = ClientBuilder::default().timeout(ANSWER_LIMIT).connect(&url);
        let client = opened.map_err(|error| match TcpStream::connect(address) {
            Err(reason) => link::explain(&reason, address).context(format!("{who} is unreachable")),
            Ok(_) => anyhow!("{who} at {address} does not let us in: {error}"),
        })?;
        let peer = format!("{who} at {address}").into();
        let client = Some(Arc::new(client.into_async()));
        Ok(OpcuaSession { client: SharedClient { client, opener: thread::current().id() }, peer })
    }

    /// The library's client.
    pub fn client(&self) -> &AsyncClient {
        // It is there until the session is dropped.
        self.client.client.as_deref().unwrap_or_else(|| unreachable!("a session that is gone"))
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
        if self.client().state().connect_status.is_good() { Ok(()) } else { Err(self.closed()) }
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
    pub fn close(mut self) {
        let Some(client) = self.client.client.take() else { return };
        // The library's thread lets go of its callbacks in its own time.
        let deadline = Instant::now() + LETTING_GO;
        while Arc::strong_count(&client) > 1 && Instant::now() < deadline {
            thread::park_timeout(Duration::from_millis(1));
        }
        if let Some(client) = Arc::into_inner(client) {
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
