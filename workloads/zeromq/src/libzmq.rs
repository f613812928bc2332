//! The library libzmq, by the crate zmq. A thread of its own does all input and output; the main thread talks with it
//! through queues, whose lengths are the high-water marks.

use crate::monitor::{Monitor, MonitorState};
use crate::nodrop;
use crate::settings::{
    DEFAULT_HWM, LINGER, LINGER_MS, MATCH_LIMIT, NODROP, Pattern, QUEUE_BYTES, RCVHWM, SNDHWM, TICK,
};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use wirelap_contract::Spec;
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Handler, Link, Opened, Outlet};
use zmq::{Context, DONTWAIT, Error, Message, SNDMORE, Socket, SocketType};

/// Messages handed over in one go.
const BATCH: usize = 1000;
/// Longest time for unsent messages after the process was told to stop, in milliseconds.
const LINGER_STOPPED_MS: i32 = 2000;

struct ZmqLink {
    wire: LibzmqOutlet,
    context: Context,
    handler: Option<Handler>,
    message: Message,
    linger: i32,
    facts: Facts,
}

struct LibzmqOutlet {
    socket: Socket,
    pattern: Pattern,
    topic: String,
    control: Control,
    peer: Option<LibzmqPeer>,
    /// REP: the last message has its answer.
    answered: Cell<bool>,
}

/// The other end, for the side that connects.
struct LibzmqPeer {
    address: SocketAddr,
    monitor: Monitor,
    connection: Cell<MonitorState>,
    looked: Cell<Instant>,
}

/// Options of `--set`.
struct SocketOptions {
    sndhwm: i32,
    rcvhwm: i32,
    nodrop: bool,
    linger: i32,
}

impl SocketOptions {
    fn of(spec: &Spec) -> Result<SocketOptions> {
        // 1000 large messages on each side would be gigabytes.
        let hwm = (QUEUE_BYTES / spec.payload).clamp(2, DEFAULT_HWM);
        let hwm = i32::try_from(hwm).context("too long a queue")?;
        let number = |name: &str, default: i32, least: i32| match spec.set_value(name) {
            None => Ok(default),
            Some(told) => match told.parse() {
                Ok(number) if number >= least => Ok(number),
                _ => Err(anyhow!("--set {name}={told}: a number, at least {least}")),
            },
        };
        let nodrop = number(NODROP, 1, 0)?;
        ensure!(nodrop <= 1, "--set {NODROP}={nodrop}: 0 or 1");
        Ok(SocketOptions {
            sndhwm: number(SNDHWM, hwm, 0)?,
            rcvhwm: number(RCVHWM, hwm, 0)?,
            nodrop: nodrop == 1,
            linger: number(LINGER, LINGER_MS, -1)?,
        })
    }
}

pub fn open(spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
    let address = link::resolve(&spec.endpoint)?;
    let pattern = Pattern::of(spec)?;
    let options = SocketOptions::of(spec)?;
    let context = Context::new();
    let socket = socket(&context, spec, pattern, &options).context("libzmq")?;
    let mut wire = LibzmqOutlet {
        socket,
        pattern,
        topic: spec.topic.clone(),
        control: control.clone(),
        peer: None,
        answered: Cell::new(true),
    };
    let endpoint = if link::listens(spec.role) {
        bind(&wire.socket, address)?
    } else {
        wire.connect(&context, address)?;
        address
    };
    let facts = facts(pattern, &options, endpoint);
    let (message, linger) = (Message::new(), options.linger);
    Ok(Box::new(ZmqLink { wire, context, handler, message, linger, facts }))
}

