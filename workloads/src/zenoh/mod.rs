//! Zenoh, peer to peer over TCP or UDP. No scouting and no gossip: one side listens, the other connects.

use crate::clock;
use crate::control::Control;
use crate::link::{self, Facts, Family, Handler, Link, Outlet, Topics};
use crate::own_sockets;
use anyhow::{Context, Result, anyhow, bail};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wirelap_contract::{About, LinkTransport, Reliability, Role, Spec};
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

const MATCH_LIMIT: Duration = Duration::from_secs(10);
const MAX_PAYLOAD: usize = 256 << 20;

/// The middleware `zenoh-p2p`.
pub struct Zenoh;

impl Family for Zenoh {
    fn about(&self) -> About {
        let transports = [LinkTransport::Tcp, LinkTransport::Udp];
        About::new("zenoh-p2p", "Zenoh, peer to peer", MAX_PAYLOAD, &transports)
    }

    fn open(
        &self,
        spec: &Spec,
        handler: Option<Handler>,
        control: &Control,
    ) -> Result<Box<dyn Link>> {
        let address = link::resolve(&spec.endpoint)?;
        let session = zenoh::open(config(spec, address)?)
            .wait()
            .map_err(|error| explain(spec, address, &error))?;
        let topics = Topics::of(spec);
        let outlet = topics.outgoing.map(|key| ZenohOutlet::declare(&session, key, spec, control));
        let outlet = outlet.transpose()?.map(Arc::new);
        let subscriber = match (topics.incoming, handler) {
            (Some(key), Some(handler)) => Some(subscribe(&session, key, handler, outlet.clone())?),
            _ => None,
        };
        let endpoint = if link::listens(spec.role) {
            listening(spec, address)?
        } else {
            wait_for_match(outlet.as_deref(), control)?;
            address
        };
        let facts = facts(spec, endpoint);
        Ok(Box::new(ZenohLink { session, outlet, subscriber, facts }))
    }
}

/// Everything that is not written here is the library's default.
fn config(spec: &Spec, address: SocketAddr) -> Result<Config> {
    let side = if link::listens(spec.role) { "listen" } else { "connect" };
    let other = if link::listens(spec.role) { "connect" } else { "listen" };
    let settings = [
        ("mode".to_owned(), "\"peer\"".to_owned()),
        ("scouting/multicast/enabled".into(), "false".into()),
        ("scouting/gossip/enabled".into(), "false".into()),
        (format!("{side}/endpoints"), format!("[\"{}/{address}\"]", transport(spec))),
        (format!("{other}/endpoints"), "[]".into()),
        // Fail at once instead of trying again for ever.
        (format!("{side}/timeout_ms"), "0".into()),
        (format!("{side}/exit_on_failure"), "true".into()),
    ];
    let mut config = Config::default();
    for (key, value) in settings {
        config
            .insert_json5(&key, &value)
            .map_err(|error| anyhow!("Zenoh does not take {key} = {value}: {error}"))?;
    }
    Ok(config)
}

fn transport(spec: &Spec) -> &'static str {
    match link_transport(spec) {
        LinkTransport::Tcp => "tcp",
        LinkTransport::Udp => "udp",
    }
}

fn link_transport(spec: &Spec) -> LinkTransport {
    spec.transport.unwrap_or(LinkTransport::Tcp)
}

/// As published comparisons use it: best effort where a lost ping is only sent again, reliable where all
/// messages count.
fn reliability(spec: &Spec) -> Reliability {
    spec.reliability.unwrap_or(match spec.role {
        Role::Ping | Role::Pong => Reliability::BestEffort,
        Role::Pub | Role::Sub | Role::Broker => Reliability::Reliable,
    })
}

fn congestion_control(spec: &Spec) -> CongestionControl {
    match reliability(spec) {
        Reliability::Reliable => CongestionControl::Block,
        Reliability::BestEffort => CongestionControl::Drop,
    }
}

/// Batching is right for a stream of messages and wrong for a ping that waits for its reply.
fn express(spec: &Spec) -> bool {
    matches!(spec.role, Role::Ping | Role::Pong)
}

/// Zenoh's own words are a chain of source locations.
fn explain(spec: &Spec, address: SocketAddr, error: &zenoh::Error) -> anyhow::Error {
    if !link::listens(spec.role) {
        return anyhow!("nobody listens on {}/{address}", transport(spec));
    }
    let bound = match link_transport(spec) {
        LinkTransport::Tcp => TcpListener::bind(address).map(drop),
        LinkTransport::Udp => UdpSocket::bind(address).map(drop),
    };
    match bound {
        Err(error) => link::explain(&error, address),
        Ok(()) => anyhow!("cannot open a Zenoh session: {error}"),
    }
}

