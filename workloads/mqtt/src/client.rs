//! The client, rumqttc. Its event loop runs in a thread of its own, which is also where messages are delivered. The event loops
//! of several clients share this thread.

use crate::event_loops;
use crate::settings::{self, CLIENT_NODELAY, IN_FLIGHT, MAX_PACKET};
use anyhow::{Result, anyhow, bail};
use rumqttc::mqttbytes::Error as MqttError;
use rumqttc::{AsyncClient, ConnectionError, Event, MqttOptions, Outgoing, Packet, QoS};
use rumqttc::{StateError, SubscribeReasonCode};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use wirelap_contract::Spec;
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Handler, Link, Opened, Outlet, RoleTopics};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const DISCONNECT_LIMIT: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_mins(1);
/// Bytes and messages that may wait in the queue to the event loop: beyond them, `publish` blocks.
const QUEUE_BYTES: usize = 4 << 20;
const QUEUE_MESSAGES: usize = 256;

struct MqttLink {
    publisher: Publisher,
    progress: Arc<Progress>,
    control: Control,
    facts: Facts,
}

/// Publisher from outside the event loop.
struct Publisher {
    client: AsyncClient,
    topic: String,
    qos: QoS,
    progress: Arc<Progress>,
}

/// The same from inside the event loop's thread, which must never wait for itself.
struct InLoopPublisher<'a>(&'a Publisher);

/// Progress of the event loop.
#[derive(Default)]
struct Progress {
    ready: AtomicBool,
    /// Messages handed to the queue.
    queued: AtomicU64,
    /// Messages written out (`QoS` 0) or acknowledged to the end (`QoS` 1 and 2).
    finished: AtomicU64,
    disconnected: AtomicBool,
}

pub fn open(spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
    let address = link::resolve(&spec.endpoint)?;
    let qos = rumqttc::qos(spec.qos).map_err(|error| anyhow!("--qos {}: {error:?}", spec.qos))?;
    let topics = RoleTopics::of(spec);
    let capacity = (QUEUE_BYTES / spec.payload).clamp(2, QUEUE_MESSAGES);
    let (client, mut connection) = AsyncClient::new(options(spec, address), capacity);
    let mut network = connection.network_options();
    let nodelay = settings::nodelay(spec, CLIENT_NODELAY)?;
    network.set_tcp_nodelay(nodelay);
    connection.set_network_options(network);

    let progress = Arc::new(Progress::default());
    let publisher = |client| Publisher {
        client,
        topic: topics.outgoing.clone().unwrap_or_default(),
        qos,
        progress: progress.clone(),
    };
    let driver = EventLoop {
        publisher: publisher(client.clone()),
        incoming: filter(&topics),
        handler,
        control: control.clone(),
        address,
    };
    event_loops::spawn(driver.run(connection))?;

    let is_ready = || progress.ready.load(Ordering::Acquire);
    control.wait_or(CONNECT_LIMIT, is_ready, || {
        anyhow!("the broker at {address} did not answer within {} s", CONNECT_LIMIT.as_secs())
    })?;
    let facts = Facts::at(address)
        .version("rumqttc", env!("WIRELAP_RUMQTTC"))
        .setting("tcp_nodelay", nodelay)
        .setting("qos", spec.qos)
        .setting("inflight", IN_FLIGHT)
        .setting("request_channel_capacity", capacity)
        .setting("keep_alive_s", KEEP_ALIVE.as_secs());
    Ok(Box::new(MqttLink {
        publisher: publisher(client),
        progress: progress.clone(),
        control: control.clone(),
        facts,
    }))
}

fn options(spec: &Spec, address: SocketAddr) -> MqttOptions {
    let id = format!("wirelap-{}-{}-{}", std::process::id(), spec.stream, spec.client);
    let mut options = MqttOptions::new(id, address.ip().to_string(), address.port());
    options
        .set_keep_alive(KEEP_ALIVE)
        .set_inflight(IN_FLIGHT)
        .set_max_packet_size(MAX_PACKET, MAX_PACKET);
    options
}

/// Filter of a role's subscription, if it has one.
fn filter(topics: &RoleTopics) -> Option<String> {
    let topic = topics.incoming.as_ref()?;
    let below = if topics.below { "/#" } else { "" };
    // MQTT 5.0 section 4.8.2; brokers of MQTT 3.1.1 have it as well.
    let share = if topics.shared { "$share/wirelap/" } else { "" };
    Some(format!("{share}{topic}{below}"))
}

