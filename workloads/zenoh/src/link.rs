//! An end of a session: a publisher, a subscriber, or both.

use crate::{quality, session};
use anyhow::{Result, anyhow, bail};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use wirelap_contract::{LinkTransport, Role, Spec};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{Facts, Handler, Link, Opened, Outlet, RoleTopics};
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::{Session, Wait};

const MATCH_LIMIT: Duration = Duration::from_secs(10);

/// Declarations of a role in its session.
pub struct ZenohLink {
    uplink: Uplink,
    outlet: Option<Arc<ZenohOutlet>>,
    subscriber: Option<Subscriber<()>>,
    facts: Facts,
}

/// The session, and the router that it has to stay connected to.
#[derive(Clone)]
pub struct Uplink {
    /// The session.
    pub session: Session,
    /// Router of the session, if the session is a client.
    pub router: Option<SocketAddr>,
}

impl Uplink {
    /// Fails when the router is gone. The library would look for it for ever.
    fn check(&self) -> Result<()> {
        match self.router {
            Some(router) if self.session.info().routers_zid().wait().next().is_none() => {
                bail!("the broker at {router} closed the connection")
            }
            _ => Ok(()),
        }
    }
}

impl ZenohLink {
    /// Declares what the role needs.
    pub fn declare(
        uplink: Uplink,
        spec: &Spec,
        handler: Option<Handler>,
        control: &Control,
    ) -> Result<ZenohLink> {
        let topics = RoleTopics::of(spec);
        let outlet = topics.outgoing.map(|key| ZenohOutlet::declare(&uplink, key, spec, control));
        let outlet = outlet.transpose()?.map(Arc::new);
        let subscriber = match (topics.incoming, handler) {
            (Some(key), Some(handler)) => {
                let key = if topics.below { format!("{key}/*") } else { key };
                Some(subscribe(&uplink.session, key, handler, outlet.clone())?)
            }
            _ => None,
        };
        Ok(ZenohLink { uplink, outlet, subscriber, facts: Facts::default() })
    }

    /// Waits until somebody has subscribed to what this end publishes.
    pub fn wait_for_match(&self, control: &Control) -> Result<()> {
        let Some(outlet) = &self.outlet else { return Ok(()) };
        let matched = || outlet.matched.load(Ordering::Acquire);
        control.wait_or(MATCH_LIMIT, matched, || {
            anyhow!(
                "no subscriber within {} s: do both sides have the same --topic?",
                MATCH_LIMIT.as_secs()
            )
        })
    }

    /// This end with what READY tells about it.
    pub fn at(self, endpoint: SocketAddr, transport: LinkTransport, spec: &Spec) -> Opened {
        let facts = Facts::at(endpoint)
            .version("zenoh", env!("WIRELAP_ZENOH"))
            .setting("link", session::name(transport))
            .setting("congestion_control", format!("{:?}", quality::congestion_control(spec)))
            .setting("express", quality::express(spec));
        let facts = match transport {
            // The library sets it on every link and has no option not to.
            LinkTransport::Tcp => facts.setting("TCP_NODELAY", true),
            LinkTransport::Udp => facts,
        };
        Box::new(ZenohLink { facts, ..self })
    }
}

struct ZenohOutlet {
    publisher: Publisher<'static>,
    uplink: Uplink,
    /// A subscriber is there.
    matched: Arc<AtomicBool>,
    /// Publishing to nobody is an error: only for the side that waited for its peer.
    needs_match: bool,
}

impl ZenohOutlet {
    fn declare(uplink: &Uplink, key: String, spec: &Spec, control: &Control) -> Result<Self> {
        let publisher = uplink
            .session
            .declare_publisher(key)
            .congestion_control(quality::congestion_control(spec))
            .express(quality::express(spec))
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
        let needs_match = matches!(spec.role, Role::Pub | Role::Ping);
        Ok(ZenohOutlet { publisher, uplink: uplink.clone(), matched, needs_match })
    }
}

fn subscribe(
    session: &Session,
    key: String,
    handler: Handler,
    outlet: Option<Arc<ZenohOutlet>>,
) -> Result<Subscriber<()>> {
    let callback = move |sample: zenoh::sample::Sample| {
        let at = clock::now();
        handler(at, &sample.payload().to_bytes(), &outlet);
    };
    let named = key.clone();
    let declared = session.declare_subscriber(key).callback(callback).wait();
    declared.map_err(|error| anyhow!("--topic {named}: {error}"))
}

impl Outlet for ZenohOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        if self.needs_match && !self.matched.load(Ordering::Acquire) {
            self.uplink.check()?;
            bail!("the subscriber is gone");
        }
        self.publisher.put(payload).wait().map_err(|error| anyhow!("cannot publish: {error}"))
    }
}

impl Outlet for ZenohLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.outlet.publish(payload)
    }
}

impl Link for ZenohLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        thread::park_timeout(wait);
        self.uplink.check()
    }

    fn is_polled(&self) -> bool {
        false
    }

    fn flush(&mut self, _limit: Duration) -> Result<()> {
        // Zenoh has no flush; closing the session writes out what its queues hold.
        Ok(())
    }

    fn close(self: Box<Self>) {
        let ZenohLink { uplink, outlet, subscriber, .. } = *self;
        drop(subscriber);
        drop(outlet);
        // It can only fail because the peer has left first.
        let _ = uplink.session.close().wait();
    }
}
