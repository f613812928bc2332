//! `JetStream`: messages go into a stream, whose acks come back, and an ordered push consumer delivers them.
//!
//! The stream keeps a message until every consumer has it (retention by interest), so it holds only what is on its way, and stays
//! behind empty on a server that ran before.

use crate::settings::NatsSettings;
use anyhow::{Result, anyhow};
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::push::{Ordered, OrderedConfig};
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, Subject};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{IntoFuture, poll_fn};
use std::task::Poll;

/// Payload bytes that may be without ack at once, and messages.
const UNACKED_BYTES: usize = 4 << 20;
const UNACKED_MESSAGES: usize = 1000;

type Ack = <PublishAckFuture as IntoFuture>::IntoFuture;

/// A stream to publish into.
pub struct JetStream {
    context: Context,
    name: String,
    /// Messages that may wait for their acks.
    pub window: usize,
    acks: RefCell<VecDeque<Ack>>,
}

impl JetStream {
    /// The stream of `subject` and its replies; made if it is not there.
    pub async fn of(
        client: &Client,
        subject: &str,
        settings: NatsSettings,
        payload: usize,
    ) -> Result<JetStream> {
        let context = jetstream::new(client.clone());
        let name = format!("wirelap-{}", subject.replace('.', "-"));
        let storage = if settings.on_disk { StorageType::File } else { StorageType::Memory };
        let config = Config {
            name: name.clone(),
            subjects: vec![subject.to_owned(), format!("{subject}.reply")],
            retention: RetentionPolicy::Interest,
            storage,
            ..Config::default()
        };
        let made = context.get_or_create_stream(config).await;
        made.map_err(|error| anyhow!("the broker has no stream for {subject}: {error}"))?;
        let window = (UNACKED_BYTES / payload).clamp(2, UNACKED_MESSAGES);
        Ok(JetStream { context, name, window, acks: RefCell::default() })
    }

    /// Consumes what is published to `subject` from now on.
    pub async fn consume(&self, subject: &str) -> Result<Ordered> {
        let config = OrderedConfig {
            deliver_subject: self.context.client().new_inbox(),
            filter_subject: subject.to_owned(),
            deliver_policy: DeliverPolicy::New,
            ..OrderedConfig::default()
        };
        let made = self.context.create_consumer_on_stream(config, &self.name).await;
        let consumer = made.map_err(|error| anyhow!("the broker makes no consumer: {error}"))?;
        consumer.messages().await.map_err(|error| anyhow!("cannot consume: {error}"))
    }

    /// Publishes. Waits when too many messages have no ack yet.
    pub async fn publish(&self, subject: &Subject, payload: &[u8]) -> Result<()> {
        let sent = self.context.publish(subject.clone(), payload.to_vec().into()).await;
        let ack = sent.map_err(|error| anyhow!("cannot publish: {error}"))?;
        self.acks.borrow_mut().push_back(ack.into_future());
        self.settle(self.window).await
    }

    /// Takes acks that are there, and waits for more until at most `left` are to come.
    pub async fn settle(&self, left: usize) -> Result<()> {
        let mut acks = self.acks.take();
        let settled = settle(&mut acks, left).await;
        self.acks.replace(acks);
        settled
    }
}

async fn settle(acks: &mut VecDeque<Ack>, left: usize) -> Result<()> {
    loop {
        let must_wait = acks.len() > left;
        let Some(oldest) = acks.front_mut() else { return Ok(()) };
        let ack = poll_fn(|cx| match oldest.as_mut().poll(cx) {
            Poll::Ready(ack) => Poll::Ready(Some(ack)),
            Poll::Pending if must_wait => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
        });
        match ack.await {
            None => return Ok(()),
            Some(Ok(_)) => drop(acks.pop_front()),
            Some(Err(error)) => return Err(anyhow!("a message was not stored: {error}")),
        }
    }
}