fn socket(
    context: &Context,
    spec: &Spec,
    pattern: Pattern,
    options: &SocketOptions,
) -> Result<Socket> {
    let (connects, bound) = match pattern {
        Pattern::PubSub => (SocketType::XPUB, SocketType::SUB),
        Pattern::PushPull => (SocketType::PUSH, SocketType::PULL),
        Pattern::ReqRep => (SocketType::REQ, SocketType::REP),
        Pattern::Dealer => (SocketType::DEALER, SocketType::DEALER),
    };
    let kind = if link::listens(spec.role) { bound } else { connects };
    let mut socket = context.socket(kind)?;
    socket.set_sndhwm(options.sndhwm)?;
    socket.set_rcvhwm(options.rcvhwm)?;
    socket.set_linger(0)?;
    let tick = i32::try_from(TICK.as_millis())?;
    socket.set_sndtimeo(tick)?;
    socket.set_rcvtimeo(tick)?;
    match kind {
        SocketType::XPUB => nodrop::set(&mut socket, options.nodrop)?,
        SocketType::SUB => socket.set_subscribe(spec.topic.as_bytes())?,
        _ => {}
    }
    Ok(socket)
}

fn bind(socket: &Socket, address: SocketAddr) -> Result<SocketAddr> {
    socket.bind(&format!("tcp://{address}")).map_err(|error| explain(error, address))?;
    let bound = socket.get_last_endpoint()?.unwrap_or_default();
    let bound = bound.strip_prefix("tcp://").and_then(|bound| bound.parse().ok());
    bound.context("libzmq does not tell the port that was chosen")
}

fn explain(error: Error, address: SocketAddr) -> anyhow::Error {
    let kind = match error {
        Error::EADDRINUSE => ErrorKind::AddrInUse,
        Error::EADDRNOTAVAIL | Error::ENODEV => ErrorKind::AddrNotAvailable,
        Error::EACCES => ErrorKind::PermissionDenied,
        error => return anyhow!("{address}: {error}"),
    };
    link::explain(&kind.into(), address)
}

fn facts(pattern: Pattern, options: &SocketOptions, endpoint: SocketAddr) -> Facts {
    let (major, minor, patch) = zmq::version();
    let (connects, bound) = pattern.sockets();
    let facts = Facts::at(endpoint)
        .version("libzmq", &format!("{major}.{minor}.{patch}"))
        .version("zmq", env!("WIRELAP_ZMQ"))
        .setting("sockets", format!("{connects}-{bound}"))
        .setting(SNDHWM, options.sndhwm)
        .setting(RCVHWM, options.rcvhwm)
        .setting(LINGER, options.linger)
        // The library sets it on every connection and has no option not to.
        .setting("TCP_NODELAY", true);
    match pattern {
        Pattern::PubSub => facts.setting(NODROP, u8::from(options.nodrop)),
        _ => facts,
    }
}

impl LibzmqOutlet {
    /// Returns when the other end is there, and has subscribed where it subscribes.
    fn connect(&mut self, context: &Context, address: SocketAddr) -> Result<()> {
        let monitor = Monitor::of(context, &self.socket)?;
        self.socket
            .connect(&format!("tcp://{address}"))
            .map_err(|error| explain(error, address))?;
        let peer = LibzmqPeer {
            address,
            monitor,
            connection: Cell::default(),
            looked: Cell::new(Instant::now()),
        };
        let failure = RefCell::new(None);
        let met = || match peer.state() {
            Ok(connection) => connection == MonitorState::Open && self.is_subscribed(),
            Err(error) => failure.replace(Some(error)).is_none(),
        };
        self.control.wait_or(MATCH_LIMIT, met, || {
            let limit = MATCH_LIMIT.as_secs();
            anyhow!(
                "no subscriber within {limit} s: do both sides have the same --topic and pattern?"
            )
        })?;
        if let Some(failure) = failure.take() {
            return Err(failure);
        }
        self.peer = Some(peer);
        Ok(())
    }

    /// XPUB gets each subscription as a message that starts with 1.
    fn is_subscribed(&self) -> bool {
        let subscription = || self.socket.recv_bytes(DONTWAIT).ok();
        self.pattern != Pattern::PubSub
            || std::iter::from_fn(subscription).any(|told| told.first() == Some(&1))
    }