impl Outlet for MqttLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        let Publisher { client, topic, qos, progress } = &self.publisher;
        let publish = client.publish(topic, *qos, false, payload);
        event_loops::wait(publish)?.map_err(|_| match self.control.check() {
            Err(failure) => failure,
            Ok(()) => anyhow!("the connection to the broker is closed"),
        })?;
        progress.queued.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

impl Link for MqttLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn is_polled(&self) -> bool {
        false
    }

    fn flush(&mut self, limit: Duration) -> Result<()> {
        let left = || {
            let queued = self.progress.queued.load(Ordering::Acquire);
            queued.saturating_sub(self.progress.finished.load(Ordering::Acquire))
        };
        if !self.control.wait_for_flush(limit, || left() == 0)? {
            bail!("{} messages were not taken by the broker in time", left());
        }
        Ok(())
    }

    fn close(self: Box<Self>) {
        // Behind everything else in the queue. If the queue is stuck, leaving without a word must do.
        if self.publisher.client.try_disconnect().is_ok() {
            let gone = || self.progress.disconnected.load(Ordering::Acquire);
            let _ = self.control.wait_for_flush(DISCONNECT_LIMIT, gone);
        }
    }
}

impl Outlet for InLoopPublisher<'_> {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        let Publisher { client, topic, qos, progress } = self.0;
        client
            .try_publish(topic, *qos, false, payload)
            .map_err(|_| anyhow!("the queue to the broker is full of replies"))?;
        progress.queued.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

/// The task that owns the connection.
struct EventLoop {
    publisher: Publisher,
    incoming: Option<String>,
    handler: Option<Handler>,
    control: Control,
    address: SocketAddr,
}

impl EventLoop {
    async fn run(self, mut connection: rumqttc::EventLoop) {
        // rumqttc would connect again after an error; a run with a gap in it is worth nothing, so the first
        // error ends it.
        loop {
            match connection.poll().await {
                Ok(Event::Outgoing(Outgoing::Disconnect)) => break,
                Ok(event) => {
                    if let Err(error) = self.event(&event) {
                        self.control.fail(error);
                        break;
                    }
                }
                Err(error) => {
                    self.control.fail(self.explain(error));
                    break;
                }
            }
        }
        self.publisher.progress.disconnected.store(true, Ordering::Release);
        self.control.wake();
    }

    fn event(&self, event: &Event) -> Result<()> {
        match event {
            Event::Incoming(Packet::Publish(message)) => {
                if let Some(handler) = &self.handler {
                    handler(clock::now(), &message.payload, &InLoopPublisher(&self.publisher));
                }
            }
            Event::Incoming(Packet::ConnAck(_)) => match &self.incoming {
                Some(topic) => self
                    .publisher
                    .client
                    .try_subscribe(topic, self.publisher.qos)
                    .map_err(|error| anyhow!("cannot subscribe to {topic}: {error}"))?,
                None => self.ready(),
            },
            Event::Incoming(Packet::SubAck(ack)) => {
                if ack.return_codes.contains(&SubscribeReasonCode::Failure) {
                    bail!("the broker refused the subscription");
                }
                self.ready();
            }
            Event::Incoming(Packet::PubAck(_) | Packet::PubComp(_)) => self.finished(),
            Event::Outgoing(Outgoing::Publish(_)) if self.publisher.qos == QoS::AtMostOnce => {
                self.finished();
            }
            _ => {}
        }
        Ok(())
    }

    fn ready(&self) {
        self.publisher.progress.ready.store(true, Ordering::Release);
        self.control.wake();
    }

    fn finished(&self) {
        self.publisher.progress.finished.fetch_add(1, Ordering::AcqRel);
    }

    fn explain(&self, error: ConnectionError) -> anyhow::Error {
        let address = self.address;
        let connected = self.publisher.progress.ready.load(Ordering::Acquire);
        match error {
            ConnectionError::Io(error) if !connected => {
                link::explain(&error, address).context("the broker is unreachable")
            }
            ConnectionError::MqttState(
                StateError::ConnectionAborted
                | StateError::Io(_)
                | StateError::Deserialization(MqttError::Io(_)),
            )
            | ConnectionError::Io(_) => anyhow!("the broker at {address} closed the connection"),
            ConnectionError::ConnectionRefused(code) => {
                anyhow!("the broker at {address} refused the connection: {code:?}")
            }
            error => anyhow!("the connection to the broker at {address} is lost: {error}"),
        }
    }
}