/// The real address, which Zenoh's stable interface does not tell.
fn listening(spec: &Spec, asked: SocketAddr) -> Result<SocketAddr> {
    if asked.port() != 0 {
        return Ok(asked);
    }
    let found = match link_transport(spec) {
        LinkTransport::Tcp => own_sockets::listening(),
        LinkTransport::Udp => own_sockets::datagram(),
    };
    let found = found.context("cannot tell the port that was chosen: give one in --endpoint")?;
    let address = found.first().map(|waiting| waiting.address);
    address.context("cannot tell the port that was chosen: give one in --endpoint")
}

fn facts(spec: &Spec, endpoint: SocketAddr) -> Facts {
    let facts = Facts::at(endpoint)
        .version("zenoh", env!("WIRELAP_ZENOH"))
        .setting("link", transport(spec))
        .setting("congestion_control", format!("{:?}", congestion_control(spec)))
        .setting("express", express(spec));
    match link_transport(spec) {
        // The library sets it on every link and has no option not to.
        LinkTransport::Tcp => facts.setting("TCP_NODELAY", true),
        LinkTransport::Udp => facts,
    }
}

struct ZenohLink {
    session: Session,
    outlet: Option<Arc<ZenohOutlet>>,
    subscriber: Option<Subscriber<()>>,
    facts: Facts,
}

struct ZenohOutlet {
    publisher: Publisher<'static>,
    /// A subscriber is there.
    matched: Arc<AtomicBool>,
    /// Publishing to nobody is an error: only for the side that waited for its peer.
    needs_match: bool,
}

impl ZenohOutlet {
    fn declare(session: &Session, key: String, spec: &Spec, control: &Control) -> Result<Self> {
        let publisher = session
            .declare_publisher(key)
            .congestion_control(congestion_control(spec))
            .express(express(spec))
            .wait()
            .map_err(|error| anyhow!("--topic {}: {error}", spec.topic))?;
        let matched = Arc::new(AtomicBool::new(false));
        let (flag, control) = (matched.clone(), control.clone());
        publisher
            .matching_listener()
            .callback(move |status| {
                flag.store(status.matching(), Ordering::Release);
                control.wake();
            })
            .background()
            .wait()
            .map_err(|error| anyhow!("cannot watch for subscribers: {error}"))?;
        Ok(ZenohOutlet { publisher, matched, needs_match: !link::listens(spec.role) })
    }
}

fn wait_for_match(outlet: Option<&ZenohOutlet>, control: &Control) -> Result<()> {
    let Some(outlet) = outlet else { return Ok(()) };
    let matched = || outlet.matched.load(Ordering::Acquire);
    control.wait_or(MATCH_LIMIT, matched, || {
        anyhow!(
            "no subscriber within {} s: do both sides have the same --topic?",
            MATCH_LIMIT.as_secs()
        )
    })
}

fn subscribe(
    session: &Session,
    key: String,
    handler: Handler,
    outlet: Option<Arc<ZenohOutlet>>,
) -> Result<Subscriber<()>> {
    let callback = move |sample: zenoh::sample::Sample| {
        let at = clock::now();
        let payload = sample.payload().to_bytes();
        match &outlet {
            Some(outlet) => handler(at, &payload, &**outlet),
            None => handler(at, &payload, &Nowhere),
        }
    };
    let named = key.clone();
    let declared = session.declare_subscriber(key).callback(callback).wait();
    declared.map_err(|error| anyhow!("--topic {named}: {error}"))
}

/// What a subscriber that publishes nothing answers to.
struct Nowhere;

impl Outlet for Nowhere {
    fn publish(&self, _payload: &[u8]) -> Result<()> {
        bail!("this role does not publish")
    }
}

impl Outlet for ZenohOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        if self.needs_match && !self.matched.load(Ordering::Acquire) {
            bail!("the subscriber is gone");
        }
        self.publisher.put(payload).wait().map_err(|error| anyhow!("cannot publish: {error}"))
    }
}

impl Outlet for ZenohLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        match &self.outlet {
            Some(outlet) => outlet.publish(payload),
            None => Nowhere.publish(payload),
        }
    }
}

impl Link for ZenohLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn flush(&mut self, _limit: Duration) -> Result<()> {
        // Zenoh has no flush; closing the session writes out what its queues hold.
        Ok(())
    }

    fn close(self: Box<Self>) {
        let ZenohLink { session, outlet, subscriber, .. } = *self;
        drop(subscriber);
        drop(outlet);
        // It can only fail because the peer has left first.
        let _ = session.close().wait();
    }
}
