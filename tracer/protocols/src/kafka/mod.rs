//! Apache Kafka over TCP.
//!
//! Sources: the Kafka protocol guide (kafka.apache.org/protocol), KIP-98 (record batches, version 2), KIP-31 and KIP-32 (the
//! messages before them),
//! KIP-482 (flexible versions), KIP-511 (`ApiVersions`), KIP-516 (topic IDs), KIP-932 (share groups).
//!
//! | module | contents |
//! |---|---|
//! | `fields` | primitive types |
//! | `apis` | the APIs: names, versions, classes |
//! | `header` | sizes and request headers |
//! | `calls` | the requests that wait for a response |
//! | `layout` | the layouts of bodies with records |
//! | `walk` | the bodies of Produce requests and Fetch responses |
//! | `batch` | record batches and records |
//! | `unpack` | decompression of batches |
//! | `compressed` | the records of compressed batches |
//! | `fetch` | Fetch requests, and how far a consumer has read |
//! | `status` | what a record means for who is sent it |
//! | `meaning` | what a record means, by what is known of the connection |
//! | `share` | what members of share groups are given |
//! | `handover` | records that are sent to two consumers of a group |
//! | `commit` | offsets that groups commit |
//! | `record` | records as frames, and their keys |
//! | `head` | the head of a PDU |
//! | `open` | a PDU with records, part by part |
//! | `names` | the names of clients and groups |
//! | `topic_name` | names and IDs of topics |
//! | `produce` | whether bytes are a Produce request |
//! | `stored` | Produce responses, and the offsets of records |
//! | `topics` | topic IDs, and the topic and partition of records |
//! | `survey` | whether bytes are Kafka |
//! | `rabbitmq` | whether they are `RabbitMQ`'s stream protocol, which looks alike |
//! | `connection` | the decoder of one connection |
//!
//! # Frames
//!
//! A request or response is one frame, except for Produce requests (versions 0 to 13), Fetch responses (0 to 18) and `ShareFetch`
//! responses (1 and 2) with
//! records. These are divided into:
//!
//! | frame | class | contents |
//! |---|---|---|
//! | `ProduceRequest`, `FetchResponse` | data | all bytes up to the first record, including the first batch's header |
//! | `Record` | data | one record: **one application message**, whose payload is the record's value |
//! | `RecordBatch` | data | all bytes up to the first record of another batch, including other partitions without records |
//! | `PartitionData` | data | the bytes after the last record; opaque if they could not be decoded |
//! | `CompressedRecords` | data | a compressed batch; its records are the next frames, without bytes of their own. Opaque if it cannot be decompressed; then `FrameNote::UnreadMessages` reports the number of records in its header |
//! | `ControlRecords` | other | transaction markers |
//! | `PartialRecordBatch` | other | a batch that the broker cut off at the requested maximum size: the consumer drops it and requests it again |
//! | `MessageSet` | opaque | a message of the formats before version 2 that cannot be read. Those that can be are `RecordBatch` and `Record`, one by one |
//!
//! A null value (a tombstone) is a message of 0 bytes. Keys and headers are protocol bytes. Records of
//! Kafka's own topics (`__consumer_offsets`, `__cluster_metadata`, …) are of class other.
//!
//! Fetch requests, and responses without records, are of class other: polling is neither data nor a subscription, and an
//! idle consumer polls several times per second. Produce responses and offset commits are acks. Records in older or newer
//! versions are opaque.
//!
//! # Topics and keys
//!
//! `topic` is `<topic>-<partition>`, as Kafka itself writes a `TopicPartition`. Within it, the order on the wire is the order
//! of the offsets, at the producer and at the consumer. Versions from 13 on have topic IDs instead of names. Metadata
//! responses (10 to 13) have the names; a topic whose name is not known is written as its ID, a UUID.
//!
//! Clients that connected before the observation began do not request the names again. The name of an ID is then found by a
//! batch that was produced to a topic by name and fetched by ID.
//!
//! Topic, partition and offset cannot be a record's key, because a producer does not know the offsets of its records. The
//! key is made of what both sides have in the batch, which the broker stores unchanged: the producer's sequence number
//! (idempotent producers, KIP-98), or else time, key and value. The key is the same for compressed batches, because they are
//! decompressed, and if the broker compresses again or writes its own time (`LogAppendTime`).
//!
//! Equal records of producers that do not number them are told apart by their offsets, which the Produce response has
//! ([`crate::FrameNote::GivesPlaces`]) and the reader sees ([`crate::FrameNote::HasPlace`]).
//!
//! # Records that are no messages
//!
//! A broker sends whole batches, so a consumer that begins inside a batch gets records that it did not request. Consumers
//! also get records of aborted transactions, which the response lists, and another broker gets all records, to replicate
//! them. All of these are of class other. Records that are sent again on a connection are marked as duplicates. Records that
//! are sent again on another connection, because a partition moved to another consumer of the group, are counted
//! ([`crate::FrameNote::ReadTwice`]).
//!
//! # Long PDUs
//!
//! Batches of 400 KB and Fetch responses of 50 MB are usual. Their records are decoded as they arrive; only a compressed
//! batch is collected, up to 2 MiB. A response whose request was not captured is decoded if it has records in the layout of
//! one of the versions.

mod apis;
mod batch;
mod calls;
mod commit;
mod compressed;
mod connection;
mod fetch;
mod fields;
mod handover;
mod head;
mod header;
mod layout;
mod meaning;
mod names;
mod open;
mod produce;
mod rabbitmq;
mod record;
mod remedies;
mod share;
mod status;
mod stored;
mod survey;
mod throttle;
mod topic_name;
mod topics;
mod unpack;
mod walk;

use crate::remedies::Remedies;
use crate::{Connection, Memory, MessageRouting, Protocol, Recognition, SignatureMatch};
use topics::KafkaTopics;
use wirelap_events::Transport;

/// The protocol Kafka.
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

    fn match_signature(&self, _: Transport, head: &[u8]) -> SignatureMatch {
        survey::match_signature(head)
    }

    fn has_magic(&self) -> bool {
        false
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::Brokered
    }

    fn keeps_messages(&self) -> bool {
        true
    }

    fn is_log(&self) -> bool {
        true
    }

    /// `SocketServer` mutes a channel until its answer is sent.
    fn answers_in_turn(&self) -> bool {
        true
    }

    /// A member talks to its group's coordinator, and reads from the leaders of its partitions.
    fn names_groups_elsewhere(&self) -> bool {
        true
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::KafkaConnection::default())
    }

    fn memory(&self) -> Memory {
        Memory::of(KafkaTopics::default())
    }

    /// Clients request the names of topics from one broker and use them with all others.
    fn connection_with(&self, _: Transport, memory: &Memory) -> Box<dyn Connection> {
        Box::new(connection::KafkaConnection::new(memory.get::<KafkaTopics>().unwrap_or_default()))
    }
}
