//! The client, async-nats.

use crate::settings::{NatsSettings, subject};
use crate::stream::JetStream;
use anyhow::{Result, anyhow, bail, ensure};
use async_nats::jetstream::consumer::push::Ordered;
use async_nats::{Client, ConnectOptions, Event, Message, RequestErrorKind, Subject, Subscriber};
use futures_util::{FutureExt, StreamExt};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;
use wirelap_contract::Spec;
use wirelap_events::Nanos;
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Handler, Link, Opened, Outlet, RoleTopics};
use wirelap_harness::pump::{self, Pump, TICK};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Bytes and messages that may wait in the queue to the connection: beyond them, `publish` blocks. The library's default is 2048 messages.
const QUEUE_BYTES: usize = 4 << 20;
const QUEUE_MESSAGES: usize = 2048;
/// The connection reads up to 128 times 64 KiB before the subscription's turn comes, and drops what does not fit into
/// the subscription's queue then. On the wire a message has at least 24 bytes beside its payload.
const TURN_BYTES: usize = 128 << 16;
const FRAMING: usize = 24;
/// The group of the subscribers that share a subscription.
const QUEUE_GROUP: &str = "wirelap";
/// Messages handed over at once.
const BATCH: usize = 256;
/// A subject that nobody listens to: the server says so, in order with everything else on the connection.
const NOBODY: &str = "$SYS.WIRELAP.NOBODY";

struct NatsLink {
    outlet: NatsOutlet,
    incoming: Option<Incoming>,
    handler: Option<Handler>,
    batch: Vec<(Nanos, Message)>,
    facts: Facts,
}

struct NatsOutlet {
    pump: Pump,
    client: Client,
    subject: Subject,
    stream: Option<JetStream>,
    /// Write each message to the socket before `publish` returns: there is no other thread to do it.
    at_once: bool,
}

enum Incoming {
    Plain(Subscriber),
    Stored(Box<Ordered>),
}

pub fn open(
    spec: &Spec,
    settings: NatsSettings,
    handler: Option<Handler>,
    control: &Control,
) -> Result<Opened> {
    let address = link::resolve(&spec.endpoint)?;
    let at_once = !pump::is_back_to_back(spec);
    let pump = Pump::new(!at_once, control)?;
    let topics = RoleTopics::of(spec);
    let client = pump.drive(connect(spec, address, control))??;
    let info = client.server_info();
    ensure!(
        spec.payload <= info.max_payload,
        "--payload {}: the broker at {address} takes at most {} bytes",
        spec.payload,
        info.max_payload
    );
    let stream = if settings.jetstream {
        let subject = subject(&spec.topic);
        Some(pump.drive(JetStream::of(&client, &subject, settings, spec.payload))??)
    } else {
        None
    };
    let incoming = match &topics.incoming {
        Some(topic) => Some(pump.drive(subscribe(&client, stream.as_ref(), topic, &topics))??),
        None => None,
    };
    let facts =
        facts(spec, settings, address, stream.as_ref()).version("nats-server", &info.version);
    let subject = Subject::from(subject(topics.outgoing.as_deref().unwrap_or_default()));
    let outlet = NatsOutlet { pump, client, subject, stream, at_once };
    Ok(Box::new(NatsLink { outlet, incoming, handler, batch: Vec::with_capacity(BATCH), facts }))
}

async fn connect(spec: &Spec, address: SocketAddr, control: &Control) -> Result<Client> {
    let control = control.clone();
    let options = ConnectOptions::new()
        .name("wirelap-workload")
        .connection_timeout(CONNECT_LIMIT)
        .client_capacity(queue(spec))
        .subscription_capacity(subscription_queue(spec))
        .event_callback(move |event| {
            let control = control.clone();
            async move {
                if let Some(trouble) = trouble(&event, address) {
                    control.fail(trouble);
                }
            }
        });
    let connected = options.connect(address.to_string()).await;
    connected.map_err(|error| explain(error.into(), address))
}

fn queue(spec: &Spec) -> usize {
    (QUEUE_BYTES / spec.payload).clamp(2, QUEUE_MESSAGES)
}

fn subscription_queue(spec: &Spec) -> usize {
    1024 + TURN_BYTES / (spec.payload + FRAMING)
}

/// The library would connect again after an error; a run with a gap in it is worth nothing, so the first error ends it.
fn trouble(event: &Event, address: SocketAddr) -> Option<anyhow::Error> {
    match event {
        Event::Disconnected => Some(anyhow!("the broker at {address} closed the connection")),
        Event::SlowConsumer(_) => {
            Some(anyhow!("the subscriber is too slow: async-nats dropped messages"))
        }
        Event::ServerError(error) => Some(anyhow!("the broker at {address} says: {error}")),
        Event::ClientError(error) => Some(anyhow!("async-nats says: {error}")),
        _ => None,
    }
}

fn explain(error: anyhow::Error, address: SocketAddr) -> anyhow::Error {
    match error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()) {
        Some(cause) => link::explain(cause, address).context("the broker is unreachable"),
        None => error.context(format!("the broker at {address} does not take the connection")),
    }
}

