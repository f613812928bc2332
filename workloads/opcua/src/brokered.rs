//! `opcua`: a server in between, whose variables are written by some and monitored by others.

use crate::client::{OpcuaSession, block_on};
use crate::limits::ServerLimits;
use crate::server::{self, variable};
use crate::writer::{InCallback, NodeWriter};
use crate::{about, node, payload, told};
use anyhow::{Context, Result, anyhow, bail, ensure};
use open62541::{
    AsyncSubscription, MonitoredItemCreateRequestBuilder, MonitoredItemHandle, SubscriptionBuilder,
};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use wirelap_contract::{About, Availability, Role, Spec};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Family, Handler, Link, Opened, Outlet, RoleTopics};

/// The server looks for new values this often. Its event loop cannot wait for less than a millisecond.
const PUBLISHING_INTERVAL_MS: f64 = 1.0;
const INTERVAL_SETTING: &str = "publishingInterval";
const QUEUE_SETTING: &str = "queueSize";
/// Bytes that may wait in the server for one subscriber: beyond them, the oldest values are lost.
const QUEUE_BYTES: usize = 256 << 20;
/// Bytes of a value in a queue beside its payload.
const PER_VALUE: usize = 400;
const MAX_QUEUE: usize = 100_000;
/// Payload bytes of one notification message, unless a single value is longer.
const NOTIFICATION_BYTES: usize = 1 << 20;
const MAX_NOTIFICATIONS: usize = 1000;

/// The middleware `opcua`.
pub struct OpcuaBrokered;

impl Family for OpcuaBrokered {
    fn about(&self) -> About {
        about("opcua", "OPC UA, write to a server and subscription (open62541)")
            .broker("open62541", Availability::BuiltIn)
            .setting(INTERVAL_SETTING, PUBLISHING_INTERVAL_MS, "ms between two notifications")
            .setting(QUEUE_SETTING, "256 MiB", "values that may wait for a subscriber")
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let address = link::resolve(&spec.endpoint)?;
        let session = OpcuaSession::open(address, "the broker")?;
        let mut facts = Facts::at(address)
            .version("open62541", env!("WIRELAP_OPEN62541"))
            .setting("TCP_NODELAY", true)
            .setting("securityPolicy", "None");
        let topics = RoleTopics::of(spec);
        let outgoing = topics.outgoing.as_deref();
        let writer =
            outgoing.map(|topic| NodeWriter::new(&session, topic, spec, control).map(Arc::new));
        let writer = writer.transpose()?;
        if let Some(writer) = &writer {
            facts = facts.setting("window", writer.window());
        }
        let subscription = match (topics.incoming, handler) {
            (Some(topic), Some(handler)) => {
                let wanted = NotificationParameters::of(spec)?;
                facts = facts
                    .setting(INTERVAL_SETTING, wanted.interval_ms)
                    .setting(QUEUE_SETTING, wanted.queue_size)
                    .setting("maxNotificationsPerPublish", wanted.notifications);
                Some(subscribe(&session, &topic, wanted, deliver(handler, writer.clone()))?)
            }
            _ => None,
        };
        Ok(Box::new(BrokeredLink { subscription, writer, session, facts }))
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        let wanted = NotificationParameters::of(spec)?;
        let limits = ServerLimits {
            publishing_interval_ms: wanted.interval_ms,
            queue_size: wanted.queue_size,
        };
        let topics = RoleTopics::of(&Spec { role: Role::Ping, ..spec.clone() });
        let server = server::start(link::resolve(&spec.endpoint)?, limits, control, |server| {
            for topic in [topics.outgoing, topics.incoming].into_iter().flatten() {
                server.add_variable_node(variable(&topic)).context("cannot add a variable")?;
            }
            Ok(())
        })?;
        let facts = Facts::at(server.address())
            .version("open62541", env!("WIRELAP_OPEN62541"))
            .setting("TCP_NODELAY", true)
            .setting("publishingIntervalLimits.min", wanted.interval_ms)
            .setting("queueSizeLimits.max", wanted.queue_size);
        control.say_ready(std::process::id(), facts);
        if control.wait_until(None, || server.has_ended())? {
            bail!("the server ended by itself");
        }
        Ok(())
    }
}

