//! Both halves together.

use crate::consumer::Consumer;
use crate::context::KafkaContext;
use crate::producer::Producer;
use crate::window::{self, PublishWindow};
use crate::{settings, topics};
use anyhow::Result;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use wirelap_contract::Spec;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Handler, Link, Opened, Outlet, RoleTopics};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

struct KafkaLink {
    producer: Option<Producer>,
    consumer: Option<Consumer>,
    handler: Option<Handler>,
    facts: Facts,
}

pub fn open(spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
    let broker = link::resolve(&spec.endpoint)?;
    let wanted = RoleTopics::of(spec);
    let named = |topic: Option<String>| topic.map(|topic| topics::name(&topic)).transpose();
    let (outgoing, incoming) = (named(wanted.outgoing)?, named(wanted.incoming)?);
    let partitions = settings::partitions(spec)?;
    // librdkafka would try for ever, and says less about why not.
    TcpStream::connect_timeout(&broker, CONNECT_LIMIT)
        .map_err(|error| link::explain(&error, broker).context("the broker is unreachable"))?;
    let context = KafkaContext::new(broker, control);
    let mut facts = facts(broker, partitions);
    let mut producer = outgoing
        .clone()
        .map(|topic| {
            let config = settings::producer(spec, broker);
            facts.settings.extend(settings::shown(&config));
            Producer::new(&config, topic, context.clone(), control)
        })
        .transpose()?;
    if !settings::is_mock(spec) {
        let names: Vec<String> = outgoing.into_iter().chain(incoming.clone()).collect();
        topics::make(&settings::common(spec, broker), &names, partitions, control)?;
    }
    let consumer = incoming
        .map(|topic| {
            let config = settings::consumer(spec, broker);
            facts.settings.extend(settings::shown(&config));
            Consumer::open(&config, &topic, spec, &context, control)
        })
        .transpose()?;
    if let Some(producer) = &mut producer {
        let count = topics::partitions(producer.client(), producer.topic(), control)?;
        if window::is_needed(spec) {
            producer.follow(PublishWindow::open(spec, broker, producer.topic(), count)?);
            facts = facts.setting("bytes ahead of the subscriber", window::AHEAD);
        }
    }
    Ok(Box::new(KafkaLink { producer, consumer, handler, facts }))
}

fn facts(broker: SocketAddr, partitions: i32) -> Facts {
    Facts::at(broker)
        .version("rdkafka", env!("WIRELAP_RDKAFKA"))
        .version("librdkafka", &rdkafka::util::get_rdkafka_version().1)
        .setting("partitions", partitions)
}

impl Outlet for KafkaLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.producer.publish(payload)
    }
}

impl Link for KafkaLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        let Some(consumer) = &self.consumer else {
            thread::park_timeout(wait);
            return Ok(());
        };
        consumer.poll(wait, |at, payload| {
            if let Some(handler) = &self.handler {
                handler(at, payload, self);
            }
        })
    }

    fn flush(&mut self, limit: Duration) -> Result<()> {
        self.producer.as_ref().map_or(Ok(()), |producer| producer.flush(limit))
    }
}
