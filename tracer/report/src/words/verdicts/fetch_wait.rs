//! Words of `fetch_wait`.

use super::super::phrases::own_remedies;
use super::VerdictWords;
use wirelap_correlate::{Clause, Overdue, Whereabouts};
use wirelap_protocols::Remedies;

pub const WORDS: VerdictWords = VerdictWords {
    title: "fetch or poll wait at the broker",
    short: "fetch wait",
    title_of: |verdict| verdict.evidence.iter().find_map(title_by_clause),
    means: "the broker has the message and nobody has asked for it (at the receiver that asked late, or at nobody, where the receiver awaited the answers to earlier requests), it waits for more (at the broker), it keeps the message in a queue until that expires (RabbitMQ's dead letters) or for as long as its publisher wishes (`x-delay`, `$delayed`), it may send no more before an acknowledgement (MQTT, AMQP, JetStream), or another server of its cluster has not copied it (Kafka: at the follower); a note where it awaited an earlier answer, and threads wait for a CPU as long, and where its own thread slept until data of others came (a quorum, a backend)",
    evidence: "when the receiver had last asked, whether it awaited an answer until then, and how long (`max_wait_ms`) and for how much (`min_bytes`) its request lets the broker wait; whether the acknowledgement was on its way, or how long it took the subscriber is not known",
    helps: "keep a request open; `fetch.min.bytes`, `fetch.max.wait.ms` (`fetch.wait.max.ms`); `max_inflight_messages`, the Receive Maximum, the prefetch count, `max_ack_pending`",
    remedy: |_| "let the consumer ask before there is something to fetch (long polling), and more often",
    own_remedy: |own, _| own.fetch,
    of_verdict: |verdict, why| {
        let own = own_remedies(why);
        verdict.evidence.iter().find_map(|clause| by_clause(clause, own)).map(str::to_owned)
    },
    clause: |clause| {
        Some(match clause {
            Clause::ConsumerAskedLate => {
                "the consumer asked for messages only after the broker had them".into()
            }
            Clause::AnswerAwaited => "the consumer had earlier requests open and asked again when it had their answers: the messages waited for these, unless it had left them out (a paused partition, one with a full queue)".into(),
            Clause::AskedLate => "it asked for messages only after the broker had them".into(),
            Clause::AcknowledgedLate => "the broker sends it only so many messages before one is acknowledged, and it was late to acknowledge".into(),
            Clause::AwaitsCommit => "the messages are a transaction's, and the consumer is given only what is committed (`isolation.level`)".into(),
            Clause::Expired => "the broker kept the messages until their time was over: a queue's, which handed them on as dead letters (`x-death`: `expired`), or a delay that their publisher had asked for (`x-delay`, `$delayed`)".into(),
            Clause::ReplicaAwaited => "it copies what the broker has, and had not asked for more: before it has a message, the broker confirms it to no producer that wants all copies (`acks=all`), hands it to no consumer, and reads no further request of that producer".into(),
            Clause::OthersAwaited => "its thread slept until data came in that others had sent, as a backend that it asks, or the other servers of its cluster that have to have the message first; who these are was not followed".into(),
            Clause::AcknowledgementUnderWay => "the broker sends the subscriber only so many messages before one is acknowledged, and the acknowledgement was on its way".into(),
            Clause::RequestWaits(Some(ask)) => format!(
                "the consumer had asked, and the broker let it wait for more: for {} B, or {}, as its request says",
                ask.least_bytes, ask.longest
            ),
            Clause::RequestWaits(None) => {
                "the consumer had asked, and the broker let it wait for more".into()
            }
            Clause::AcknowledgementUnseen => "the broker sends the subscriber only so many messages before one is acknowledged, and the subscriber had not acknowledged; how long that took itself is not known".into(),
            Clause::SubscriberAcknowledgedLate => "the broker sends the subscriber only so many messages before one is acknowledged, and the subscriber had messages that it had not acknowledged".into(),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// The heading by what the broker waited for; `None` for a request.
fn title_by_clause(clause: &Clause) -> Option<&'static str> {
    match clause {
        Clause::ReplicaAwaited => Some("a replica's copy awaited"),
        Clause::OthersAwaited => Some("data of others awaited"),
        Clause::AcknowledgementUnderWay
        | Clause::AcknowledgementUnseen
        | Clause::SubscriberAcknowledgedLate
        | Clause::Overdue(Overdue { place: Whereabouts::Unacknowledged, .. }) => {
            Some("in-flight window full (an acknowledgement awaited)")
        }
        _ => None,
    }
}

/// The remedy by what the broker waited for; `None` if it let a request wait.
fn by_clause(clause: &Clause, own: &Remedies) -> Option<&'static str> {
    Some(match clause {
        // The time that a request lets the broker wait has no part in it.
        Clause::ConsumerAskedLate => {
            "find what kept the consumer from asking: it had not begun to read, was given what it reads from another, was at work, or slept between its requests (`basic.get` now and then)"
        }
        Clause::AnswerAwaited => {
            "see what the broker does until it answers (its CPU, its disk) and how long the way to it is; or let an answer carry more (Kafka: `fetch.max.bytes`, `max.partition.fetch.bytes`; NATS: a larger batch)"
        }
        Clause::Expired => {
            "nothing, if the queue is there to delay messages; else let a consumer read it, or lower the time for which it keeps them (`x-message-ttl`, `expiration`)"
        }
        Clause::ReplicaAwaited => {
            "find what keeps the follower: its CPU, its disk, its pauses, the way between the brokers (`kafka-topics --describe --under-min-isr-partitions`); fewer copies that are waited for only where losing messages is acceptable"
        }
        Clause::OthersAwaited => {
            "nothing, if the answer of other servers is what makes a message safe; else find what they do until they answer, and ask them less often"
        }
        // Others before them had to be acknowledged.
        Clause::AcknowledgementUnderWay
        | Clause::AcknowledgementUnseen
        | Clause::SubscriberAcknowledgedLate
        | Clause::Overdue(Overdue { place: Whereabouts::Unacknowledged, .. }) => own.unacknowledged.unwrap_or(
            "raise how many messages the broker sends before one is acknowledged, or let the subscriber acknowledge sooner",
        ),
        _ => return None,
    })
}

/// The remedy where messages wait for the end of a transaction.
pub const COMMIT: &str = "commit transactions sooner, with fewer messages each, or let the consumer read what is not committed (`isolation.level`)";
