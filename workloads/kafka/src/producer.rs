//! The sending half.

use crate::context::KafkaContext;
use crate::settings;
use crate::window::PublishWindow;
use anyhow::{Context as _, Result, anyhow, bail};
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::types::RDKafkaErrorCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wirelap_harness::control::{Control, Stopped};
use wirelap_harness::link::Outlet;

/// Time for which a full queue is left alone before it is tried again.
const FULL: Duration = Duration::from_micros(200);
/// Interval at which the thread that hears of errors looks whether it is over.
const TICK: Duration = Duration::from_millis(50);

/// Publishes to one topic. librdkafka's own threads do the sending.
pub struct Producer {
    client: Arc<BaseProducer<KafkaContext>>,
    topic: String,
    window: Option<PublishWindow>,
    control: Control,
    is_over: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Producer {
    /// A producer for `topic`, which need not be there yet.
    pub fn new(
        config: &ClientConfig,
        topic: String,
        context: KafkaContext,
        control: &Control,
    ) -> Result<Producer> {
        let client: BaseProducer<KafkaContext> =
            config.create_with_context(context).map_err(settings::refused)?;
        let client = Arc::new(client);
        let is_over = Arc::new(AtomicBool::new(false));
        let (hearing, over) = (client.clone(), is_over.clone());
        let listen = move || {
            while !over.load(Ordering::Acquire) {
                hearing.poll(TICK);
            }
        };
        let listener = thread::Builder::new()
            .name("rdkafka-errors".into())
            .spawn(listen)
            .context("cannot start a thread")?;
        let listener = Some(listener);
        Ok(Producer { client, topic, window: None, control: control.clone(), is_over, listener })
    }

    /// The client, for questions about the topic.
    pub fn client(&self) -> &rdkafka::client::Client<KafkaContext> {
        self.client.client()
    }

    /// Makes it wait for its subscriber from now on.
    pub fn follow(&mut self, window: PublishWindow) {
        self.window = Some(window);
    }

    /// Topic to which the producer publishes.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Waits until everything has left and, unless nobody acknowledges, is acknowledged.
    pub fn flush(&self, limit: Duration) -> Result<()> {
        let left = || self.client.in_flight_count();
        if !self.control.wait_for_flush(limit, || left() == 0)? {
            bail!("{} messages were not taken by the broker in time", left());
        }
        Ok(())
    }
}

impl Outlet for Producer {
    /// Puts a message into the queue; waits while there is no room.
    fn publish(&self, payload: &[u8]) -> Result<()> {
        if let Some(window) = &self.window {
            window.wait(&self.control)?;
        }
        loop {
            let record = BaseRecord::<(), [u8]>::to(&self.topic).payload(payload);
            let Err((error, _)) = self.client.send(record) else { return Ok(()) };
            match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::QueueFull) => {
                    self.control.check()?;
                    if self.control.interrupted() {
                        return Err(Stopped.into());
                    }
                    thread::park_timeout(FULL);
                }
                _ => bail!("cannot publish to {}: {error}", self.topic),
            }
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(Err(_)) = self.listener.take().map(JoinHandle::join) {
            self.control.fail(anyhow!("the thread that hears of errors has died"));
        }
    }
}
