//! AMQP 0-9-1 over TCP (specification of 2008, with `RabbitMQ`'s extensions).
//!
//! | module | contents |
//! |---|---|
//! | `frame` | the frames: type, channel, size |
//! | `method` | the methods: their names, purposes and who sends them; the arguments of those with content |
//! | `table` | tables of named fields |
//! | `client_properties` | the name of a client |
//! | `consumer` | which consumer a message is for, and when consumers begin |
//! | `content` | a message, whose method, header and body are frames of their own |
//! | `dead_letter` | the way of a dead letter: where it was published first, and whether it expired |
//! | `headers` | what a message itself tells of its way through servers |
//! | `permits` | what lets the broker deliver: acknowledgements and requests |
//! | `unacknowledged` | what the broker puts back into its queues, and why |
//! | `queue` | how long and how many messages a queue keeps |
//! | `queues` | which queues are empty before a consumer begins |
//! | `transactions` | what waits for a commit |
//! | `recognition` | whether bytes are AMQP |
//! | `connection` | the decoder of one connection |
//!
//! A message's topic is `exchange/routing key`, which is the same where it is published and where it is delivered; for the
//! default exchange, which has no name, it is the routing key alone. A dead letter that a server hands on has those with which it was published first.

mod client_properties;
mod confirms;
mod connection;
mod consumer;
mod content;
mod dead_letter;
mod frame;
mod headers;
mod method;
mod permits;
mod queue;
mod queues;
mod recognition;
mod remedies;
mod table;
mod transactions;
mod unacknowledged;

use crate::remedies::Remedies;
use crate::{Connection, MessageRouting, Protocol, Recognition, SignatureMatch};
use wirelap_events::Transport;

/// The protocol AMQP 0-9-1.
#[derive(Debug)]
pub struct Amqp;

/// The registry's entry.
pub static PROTOCOL: Amqp = Amqp;

impl Protocol for Amqp {
    fn name(&self) -> &'static str {
        "amqp"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[5672]
    }

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, _: Transport, head: &[u8], at_start: bool) -> Recognition {
        match recognition::opening(head) {
            Recognition::No if !at_start => recognition::middle(head),
            found => found,
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        recognition::stands_out(head)
    }

    fn match_signature(&self, _: Transport, head: &[u8]) -> SignatureMatch {
        recognition::match_signature(head)
    }

    /// A queue does, as long as it is there.
    /// The routing key, which a message keeps in a dead letter exchange (`RabbitMQ`, "Dead Letter Exchanges").
    fn routed_topic<'a>(&self, topic: &'a [u8]) -> Option<&'a [u8]> {
        topic.splitn(2, |byte| *byte == b'/').last()
    }

    fn keeps_messages(&self) -> bool {
        true
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::Brokered
    }

    fn announces_close(&self) -> bool {
        true
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::AmqpConnection::default())
    }
}
