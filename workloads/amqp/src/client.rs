//! The client, lapin. It has a thread of its own for its connection; messages are taken from its consumer by the thread that polls.
//!
//! Messages go to the exchange `amq.topic`, which every broker has, with the topic as their routing key. Each subscriber has
//! a queue of its own; those that share a subscription share a queue.

use crate::confirms::PendingConfirms;
use crate::settings::{AmqpSettings, routing_key};
use anyhow::{Context, Result, anyhow, bail, ensure};
use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties, ConnectionStatus, Consumer,
    ErrorKind,
};
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
use wirelap_harness::pump::{Pump, TICK};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// A client that waits longer for a slow broker at the end is killed for it.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
const EXCHANGE: &str = "amq.topic";
/// Messages handed over at once.
const BATCH: usize = 256;
/// The longest name of a queue, and the longest routing key (AMQP 0-9-1 §4.2.5.3).
const LONGEST_NAME: usize = 255;
/// The reply code with which a client closes its connection (AMQP 0-9-1 §1.3).
const REPLY_SUCCESS: u16 = 200;

struct AmqpLink {
    outlet: AmqpOutlet,
    connection: Connection,
    incoming: Option<Consumer>,
    handler: Option<Handler>,
    batch: Vec<(Nanos, Delivery)>,
    acks: bool,
    facts: Facts,
}

/// The other end of the connection.
struct BrokerConnection {
    address: SocketAddr,
    status: ConnectionStatus,
}

impl BrokerConnection {
    /// Replaces the error of a call on a lost connection, which each call words in its own way. The status may say that the
    /// connection is lost only after the call that met the error has failed.
    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let met_it = error.downcast_ref::<lapin::Error>().is_some_and(lapin::Error::is_io_error);
        if self.status.connected() && !met_it {
            return error;
        }
        anyhow!("the broker at {} closed the connection", self.address)
    }
}

struct AmqpOutlet {
    pump: Pump,
    broker: BrokerConnection,
    channel: Channel,
    prefetch: u16,
    routing_key: ShortString,
    confirms: Option<PendingConfirms>,
}

pub fn open(
    spec: &Spec,
    settings: AmqpSettings,
    handler: Option<Handler>,
    control: &Control,
) -> Result<Opened> {
    let address = link::resolve(&spec.endpoint)?;
    let pump = Pump::new(true, control)?;
    let topics = RoleTopics::of(spec);
    let connection = pump.drive(connect(address))??;
    let channel = pump.drive(async { connection.create_channel().await })??;
    let incoming = match &topics.incoming {
        Some(topic) => Some(pump.drive(subscribe(&channel, topic, &topics, settings))??),
        None => None,
    };
    let confirms = match &topics.outgoing {
        Some(_) if settings.confirms => {
            pump.drive(channel.confirm_select(ConfirmSelectOptions::default()))??;
            Some(PendingConfirms::new(spec.payload))
        }
        _ => None,
    };
    let facts = facts(settings, address, &connection, confirms.as_ref());
    let key = routing_key(topics.outgoing.as_deref().unwrap_or_default());
    let routing_key = short(&key)?;
    let broker = BrokerConnection { address, status: connection.status().clone() };
    let prefetch = settings.prefetch;
    let outlet = AmqpOutlet { pump, broker, channel, prefetch, routing_key, confirms };
    let (batch, acks) = (Vec::with_capacity(BATCH), settings.acks);
    Ok(Box::new(AmqpLink { outlet, connection, incoming, handler, batch, acks, facts }))
}

/// A name of at most [`LONGEST_NAME`] bytes.
fn short(text: &str) -> Result<ShortString> {
    ensure!(text.len() <= LONGEST_NAME, "--topic {text}: longer than {LONGEST_NAME} bytes");
    Ok(text.into())
}

async fn connect(address: SocketAddr) -> Result<Connection> {
    let properties =
        ConnectionProperties::default().with_connection_name("wirelap-workload".into());
    let uri = format!("amqp://{address}/%2f");
    let connected = timeout(CONNECT_LIMIT, Connection::connect(&uri, properties)).await;
    let connected = connected.with_context(|| {
        format!("the broker at {address} did not answer within {} s", CONNECT_LIMIT.as_secs())
    })?;
    connected.map_err(|error| match error.kind() {
        ErrorKind::IOError(cause) => {
            link::explain(cause, address).context("the broker is unreachable")
        }
        _ => anyhow!("the broker at {address} does not take the connection: {error}"),
    })
}

