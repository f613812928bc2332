//! The broker did not read a client for a time, as it said itself: a quota, or an alarm for memory or disk.
//!
//! The cause is found by what brokers say (Kafka's `throttle_time_ms`, AMQP's `connection.blocked`), and the messages or requests that lay unread in
//! their sockets meanwhile.

mod blame;

use crate::clause::Clause;
use crate::definition::{Bearer, Definition};
use wirelap_events::Segment;
use wirelap_limits::kinds::CLIENT_THROTTLED;

pub const DEFINITION: Definition = Definition {
    limits: Some(CLIENT_THROTTLED),
    bearer: Bearer::ReaderOfSocket,
    facts: |case| {
        let (segment, seen) = (case.finding.segment(), &case.finding.longest.circumstances);
        // Of a message that the broker has, the consumer comes first.
        let is_publisher =
            segment != Segment::BrokerDwell || seen.permission.requests_unread.is_none();
        case.often_and([Clause::Throttled { is_publisher }])
    },
    ..Definition::USUAL
};
