//! An end of a session: a publisher, a subscriber, or both.

use crate::{quality, session};
use anyhow::{Result, anyhow, bail};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_contract::{LinkTransport, Role, Spec};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{Facts, Handler, Link, Opened, Outlet, RoleTopics};
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::Queryable;
use zenoh::{Session, Wait};

const MATCH_LIMIT: Duration = Duration::from_secs(10);

/// Time in which a session that has lost its router says so.
const ROUTER_END: Duration = Duration::from_millis(500);

/// Declarations of a role in its session.
pub struct ZenohLink {
    uplink: Uplink,
    outlet: Option<Arc<ZenohOutlet>>,
    subscriber: Option<Subscriber<()>>,
    /// Answers the peer's question of [`Link::flush`].
    answers: Option<Queryable<()>>,
    control: Control,
    facts: Facts,
}

/// The session, and the router that it has to stay connected to.
#[derive(Clone)]
pub struct Uplink {
    /// The session.
    pub session: Session,
    /// Router of the session, if the session is a client.
    pub router: Option<SocketAddr>,
    /// True if the link's transport loses nothing.
    pub is_lossless: bool,
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
        let (subscriber, answers) = match (topics.incoming, handler) {
            (Some(key), Some(handler)) => {
                // A router answers by itself, and a peer only what it has declared: before its subscription, for which the
                // other side waits.
                let answers = match uplink.router {
                    None if uplink.is_lossless => Some(answer(&uplink.session, &key)?),
                    _ => None,
                };
                let key = if topics.below { format!("{key}/*") } else { key };
                (Some(subscribe(&uplink.session, key, handler, outlet.clone())?), answers)
            }
            _ => (None, None),
        };
        let control = control.clone();
        Ok(ZenohLink { uplink, outlet, subscriber, answers, control, facts: Facts::default() })
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
    control: Control,
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
        let (flag, waker) = (matched.clone(), control.clone());
        publisher
            .matching_listener()
            .callback(move |status| {
                flag.store(status.matching(), Ordering::Release);
                waker.wake();
            })
            .background()
            .wait()
            .map_err(|error| anyhow!("cannot watch for subscribers: {error}"))?;
        let needs_match = matches!(spec.role, Role::Pub | Role::Ping);
        let (uplink, control) = (uplink.clone(), control.clone());
        Ok(ZenohOutlet { publisher, uplink, matched, needs_match, control })
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

/// Key of the question whether everything that was published under `topic` has arrived.
fn flush_key(topic: &str) -> String {
    format!("{topic}/flushed")
}

/// Ends each question of [`flush_key`] without a reply. A session reads what comes in one order, so that what was published
/// before the question has arrived.
fn answer(session: &Session, topic: &str) -> Result<Queryable<()>> {
    let declared = session.declare_queryable(flush_key(topic)).callback(drop).wait();
    declared.map_err(|error| anyhow!("--topic {topic}: {error}"))
}

impl Outlet for ZenohOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        if self.needs_match && !self.matched.load(Ordering::Acquire) {
            if self.uplink.router.is_some() {
                // A session loses its subscribers before its router.
                let is_gone = || self.uplink.check().is_err();
                self.control.wait_until(Some(Instant::now() + ROUTER_END), is_gone)?;
            }
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

    /// Zenoh has no flush, and closing a session drops the batch that is just being written and may drop what waits behind it
    /// (zenoh-transport 1.10, `write_loop`). So the other side is asked something, after all messages: by its priority.
    fn flush(&mut self, limit: Duration) -> Result<()> {
        let Some(outlet) = self.outlet.as_ref().filter(|_| self.uplink.is_lossless) else {
            return Ok(());
        };
        let key = flush_key(outlet.publisher.key_expr());
        let question = self.uplink.session.get(key).priority(Priority::Background);
        let question = question.congestion_control(CongestionControl::Block).timeout(limit);
        let replies = question.wait().map_err(|error| anyhow!("cannot publish: {error}"))?;
        if !self.control.wait_for_flush(limit, || replies.try_recv().is_err())? {
            bail!("the other side did not take all messages in time");
        }
        Ok(())
    }

    fn close(self: Box<Self>) {
        let ZenohLink { uplink, outlet, subscriber, answers, .. } = *self;
        drop(answers);
        drop(subscriber);
        drop(outlet);
        // It can only fail because the peer has left first.
        let _ = uplink.session.close().wait();
    }
}
