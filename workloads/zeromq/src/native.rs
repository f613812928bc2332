//! The crate zeromq.
//!
//! PUB drops what does not fit into its two queues of 100,000 messages, and does not tell who has subscribed. XPUB has no queue: it
//! waits until a message is written.

use crate::settings::{MATCH_LIMIT, PATTERN, Pattern};
use anyhow::{Context, Result, anyhow, bail, ensure};
use futures_util::FutureExt;
use rustix::net::{RecvFlags, recv};
use std::cell::{Cell, RefCell};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::unconstrained;
use tokio::time::timeout;
use wirelap_contract::Spec;
use wirelap_events::Nanos;
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Handler, Link, Opened, Outlet};
use wirelap_harness::own_sockets::{self, Waiting};
use wirelap_harness::pump::{self, Pump, TICK};
use zeromq::{
    DealerSocket, PullSocket, PushSocket, RepSocket, ReqSocket, Socket, SocketOptions, SocketRecv,
    SocketSend, SubSocket, XPubSocket, ZmqError, ZmqMessage, ZmqResult,
};

/// The library tries again for as long as this when nobody listens.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// PUSH takes so many messages into its queue before it waits.
const PUSH_QUEUE: usize = 100_000;
/// Bytes of memory that the queued messages may take.
const PUSH_BYTES: usize = 1 << 30;
/// Messages handed over at once.
const BATCH: usize = 256;

struct NativeLink {
    wire: NativeOutlet,
    handler: Option<Handler>,
    batch: Vec<(Nanos, ZmqMessage)>,
    facts: Facts,
}

struct NativeOutlet {
    pump: Pump,
    pattern: Pattern,
    topic: String,
    /// `None` after the last message.
    socket: RefCell<Option<Ours>>,
    peer: Option<NativePeer>,
    /// REQ: a reply is to come. REP: one is to be sent.
    owed: Cell<bool>,
    /// The runtime has a thread of its own.
    threaded: bool,
}

/// The other end, for the side that connects. The library does not tell when it is gone.
struct NativePeer {
    address: SocketAddr,
    connection: Waiting,
    looked: Cell<Instant>,
}

/// The sockets that are used here.
enum Ours {
    XPub(XPubSocket),
    Sub(SubSocket),
    Push(PushSocket),
    Pull(PullSocket),
    Req(ReqSocket),
    Rep(RepSocket),
    Dealer(DealerSocket),
}

/// The same for each kind.
macro_rules! each {
    ($socket:expr, $name:ident => $body:expr) => {
        match $socket {
            Ours::XPub($name) => $body,
            Ours::Sub($name) => $body,
            Ours::Push($name) => $body,
            Ours::Pull($name) => $body,
            Ours::Req($name) => $body,
            Ours::Rep($name) => $body,
            Ours::Dealer($name) => $body,
        }
    };
}

impl Ours {
    /// To be called inside the runtime.
    fn new(pattern: Pattern, listens: bool) -> Ours {
        let mut options = SocketOptions::default();
        options.connect_timeout(CONNECT_LIMIT);
        match (pattern, listens) {
            (Pattern::PubSub, false) => Ours::XPub(XPubSocket::with_options(options)),
            (Pattern::PubSub, true) => Ours::Sub(SubSocket::with_options(options)),
            (Pattern::PushPull, false) => Ours::Push(PushSocket::with_options(options)),
            (Pattern::PushPull, true) => Ours::Pull(PullSocket::with_options(options)),
            (Pattern::ReqRep, false) => Ours::Req(ReqSocket::with_options(options)),
            (Pattern::ReqRep, true) => Ours::Rep(RepSocket::with_options(options)),
            (Pattern::Dealer, _) => Ours::Dealer(DealerSocket::with_options(options)),
        }
    }

    async fn connect(&mut self, address: SocketAddr) -> ZmqResult<()> {
        let endpoint = format!("tcp://{address}");
        each!(self, socket => socket.connect(&endpoint).await)
    }

    async fn bind(&mut self, listener: TcpListener) -> ZmqResult<()> {
        each!(self, socket => socket.bind_listener(listener).await.map(drop))
    }

    async fn send(&mut self, message: ZmqMessage) -> ZmqResult<()> {
        match self {
            Ours::XPub(socket) => socket.send(message).await,
            Ours::Push(socket) => socket.send(message).await,
            Ours::Req(socket) => socket.send(message).await,
            Ours::Rep(socket) => socket.send(message).await,
            Ours::Dealer(socket) => socket.send(message).await,
            Ours::Sub(_) | Ours::Pull(_) => Err(ZmqError::Other("it only receives")),
        }
    }