/// Returns when the subscription is in force.
async fn subscribe(
    client: &Client,
    stream: Option<&JetStream>,
    topic: &str,
    topics: &RoleTopics,
) -> Result<Incoming> {
    let below = if topics.below { ".>" } else { "" };
    let subject = format!("{}{below}", subject(topic));
    let incoming = if let Some(stream) = stream {
        ensure!(
            !topics.below && !topics.shared,
            "JetStream's consumers have one subject each: choose --subscription own"
        );
        Incoming::Stored(Box::new(stream.consume(&subject).await?))
    } else {
        let made = if topics.shared {
            client.queue_subscribe(subject, QUEUE_GROUP.into()).await
        } else {
            client.subscribe(subject).await
        };
        Incoming::Plain(made.map_err(|error| anyhow!("--topic {topic}: {error}"))?)
    };
    round_trip(client).await?;
    Ok(incoming)
}

/// Returns when the server has done everything that it was sent before. The library's `flush` only writes it out.
async fn round_trip(client: &Client) -> Result<()> {
    match client.request(NOBODY, Vec::new().into()).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == RequestErrorKind::NoResponders => Ok(()),
        Err(error) => Err(anyhow!("the broker does not answer: {error}")),
    }
}

fn facts(
    spec: &Spec,
    settings: NatsSettings,
    address: SocketAddr,
    stream: Option<&JetStream>,
) -> Facts {
    let facts = Facts::at(address)
        .version("async-nats", env!("WIRELAP_ASYNC_NATS"))
        // The library sets it on every connection and has no option not to.
        .setting("TCP_NODELAY", true)
        .setting("jetstream", settings.jetstream)
        .setting("client_capacity", queue(spec))
        .setting("subscription_capacity", subscription_queue(spec));
    match stream {
        Some(stream) => facts
            .setting("storage", settings.storage())
            .setting("retention", "interest")
            .setting("unacked_messages", stream.window),
        None => facts,
    }
}

impl NatsOutlet {
    async fn send(&self, payload: &[u8]) -> Result<()> {
        if let Some(stream) = &self.stream {
            stream.publish(&self.subject, payload).await?;
        } else {
            let sent = self.client.publish(self.subject.clone(), payload.to_vec().into()).await;
            sent.map_err(|error| anyhow!("cannot publish: {error}"))?;
        }
        if self.at_once {
            self.client.flush().await.map_err(|error| anyhow!("cannot publish: {error}"))?;
        }
        Ok(())
    }

    /// Returns when the broker has everything, and has acknowledged what is acknowledged.
    async fn finish(&self) -> Result<()> {
        if let Some(stream) = &self.stream {
            stream.settle(0).await?;
        }
        round_trip(&self.client).await
    }
}

impl Outlet for NatsOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.pump.drive(self.send(payload))?
    }
}

impl Outlet for NatsLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.outlet.publish(payload)
    }
}

impl Link for NatsLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        let NatsLink { outlet, incoming, handler, batch, .. } = self;
        let (Some(incoming), Some(handler)) = (incoming, handler) else {
            std::thread::park_timeout(wait);
            return Ok(());
        };
        // The handler may publish, which drives the library again: so it is called after this.
        outlet.pump.runtime.block_on(take(incoming, batch, wait.min(TICK)))?;
        for (at, message) in batch.drain(..) {
            handler(at, &message.payload, outlet);
        }
        Ok(())
    }

    fn flush(&mut self, limit: Duration) -> Result<()> {
        let outlet = &self.outlet;
        let outcome = RefCell::new(None);
        let work = pin!(outlet.finish());
        let work = RefCell::new(work);
        let is_done = || {
            let mut work = work.borrow_mut();
            let step = outlet.pump.runtime.block_on(async { timeout(TICK, work.as_mut()).await });
            *outcome.borrow_mut() = step.ok();
            outcome.borrow().is_some()
        };
        if !outlet.pump.control.wait_for_flush(limit, is_done)? {
            bail!("the broker did not take all messages in time");
        }
        outcome.take().unwrap_or(Ok(()))
    }
}

/// Waits for a message and takes those that have come with it.
async fn take(
    incoming: &mut Incoming,
    batch: &mut Vec<(Nanos, Message)>,
    wait: Duration,
) -> Result<()> {
    let Ok(mut next) = timeout(wait, incoming.next()).await else { return Ok(()) };
    loop {
        let Some(message) = next? else { bail!("the subscription has ended") };
        batch.push((clock::now(), message));
        if batch.len() == BATCH {
            return Ok(());
        }
        match incoming.next().now_or_never() {
            Some(more) => next = more,
            None => return Ok(()),
        }
    }
}

impl Incoming {
    async fn next(&mut self) -> Result<Option<Message>> {
        match self {
            Incoming::Plain(subscriber) => Ok(subscriber.next().await),
            Incoming::Stored(consumer) => match consumer.next().await {
                Some(Ok(message)) => Ok(Some(message.message)),
                Some(Err(error)) => Err(anyhow!("the consumer has ended: {error}")),
                None => Ok(None),
            },
        }
    }
}

impl Drop for NatsLink {
    fn drop(&mut self) {
        // The library unsubscribes from a task that it starts.
        let _inside = self.outlet.pump.runtime.enter();
        self.incoming = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Role;

    #[test]
    fn queues_are_bounded_in_bytes_and_hold_a_turn() {
        let spec = |payload| Spec { payload, ..Spec::new(Role::Sub, "nats") };
        assert_eq!(queue(&spec(64)), QUEUE_MESSAGES);
        assert_eq!(queue(&spec(8 << 20)), 2);
        assert!(subscription_queue(&spec(8)) > TURN_BYTES / (8 + FRAMING));
        assert!(subscription_queue(&spec(8 << 20)) >= 1024);
    }
}
