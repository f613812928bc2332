//! Apache Kafka over TCP.
//!
//! Sources: the Kafka protocol guide (kafka.apache.org/protocol), KIP-98 (record batches, version 2),
//! KIP-482 (flexible versions), KIP-511 (`ApiVersions`), KIP-516 (topic ids).
//!
//! | module | what it knows |
//! |---|---|
//! | `fields` | primitive types |
//! | `apis` | the requests: names, versions, what each is for |
//! | `header` | sizes and request headers |
//! | `calls` | which request a response answers |
//! | `walk` | the bodies of Produce requests and Fetch responses |
//! | `batch` | record batches and records |
//! | `head` | what a PDU is |
//! | `open` | what its pieces are |
//! | `topics` | topic ids, and the topic and partition of records |
//! | `survey` | whether bytes are Kafka |
//! | `connection` | all of it together |
//!
//! # Frames
//!
//! A request or response is a frame, except for Produce requests (versions 3 to 13) and Fetch
//! responses (4 to 18) with records. There:
//!
//! | frame | class | what |
//! |---|---|---|
//! | `ProduceRequest`, `FetchResponse` | data | everything up to the first record, the first batch's header included |
//! | `Record` | data | one record: **one application message**, its value is the payload |
//! | `RecordBatch` | data | everything up to the first record of another batch, other partitions without records included |
//! | `PartitionData` | data | what comes after the last record; opaque: what could not be read from there on |
//! | `CompressedRecords` | opaque | the records of a compressed batch: not counted as messages |
//! | `ControlRecords` | other | transaction markers |
//! | `PartialRecordBatch` | other | a batch that the broker cut off at the size asked for: the consumer throws it away and asks again |
//! | `MessageSet` | opaque | records of the formats before version 2 |
//!
//! A null value (a tombstone) is a message of 0 bytes. Keys and headers are protocol bytes. Records of
//! Kafka's own topics (`__consumer_offsets`, `__cluster_metadata`, …) are of class other.
//!
//! A Fetch request, and a response without records, is of class other: polling is neither data nor a
//! subscription, and a consumer that waits does it several times a second. Produce responses and
//! offset commits are acks. What is older or newer than the versions above is opaque.
//!
//! # Topics and identities
//!
//! `topic` is `<topic>-<partition>`, as Kafka itself writes a `TopicPartition`: within it, the order on
//! the wire is the order of the offsets, at the producer and at the consumer. Versions from 13 on have
//! topic ids instead of names. Metadata responses (10 to 13) tell the names; an id that was not told
//! stands for itself, written as a UUID.
//!
//! No record has a [`GlobalKey`](wirelap_events::GlobalKey): topic, partition and offset would be one,
//! but a producer does not know the offsets of what it sends. The broker tells only the first one, and
//! only afterwards, in the Produce response; with `acks=0` it tells none. A key at one side and none at
//! the other would part what belongs together, so both have none.
//!
//! # Long PDUs
//!
//! Batches of 400 KB and Fetch responses of 50 MB are usual. They are not waited for: records are
//! handed out as they come. Joined in mid-stream, a long response whose request was not seen is opaque.

mod apis;
mod batch;
mod calls;
mod connection;
mod fields;
mod head;
mod header;
mod open;
mod survey;
mod topics;
mod walk;

use crate::{Connection, Memory, Protocol, Recognition, Topology};
use topics::Topics;
use wirelap_events::Transport;

/// Kafka, as the registry lists it.
#[derive(Debug)]
pub struct Kafka;

/// The registry's entry.
pub static PROTOCOL: Kafka = Kafka;

impl Protocol for Kafka {
    fn name(&self) -> &'static str {
        "kafka"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[9092]
    }

    fn recognise(&self, _: Transport, head: &[u8], at_start: bool) -> Recognition {
        survey::recognise(head, at_start)
    }

    fn topology(&self) -> Topology {
        Topology::Brokered
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::Kafka::default())
    }

    fn memory(&self) -> Memory {
        Memory::of(Topics::default())
    }

    /// Clients ask one broker for the names of topics and take them to all others.
    fn connection_with(&self, _: Transport, memory: &Memory) -> Box<dyn Connection> {
        Box::new(connection::Kafka::new(memory.get::<Topics>().unwrap_or_default()))
    }
}