    async fn recv(&mut self) -> ZmqResult<ZmqMessage> {
        match self {
            Ours::XPub(socket) => socket.recv().await,
            Ours::Sub(socket) => socket.recv().await,
            Ours::Pull(socket) => socket.recv().await,
            Ours::Req(socket) => socket.recv().await,
            Ours::Rep(socket) => socket.recv().await,
            Ours::Dealer(socket) => socket.recv().await,
            Ours::Push(_) => Err(ZmqError::Other("it only sends")),
        }
    }

    /// Messages go through a queue to a task that writes them.
    fn has_queue(&self) -> bool {
        matches!(self, Ours::Push(_) | Ours::Dealer(_))
    }

    async fn close(self) {
        each!(self, socket => drop(socket.close().await));
    }
}

pub fn open(spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
    let address = link::resolve(&spec.endpoint)?;
    let pattern = Pattern::of(spec)?;
    let back_to_back = pump::is_back_to_back(spec);
    let threaded = pattern == Pattern::PushPull && back_to_back;
    ensure!(
        !threaded || spec.payload <= PUSH_BYTES / PUSH_QUEUE,
        "--set {PATTERN}=pushpull --payload {}: the library queues {PUSH_QUEUE} messages: give a --rate",
        spec.payload
    );
    let pump = Pump::new(threaded, control)?;
    let listens = link::listens(spec.role);
    let mut socket = pump.drive(async { Ours::new(pattern, listens) })?;
    let (endpoint, peer) = if listens {
        (pump.drive(bind(&mut socket, address, &spec.topic))??, None)
    } else {
        (address, Some(pump.drive(connect(&mut socket, address))??))
    };
    let (connects, bound) = pattern.sockets();
    let facts = Facts::at(endpoint)
        .version("zeromq", env!("WIRELAP_ZEROMQ"))
        .setting("sockets", format!("{connects}-{bound}"))
        // The library sets it on every connection and has no option not to.
        .setting("TCP_NODELAY", true);
    let wire = NativeOutlet {
        pump,
        pattern,
        topic: spec.topic.clone(),
        socket: RefCell::new(Some(socket)),
        peer,
        owed: Cell::new(false),
        threaded,
    };
    Ok(Box::new(NativeLink { wire, handler, batch: Vec::with_capacity(BATCH), facts }))
}

async fn bind(socket: &mut Ours, address: SocketAddr, topic: &str) -> Result<SocketAddr> {
    if let Ours::Sub(socket) = socket {
        socket.subscribe(topic).await.map_err(|error| anyhow!("--topic {topic}: {error}"))?;
    }
    let listener = TcpListener::bind(address).map_err(|error| link::explain(&error, address))?;
    let endpoint = listener.local_addr().context("cannot listen")?;
    socket.bind(listener).await.map_err(|error| anyhow!("cannot listen on {address}: {error}"))?;
    Ok(endpoint)
}

/// Returns when the other end is there, and has subscribed where it subscribes.
async fn connect(socket: &mut Ours, address: SocketAddr) -> Result<NativePeer> {
    match socket.connect(address).await {
        Ok(()) => {}
        Err(ZmqError::Network(error)) => return Err(link::explain(&error, address)),
        Err(ZmqError::ConnectTimeout(_)) => bail!("nobody listens on {address} with ZMTP"),
        Err(error) => bail!("{address}: {error}"),
    }
    if let Ours::XPub(socket) = socket {
        let subscribed = timeout(MATCH_LIMIT, subscription(socket)).await;
        let limit = MATCH_LIMIT.as_secs();
        subscribed.map_err(|_| {
            anyhow!(
                "no subscriber within {limit} s: do both sides have the same --topic and pattern?"
            )
        })?;
    }
    let connection = own_sockets::connected_to(address)?.pop();
    let connection = connection.with_context(|| format!("{address} closed the connection"))?;
    Ok(NativePeer { address, connection, looked: Cell::new(Instant::now()) })
}

/// XPUB gets each subscription as a message that starts with 1.
async fn subscription(socket: &mut XPubSocket) {
    loop {
        if let Ok(told) = socket.recv().await
            && told.get(0).is_some_and(|part| part.first() == Some(&1))
        {
            return;
        }
    }
}

impl NativePeer {
    /// The end of the connection can be read, behind what else there is to read.
    fn check(&self) -> Result<()> {
        self.looked.set(Instant::now());
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(&self.connection.socket, &mut [0_u8; 1], flags) {
            Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => {
                bail!("{} closed the connection", self.address)
            }
            _ => Ok(()),
        }
    }

    /// The same, but not for each message.
    fn check_now_and_then(&self) -> Result<()> {
        if self.looked.get().elapsed() < TICK { Ok(()) } else { self.check() }
    }
}