    /// Waits while the queue is full.
    fn send(&self, part: &[u8], flags: i32) -> Result<()> {
        loop {
            match self.socket.send(part, flags) {
                Ok(()) => return Ok(()),
                Err(Error::EAGAIN) => {
                    if self.control.interrupted() {
                        bail!("told to stop while the queue was full");
                    }
                    self.peer.as_ref().map_or(Ok(()), LibzmqPeer::check)?;
                }
                Err(Error::EINTR) => {}
                Err(Error::EFSM) => bail!("the peer has not replied, and REQ must not send before"),
                Err(error) => bail!("cannot send: {error}"),
            }
        }
    }

    /// False if there was no message within a tick, or at once if not to `wait`.
    fn receive(&self, message: &mut Message, wait: bool) -> Result<bool> {
        loop {
            match self.socket.recv(message, if wait { 0 } else { DONTWAIT }) {
                Ok(()) if message.get_more() => {}
                Ok(()) => return Ok(true),
                Err(Error::EAGAIN) => return Ok(false),
                Err(Error::EINTR) => {}
                // REQ before its first request, and REP that owes an answer.
                Err(Error::EFSM) => {
                    std::thread::park_timeout(TICK);
                    return Ok(false);
                }
                Err(error) => bail!("cannot receive: {error}"),
            }
        }
    }
}

impl LibzmqPeer {
    fn state(&self) -> Result<MonitorState> {
        let connection = self.monitor.look(self.connection.get());
        self.connection.set(connection);
        self.looked.set(Instant::now());
        let address = self.address;
        match connection {
            MonitorState::Begun | MonitorState::Open => Ok(connection),
            MonitorState::Refused => {
                Err(link::explain(&ErrorKind::ConnectionRefused.into(), address))
            }
            MonitorState::Lost => bail!("{address} closed the connection"),
            MonitorState::Foreign => {
                bail!("{address} does not speak ZMTP, or its socket does not fit")
            }
        }
    }

    fn check(&self) -> Result<()> {
        self.state().map(drop)
    }

    /// The same, but not for each message: libzmq drops what is published to nobody, and would connect again.
    fn check_now_and_then(&self) -> Result<()> {
        if self.looked.get().elapsed() < TICK { Ok(()) } else { self.check() }
    }
}

impl Outlet for LibzmqOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.peer.as_ref().map_or(Ok(()), LibzmqPeer::check_now_and_then)?;
        if self.pattern == Pattern::PubSub {
            self.send(self.topic.as_bytes(), SNDMORE)?;
        }
        self.send(payload, 0)?;
        self.answered.set(true);
        Ok(())
    }
}

impl Outlet for ZmqLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.wire.publish(payload)
    }
}

impl Link for ZmqLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, _wait: Duration) -> Result<()> {
        let ZmqLink { wire, handler, message, .. } = self;
        let Some(handler) = handler else { return Ok(()) };
        for count in 0..BATCH {
            if !wire.receive(message, count == 0)? {
                let peer = wire.peer.as_ref().filter(|_| count == 0);
                return peer.map_or(Ok(()), LibzmqPeer::check_now_and_then);
            }
            let at = clock::now();
            wire.answered.set(false);
            handler(at, message, wire);
            if wire.pattern == Pattern::ReqRep {
                if wire.peer.is_none() && !wire.answered.get() {
                    // A request of others: without an answer, REP would take no other.
                    wire.send(&[], 0)?;
                }
                break;
            }
        }
        Ok(())
    }

    fn flush(&mut self, _limit: Duration) -> Result<()> {
        // libzmq has no flush; closing waits for what its queues hold, as long as ZMQ_LINGER says. The peer may have
        // all that it waited for and be gone.
        Ok(())
    }

    fn close(self: Box<Self>) {
        let ZmqLink { wire, mut context, linger, .. } = *self;
        let is_gone = wire.peer.as_ref().is_some_and(|peer| peer.check().is_err());
        let linger = match linger {
            _ if is_gone => 0,
            -1 | LINGER_STOPPED_MS.. if wire.control.stopped() => LINGER_STOPPED_MS,
            linger => linger,
        };
        let _ = wire.socket.set_linger(linger);
        drop(wire);
        // Returns when all is sent, or the time is over.
        let _ = context.destroy();
    }
}
