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
//! | `unpack` | compressed batches |
//! | `fetch` | what a Fetch request asks for, and how far its consumer is |
//! | `record` | records as frames, and what makes each of them itself |
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
//! | `CompressedRecords` | data | a compressed batch; its records are frames without bytes behind it. Opaque if it cannot be opened: then its header tells how many records there are (`FrameSink::unread_messages`) |
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
//! Clients that connected before anybody looked do not ask for the names again. An id is then named by what is fetched
//! from it: a batch that was produced to a topic by name is the same batch.
//!
//! Topic, partition and offset would be a record's key, but a producer does not know the offsets of what it sends. What
//! both sides have is in the batch, which the broker stores as it is: the producer's number for each record
//! (idempotent producers, KIP-98), else times, keys and values. It is the same for a batch that is compressed, as that
//! is opened, and where the broker compresses anew or writes its own time (`LogAppendTime`).
//!
//! # What a consumer is sent and is no message
//!
//! A broker sends whole batches, so a consumer that begins inside of one gets records that it did not ask for; records
//! of transactions that were aborted, which the response names; and another broker gets all of them, to keep a copy.
//! Their records are of class other. What comes again on a connection is marked as a duplicate. What comes again on
//! another one, as a group has given the partition to another of its consumers, is counted
//! ([`crate::FrameSink::read_twice`]).
//!
//! # Long PDUs
//!
//! Batches of 400 KB and Fetch responses of 50 MB are usual. They are not waited for: records are
//! handed out as they come; only a compressed batch is, up to 2 MiB. A response whose request was not seen is read if
//! what it says leads to records in one of the versions' layouts.

mod apis;
mod batch;
mod calls;
mod connection;
mod fetch;
mod fields;
mod handover;
mod head;
mod header;
mod open;
mod record;
mod remedies;
mod survey;
mod topics;
mod unpack;
mod walk;

use crate::remedies::Remedies;
use crate::{Connection, Look, Memory, Protocol, Recognition, Topology};
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

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, _: Transport, head: &[u8], at_start: bool) -> Recognition {
        survey::recognise(head, at_start)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        survey::stands_out(head)
    }

    fn sight(&self, _: Transport, head: &[u8]) -> Look {
        survey::sight(head)
    }

    fn greets(&self) -> bool {
        false
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
