//! Reports of librdkafka about itself: that brokers are gone, and which messages did not arrive.

use anyhow::anyhow;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::producer::{DeliveryResult, NoCustomPartitioner, ProducerContext};
use rdkafka::types::{RDKafkaErrorCode, RDKafkaRespErr};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wirelap_harness::control::Control;

/// Longest time that a broker takes to say where a partition ends.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Listens to one client of librdkafka.
#[derive(Clone)]
pub struct KafkaContext {
    broker: SocketAddr,
    control: Control,
    group: Arc<GroupMember>,
}

/// State of a member of a consumer group.
#[derive(Default)]
struct GroupMember {
    /// The member was given partitions.
    assigned: AtomicBool,
    /// Positions of the member in its partitions when they were taken from it.
    positions: Mutex<HashMap<(String, i32), Offset>>,
}

impl KafkaContext {
    /// Context of a client of the broker at this address.
    pub fn new(broker: SocketAddr, control: &Control) -> KafkaContext {
        KafkaContext { broker, control: control.clone(), group: Arc::default() }
    }

    /// True if the group has given partitions to this consumer.
    pub fn is_assigned(&self) -> bool {
        self.group.assigned.load(Ordering::Acquire)
    }

    /// Puts each partition to where this consumer was, or else to its end: what is published from now on is
    /// received, and nothing that was there before.
    fn place(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) -> Placed {
        let mut known = self.group.positions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut placed = TopicPartitionList::new();
        for partition in list.elements() {
            let (topic, index) = (partition.topic(), partition.partition());
            let offset = match known.get(&(topic.to_owned(), index)) {
                Some(offset) => *offset,
                None => Offset::Offset(consumer.fetch_watermarks(topic, index, ANSWER_LIMIT)?.1),
            };
            // The group may be shuffled again before the first message comes.
            known.insert((topic.to_owned(), index), offset);
            placed.add_partition_offset(topic, index, offset)?;
        }
        Ok(placed)
    }

    fn remember(&self, consumer: &BaseConsumer<Self>) {
        let Ok(positions) = consumer.position() else { return };
        let mut known = self.group.positions.lock().unwrap_or_else(PoisonError::into_inner);
        for partition in positions.elements() {
            if let offset @ Offset::Offset(_) = partition.offset() {
                known.insert((partition.topic().to_owned(), partition.partition()), offset);
            }
        }
    }
}

type Placed = Result<TopicPartitionList, KafkaError>;

/// True if this says that a connection is lost, which librdkafka would try to open again for ever.
pub fn is_about_connections(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(code, Code::BrokerTransportFailure | Code::AllBrokersDown | Code::Resolve)
}

impl ClientContext for KafkaContext {
    fn log(&self, _: RDKafkaLogLevel, _: &str, _: &str) {}

    fn error(&self, error: KafkaError, reason: &str) {
        match error.rdkafka_error_code() {
            // A single one may be a second address of the same broker, or one of several.
            Some(RDKafkaErrorCode::AllBrokersDown) => {
                let broker = self.broker;
                self.control.fail(anyhow!("the broker at {broker} closed the connection"));
            }
            Some(RDKafkaErrorCode::Fatal) => self.control.fail(anyhow!("Kafka: {reason}")),
            _ => {}
        }
    }
}

impl ProducerContext<NoCustomPartitioner> for KafkaContext {
    type DeliveryOpaque = ();

    /// Called for what did not arrive only, and for that the run has failed.
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = result {
            self.control
                .fail(anyhow!("the broker at {} did not take a message: {error}", self.broker));
        }
    }
}

impl ConsumerContext for KafkaContext {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        what: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let outcome = if what == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            self.place(consumer, list).and_then(|placed| consumer.assign(&placed))
        } else {
            self.remember(consumer);
            consumer.unassign()
        };
        match outcome {
            Ok(()) => self.group.assigned.store(list.count() > 0, Ordering::Release),
            Err(error) => {
                self.control.fail(anyhow!("cannot take what the group assigned: {error}"));
            }
        }
    }
}