impl NativeOutlet {
    fn message(&self, payload: &[u8]) -> ZmqMessage {
        match self.pattern {
            Pattern::PubSub => {
                let mut message = ZmqMessage::from(self.topic.as_str());
                message.push_back(payload.to_vec().into());
                message
            }
            Pattern::PushPull | Pattern::ReqRep | Pattern::Dealer => payload.to_vec().into(),
        }
    }
}

impl Outlet for NativeOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.peer.as_ref().map_or(Ok(()), NativePeer::check_now_and_then)?;
        let message = self.message(payload);
        let mut socket = self.socket.borrow_mut();
        let socket = socket.as_mut().context("the socket is closed")?;
        let sent = self.pump.drive(async {
            let sent = socket.send(message).await;
            if socket.has_queue() && !self.threaded {
                // The task that writes gets its turn.
                tokio::task::yield_now().await;
            }
            sent
        });
        sent?.map_err(|error| anyhow!("cannot send: {error}"))?;
        self.owed.set(self.peer.is_some());
        Ok(())
    }
}

impl Outlet for NativeLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.wire.publish(payload)
    }
}

impl NativeLink {
    /// Waits for messages. A reply may be wanted before the next request is read.
    fn take(&mut self, wait: Duration) -> ZmqResult<()> {
        let most = if self.wire.pattern == Pattern::ReqRep { 1 } else { BATCH };
        let mut socket = self.wire.socket.borrow_mut();
        let Some(socket) = socket.as_mut() else { return Ok(()) };
        // Unconstrained: a future whose turn tokio ends is woken by the runtime later, but not by one that has left
        // `block_on` by then, and the library would never look at the connection again.
        self.wire.pump.runtime.block_on(unconstrained(take(socket, &mut self.batch, wait, most)))
    }

    fn hand_over(&mut self) -> Result<()> {
        let NativeLink { wire, handler, batch, .. } = self;
        for (at, message) in batch.drain(..) {
            let payload = message.get(message.len().saturating_sub(1));
            wire.owed.set(wire.peer.is_none());
            if let (Some(handler), Some(payload)) = (&handler, payload) {
                handler(at, payload, wire);
            }
            if wire.pattern == Pattern::ReqRep && wire.peer.is_none() && wire.owed.get() {
                // A request of others: without an answer, REP would take no other.
                wire.publish(&[])?;
            }
        }
        Ok(())
    }
}

async fn take(
    socket: &mut Ours,
    batch: &mut Vec<(Nanos, ZmqMessage)>,
    wait: Duration,
    most: usize,
) -> ZmqResult<()> {
    let Ok(mut next) = timeout(wait, socket.recv()).await else { return Ok(()) };
    loop {
        batch.push((clock::now(), next?));
        if batch.len() == most {
            return Ok(());
        }
        match socket.recv().now_or_never() {
            Some(more) => next = more,
            None => return Ok(()),
        }
    }
}

impl Link for NativeLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        let wait = wait.min(TICK);
        let connects = self.wire.peer.is_some();
        if connects && self.wire.pattern == Pattern::ReqRep && !self.wire.owed.get() {
            // REQ must not receive before it has sent.
            thread::park_timeout(wait);
            return Ok(());
        }
        let taken = self.take(wait);
        let is_idle = self.batch.is_empty();
        self.hand_over()?;
        match taken {
            // With its last message the peer may have left.
            Ok(()) if is_idle => {
                self.wire.peer.as_ref().map_or(Ok(()), NativePeer::check_now_and_then)
            }
            Ok(()) => Ok(()),
            Err(error) if connects => bail!("cannot receive: {error}"),
            Err(error) => {
                // Peers come and go.
                eprintln!("wirelap-workload: a connection has failed: {error}");
                thread::park_timeout(Duration::from_millis(1));
                Ok(())
            }
        }
    }

    fn flush(&mut self, limit: Duration) -> Result<()> {
        let NativeOutlet { pump, socket, .. } = &mut self.wire;
        if let Some(socket) = socket.get_mut().take_if(|socket| socket.has_queue()) {
            // Only when the socket is gone does the task that writes come to an end.
            pump.runtime.block_on(socket.close());
            let moment = Duration::from_millis(1);
            let is_done = || {
                pump.runtime.block_on(async { tokio::time::sleep(moment).await });
                pump.runtime.metrics().num_alive_tasks() == 0
            };
            ensure!(
                pump.control.wait_for_flush(limit, is_done)?,
                "not all messages were written in time"
            );
        }
        // Everything else is written when `publish` returns.
        Ok(())
    }
}
