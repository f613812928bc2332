//! The receiving half: read by the main thread, whenever it has nothing else to do.

use crate::context::{ANSWER_LIMIT, KafkaContext, is_about_connections};
use crate::window::Steps;
use crate::{settings, topics};
use anyhow::{Context as _, Result, anyhow, bail};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use std::cell::RefCell;
use std::time::Duration;
use wirelap_contract::Spec;
use wirelap_events::Nanos;
use wirelap_harness::clock;
use wirelap_harness::control::Control;

/// Joining a group takes some rounds; librdkafka's mock lets everyone wait 3 s for others.
const JOIN_LIMIT: Duration = Duration::from_secs(20);
/// Longest wait for news of the group at once.
const TICK: Duration = Duration::from_millis(20);
/// The longest wait for a message, so that a stop is heard.
const LONGEST: Duration = Duration::from_millis(100);
/// Messages that are handed out at once before the main thread looks up.
const TURN: usize = 1000;

/// Reads one topic from where it ended when this was opened.
pub struct Consumer {
    client: BaseConsumer<KafkaContext>,
    steps: RefCell<Steps>,
}

impl Consumer {
    /// A consumer of all partitions of `topic`, or of those that its group gives it. Everything that is published
    /// after this returns is received.
    pub fn open(
        config: &ClientConfig,
        topic: &str,
        spec: &Spec,
        context: &KafkaContext,
        control: &Control,
    ) -> Result<Consumer> {
        let client: BaseConsumer<KafkaContext> =
            config.create_with_context(context.clone()).map_err(settings::refused)?;
        let consumer = Consumer { client, steps: RefCell::new(Steps::of(spec)) };
        match settings::group(spec) {
            None => consumer.take_all(topic, control)?,
            Some(group) => consumer.join(topic, group, context, control)?,
        }
        Ok(consumer)
    }

    fn take_all(&self, topic: &str, control: &Control) -> Result<()> {
        let partitions = topics::partitions(self.client.client(), topic, control)?;
        let mut all = TopicPartitionList::new();
        for index in 0..partitions {
            // A partition's leader may have been told so later than others were.
            let (found, obstacle) = topics::persist(control, || {
                let marks = self.client.fetch_watermarks(topic, index, ANSWER_LIMIT);
                marks.map_err(|error| error.to_string())
            })?;
            let Some((_, end)) = found else {
                bail!("cannot find the end of {topic}-{index}: {obstacle}");
            };
            all.add_partition_offset(topic, index, Offset::Offset(end))?;
        }
        self.client.assign(&all).with_context(|| format!("cannot read {topic}"))
    }

    fn join(
        &self,
        topic: &str,
        group: &str,
        context: &KafkaContext,
        control: &Control,
    ) -> Result<()> {
        // The topic must be there, or the group has nothing to give.
        topics::partitions(self.client.client(), topic, control)?;
        self.client.subscribe(&[topic]).with_context(|| format!("cannot subscribe to {topic}"))?;
        let joined = || {
            // Nothing can come yet but news of the group, which the context hears.
            let _ = self.client.poll(TICK);
            context.is_assigned()
        };
        control.wait_or(JOIN_LIMIT, joined, || {
            anyhow!(
                "the group {group} gave no partition of {topic} within {} s",
                JOIN_LIMIT.as_secs()
            )
        })
    }

    /// Hands out messages that are there or come within `wait`.
    pub fn poll(&self, wait: Duration, take: impl Fn(Nanos, &[u8])) -> Result<()> {
        let mut wait = wait.min(LONGEST);
        for _ in 0..TURN {
            let Some(polled) = self.client.poll(wait) else { return Ok(()) };
            let at = clock::now();
            match polled {
                Ok(message) => {
                    let payload = message.payload().unwrap_or_default();
                    take(at, payload);
                    if self.steps.borrow_mut().take(payload.len()) {
                        self.client
                            .commit_consumer_state(CommitMode::Async)
                            .context("cannot commit")?;
                    }
                }
                Err(error) => explain(&error)?,
            }
            wait = Duration::ZERO;
        }
        Ok(())
    }
}

/// Fails if an error ends the run. About connections the context knows more.
fn explain(error: &KafkaError) -> Result<()> {
    match error.rdkafka_error_code() {
        Some(code) if is_about_connections(code) => Ok(()),
        _ => bail!("cannot receive: {error}"),
    }
}