/// Returns when the broker delivers what is published from now on.
async fn subscribe(
    channel: &Channel,
    topic: &str,
    topics: &RoleTopics,
    settings: AmqpSettings,
) -> Result<Consumer> {
    let key = routing_key(topic);
    // The queue goes with its last consumer. One with a name can be shared; the broker names the others.
    let name = if topics.shared { format!("wirelap-{key}") } else { String::new() };
    let options =
        QueueDeclareOptions { exclusive: !topics.shared, ..QueueDeclareOptions::default() };
    let options = QueueDeclareOptions { auto_delete: true, ..options };
    let queue = channel.queue_declare(short(&name)?, options, FieldTable::default()).await?;
    let below = if topics.below { ".#" } else { "" };
    let pattern = short(&format!("{key}{below}"))?;
    let bind = QueueBindOptions::default();
    let table = FieldTable::default();
    channel.queue_bind(queue.name().clone(), EXCHANGE.into(), pattern, bind, table).await?;
    if settings.acks {
        channel.basic_qos(settings.prefetch, BasicQosOptions::default()).await?;
    }
    let options = BasicConsumeOptions { no_ack: !settings.acks, ..BasicConsumeOptions::default() };
    let table = FieldTable::default();
    Ok(channel.basic_consume(queue.name().clone(), "".into(), options, table).await?)
}

fn facts(
    settings: AmqpSettings,
    address: SocketAddr,
    connection: &Connection,
    confirms: Option<&PendingConfirms>,
) -> Facts {
    let facts = Facts::at(address)
        .version("lapin", env!("WIRELAP_LAPIN"))
        // The library sets it on every connection and has no option not to.
        .setting("TCP_NODELAY", true)
        .setting("confirms", settings.confirms)
        .setting("acks", settings.acks)
        .setting("prefetch", settings.prefetch)
        .setting("frame_max", connection.configuration().frame_max());
    match confirms {
        Some(confirms) => facts.setting("unconfirmed_messages", confirms.window),
        None => facts,
    }
}

impl AmqpOutlet {
    async fn send(&self, payload: &[u8]) -> Result<()> {
        let (exchange, key) = (EXCHANGE.into(), self.routing_key.clone());
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let sent = self.channel.basic_publish(exchange, key, options, payload, properties).await;
        let confirm = sent.context("cannot publish")?;
        match &self.confirms {
            Some(confirms) => confirms.add(confirm).await,
            None => Ok(()),
        }
    }

    /// Returns when the broker has everything, and has confirmed what is confirmed.
    async fn finish(&self) -> Result<()> {
        if let Some(confirms) = &self.confirms {
            return confirms.settle(0).await;
        }
        // The broker answers this after everything that came before it on the channel.
        Ok(self.channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?)
    }
}

impl Outlet for AmqpOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.pump.drive(self.send(payload))?.map_err(|error| self.broker.explain(error))
    }
}

impl Outlet for AmqpLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.outlet.publish(payload)
    }
}

impl Link for AmqpLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        let AmqpLink { outlet, incoming, handler, batch, acks, .. } = self;
        let (Some(incoming), Some(handler)) = (incoming, handler) else {
            std::thread::park_timeout(wait);
            return Ok(());
        };
        let taken = outlet.pump.runtime.block_on(take(incoming, batch, wait.min(TICK)));
        taken.map_err(|error| outlet.broker.explain(error))?;
        for (at, message) in batch.iter() {
            handler(*at, &message.data, outlet);
        }
        if let (true, Some((_, last))) = (*acks, batch.last()) {
            // One ack for all that were taken together.
            let ack = last.acker.ack(BasicAckOptions { multiple: true });
            let acked = outlet.pump.drive(ack)?.context("cannot acknowledge");
            acked.map_err(|error| outlet.broker.explain(error))?;
        }
        batch.clear();
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
        outcome.take().unwrap_or(Ok(())).map_err(|error| outlet.broker.explain(error))
    }

    fn close(self: Box<Self>) {
        let closing = self.connection.close(REPLY_SUCCESS, "".into());
        // Whoever leaves without a word is disconnected all the same.
        let _ = self.outlet.pump.runtime.block_on(async { timeout(CLOSE_LIMIT, closing).await });
    }
}

/// Waits for a message and takes those that have come with it.
async fn take(
    incoming: &mut Consumer,
    batch: &mut Vec<(Nanos, Delivery)>,
    wait: Duration,
) -> Result<()> {
    let Ok(mut next) = timeout(wait, incoming.next()).await else { return Ok(()) };
    loop {
        let Some(message) = next else { bail!("the broker has ended the subscription") };
        let message = message.context("cannot consume")?;
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