/// Parameters of the notification of values.
#[derive(Clone, Copy)]
struct NotificationParameters {
    interval_ms: f64,
    queue_size: u32,
    notifications: u32,
}

impl NotificationParameters {
    fn of(spec: &Spec) -> Result<NotificationParameters> {
        let interval_ms = told(spec, INTERVAL_SETTING, PUBLISHING_INTERVAL_MS)?;
        ensure!(
            (0.1..=3_600_000.0).contains(&interval_ms),
            "--set {INTERVAL_SETTING}={interval_ms}: 0.1 to 3600000 ms"
        );
        let room = (QUEUE_BYTES / (spec.payload + PER_VALUE)).clamp(2, MAX_QUEUE);
        let queue_size = told(spec, QUEUE_SETTING, u32::try_from(room)?)?;
        ensure!(queue_size > 0, "--set {QUEUE_SETTING}=0: at least 1");
        let notifications = (NOTIFICATION_BYTES / spec.payload).clamp(1, MAX_NOTIFICATIONS);
        Ok(NotificationParameters {
            interval_ms,
            queue_size,
            notifications: u32::try_from(notifications)?,
        })
    }
}

/// Returns the callback that takes a notified value, on the library's thread.
fn deliver(
    handler: Handler,
    writer: Option<Arc<NodeWriter>>,
) -> impl FnMut(open62541::ua::Variant) {
    move |value| {
        let at = clock::now();
        let Some(bytes) = payload(&value) else { return };
        handler(at, bytes, &writer.as_deref().map(InCallback));
    }
}

/// Ends when dropped.
struct ValueSubscription {
    _item: MonitoredItemHandle,
    _subscription: AsyncSubscription,
}

fn subscribe(
    session: &OpcuaSession,
    topic: &str,
    wanted: NotificationParameters,
    mut deliver: impl FnMut(open62541::ua::Variant) + 'static,
) -> Result<ValueSubscription> {
    let explain = |error: open62541::Error| session.explain(&error);
    let builder = SubscriptionBuilder::default()
        .requested_publishing_interval(Some(Duration::from_secs_f64(wanted.interval_ms / 1e3)))
        .max_notifications_per_publish(NonZeroU32::new(wanted.notifications));
    let (_, subscription) = block_on(builder.create(session.client()))?.map_err(explain)?;
    // A sampling interval of 0 takes every write.
    let request = MonitoredItemCreateRequestBuilder::new([node(topic)])
        .sampling_interval(Some(Duration::ZERO))
        .queue_size(wanted.queue_size)
        .discard_oldest(true);
    let mut callback = Some(move |value: open62541::DataValue<open62541::ua::Variant>| {
        if let Some(value) = value.into_value() {
            deliver(value);
        }
    });
    let create = subscription.create_monitored_items_callback(request, |_| {
        let mut callback = callback.take();
        move |value| {
            if let Some(callback) = &mut callback {
                callback(value);
            }
        }
    });
    let created = block_on(create)?.map_err(explain)?;
    let first = created.into_iter().next().ok_or_else(|| anyhow!("nothing is monitored"))?;
    let (_, item) = first.map_err(|error| anyhow!("cannot subscribe to {topic}: {error}"))?;
    Ok(ValueSubscription { _item: item, _subscription: subscription })
}

struct BrokeredLink {
    subscription: Option<ValueSubscription>,
    writer: Option<Arc<NodeWriter>>,
    session: OpcuaSession,
    facts: Facts,
}

impl Outlet for BrokeredLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.writer.publish(payload)
    }
}

impl Link for BrokeredLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        self.session.park(wait)
    }

    fn flush(&mut self, limit: Duration) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.flush(limit))
    }

    fn close(self: Box<Self>) {
        let BrokeredLink { subscription, writer, session, .. } = *self;
        drop((subscription, writer));
        session.close();
    }
}
