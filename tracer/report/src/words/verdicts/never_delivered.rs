//! Words of `never_delivered`.

use super::super::phrases::{counted, messages, named, own_remedies};
use super::VerdictWords;
use crate::slow::HeldUpBy;
use wirelap_correlate::{Clause, ClosedBy, Departure, MissedBy, MostLeft};
use wirelap_events::{Comm, Pid};
use wirelap_protocols::QueueLimits;

/// The remedy where a log had no more what a reader came for.
const KEEP_LONGER: &str = "keep messages for longer (`retention.ms` and `retention.bytes` in Kafka; `max_age`, `max_msgs` and `max_bytes` of a stream in JetStream), or read them sooner: more consumers, and an alarm on how far they are behind";

/// The remedy where a connection ended for the broker alone.
const NOTICE_SOONER: &str = "let the client notice sooner that nothing comes (a shorter keep-alive or ping interval), and speak more often than the router or firewall forgets idle connections (its conntrack timeouts)";

/// The remedy where a broker keeps messages for a client that is away.
const CONNECT_AGAIN: &str = "the client gets them when it connects again; see that the broker's queue for it is long enough (`max_queued_messages` in mosquitto), and delete sessions whose clients do not come back";

pub const WORDS: VerdictWords = VerdictWords {
    title: "messages sent and never delivered",
    short: "never delivered",
    means: "sent, and not read by anyone",
    evidence: "a subscriber that got earlier and later messages of the same topic; or one that got earlier ones and closed its connection (a note if it announced the close, or where the server keeps a log of which nobody reads the rest now: Kafka, JetStream); or that one subscriber got earlier and later ones and others got these, too (MQTT, NATS); or that a subscriber's connection was reset for its server alone, while its own socket is open; or that the server of a log had no more what a consumer asked for (Kafka), or came to (JetStream); or that a client came back to its session (MQTT) and was sent later messages and not those before; or the workloads' own counts. Messages that the broker keeps in the session of a subscriber that is away (MQTT) are a note. Messages that could not be observed do not count; messages of aborted transactions, which consumers discard, are a note. In AMQP also what is known of the reason: expirations, limits of queues, returns, rollbacks",
    helps: "who subscribes? which QoS?",
    remedy: |_| "compare what is sent and what is subscribed, and see the broker's own counters and log",
    own_remedy: |own, _| own.never_delivered,
    of_verdict: |verdict, why| {
        let is_in_session = |clause: &Clause| matches!(clause, Clause::KeptInSession { .. });
        if !verdict.evidence.is_empty() && verdict.evidence.iter().all(is_in_session) {
            return Some(CONNECT_AGAIN.to_owned());
        }
        let is_not_kept = |clause: &Clause| matches!(clause, Clause::NotKept { .. });
        if !verdict.evidence.is_empty() && verdict.evidence.iter().all(is_not_kept) {
            return Some(KEEP_LONGER.to_owned());
        }
        let is_cut_off = |clause: &Clause| matches!(clause, Clause::LeftBehind { most, .. } if most.closed.by == ClosedBy::Between);
        if verdict.evidence.iter().any(is_cut_off) {
            return Some(NOTICE_SOONER.to_owned());
        }
        let is_among_others =
            |clause: &Clause| matches!(clause, Clause::Swallowed { .. } | Clause::Missed { .. });
        let own = own_remedies(why).swallowed;
        own.filter(|_| verdict.evidence.iter().any(is_among_others)).map(str::to_owned)
    },
    clause: |clause| {
        Some(match clause {
            Clause::NotDelivered { missing, due } => {
                format!(
                    "{missing} of {due} deliveries did not take place, by the workloads' own count"
                )
            }
            Clause::Filtered(datagrams) => counted(
                *datagrams,
                "datagram was thrown away by a packet filter of this host (nftables, tc)",
                "datagrams were thrown away by a packet filter of this host (nftables, tc)",
            ),
            Clause::ReaderLeft { reader, departure, is_abrupt } => {
                reader_left(*reader, *departure, *is_abrupt)
            }
            Clause::NeverRead { unread, sent } => {
                format!(
                    "{unread} times at least, a message was sent to a reader and never read ({sent} messages were sent)"
                )
            }
            Clause::Swallowed { messages, sent, dropped: 0 } => {
                format!(
                    "{messages} of {sent} messages were read by the broker and passed on to nobody"
                )
            }
            Clause::Swallowed { messages, sent, dropped } => format!(
                "{messages} of {sent} messages were read by the broker and not seen to leave it: they may wait in its sockets, as this host threw away {dropped} packets of these connections"
            ),
            Clause::AfterReaderLeft { messages, sent, is_kept: false } => format!(
                "{messages} of {sent} messages were read by the broker after that, and passed on to nobody"
            ),
            Clause::AfterReaderLeft { messages, sent, is_kept: true } => format!(
                "{messages} of {sent} messages were read by the broker after that: it keeps them for who reads next, unless their queue is gone with its last consumer"
            ),
            Clause::KeptInSession { messages, sent, reader } => format!(
                "{messages} of {sent} messages came while {} was away: the broker keeps them for its session",
                named(*reader)
            ),
            Clause::LeftBehind { most, name, others } => left_behind(most, *name, *others),
            Clause::Missed { most, name, others } => missed(most, *name, *others),
            Clause::NobodyGot { messages, sent } => format!(
                "{messages} of {sent} messages were read by the broker, and nobody was seen to get any"
            ),
            Clause::NobodySubscribes => "nobody seems to subscribe".into(),
            Clause::PassedOver { records, of_group, reader } => {
                let (nobody, before) = if *of_group {
                    ("read by no member of the consumer group", "the member that read before it")
                } else {
                    (
                        "read by no consumer that was seen",
                        "the consumer that was seen to read before it",
                    )
                };
                format!(
                    "{} {nobody}: {} began behind them, and {before} had stopped before them; the group had committed no offset, so that it began where its settings say (auto.offset.reset=latest)",
                    counted(*records, "record was", "records were"),
                    named(*reader)
                )
            }
            Clause::NotKept { messages, reader, was_asked: true } => format!(
                "{} passed over by {}: the broker's log had no more what it asked for (OFFSET_OUT_OF_RANGE), as the time of records was over (retention) or they were deleted, and it went on behind them, where its settings say (auto.offset.reset)",
                counted(*messages, "record was", "records were"),
                named(*reader)
            ),
            Clause::NotKept { messages, reader, was_asked: false } => format!(
                "{} no more in the stream when {} came to them: its limits (max_msgs, max_bytes, max_age), a purge or a deletion had removed them, by the numbers in the stream and those of its consumer",
                counted(*messages, "message was", "messages were"),
                named(*reader)
            ),
            Clause::MissedAway { messages, expired, reader } => {
                missed_away(*messages, *expired, *reader)
            }
            Clause::Aborted(messages) => counted(
                *messages,
                "message is of a transaction that was aborted: its consumer gets it and throws it away",
                "messages are of transactions that were aborted: their consumers get them and throw them away",
            ),
            Clause::RolledBack(messages) => counted(
                *messages,
                "message is of a transaction that was rolled back, or ended without a commit: the broker discards it",
                "messages are of transactions that were rolled back, or ended without a commit: the broker discards them",
            ),
            Clause::Returned(messages) => counted(
                *messages,
                "message was given back to its publisher, because no queue takes it (basic.return)",
                "messages were given back to their publisher, because no queue takes them (basic.return)",
            ),
            Clause::Expiring { messages, longest } => format!(
                "{} published with an expiration, after {longest} at the latest: the broker discards what waits in a queue for longer",
                counted(*messages, "message was", "messages were")
            ),
            Clause::QueueLimits(limits) => queue_limits(limits),
            Clause::NoReasonSeen => {
                "why the broker did not pass them on was not seen: its queues may give messages up by limits that were set before, or by a policy, or no queue takes them"
                    .into()
            }
            Clause::CutShort(messages) => counted(
                *messages,
                "message was given up by its sender when a part of it was sent: nobody gets it",
                "messages were given up by their sender when a part of them was sent: nobody gets them",
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// The limits that queues were declared with.
fn queue_limits(limits: &QueueLimits) -> String {
    let QueueLimits { longest, most, most_bytes } = limits;
    let told = [
        longest.map(|longest| format!("x-message-ttl {longest}")),
        most.map(|most| format!("x-max-length {most}")),
        most_bytes.map(|most| format!("x-max-length-bytes {most}")),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    format!(
        "a queue was declared with {}: the broker discards what it has no time or no room for",
        told.join(", ")
    )
}

/// The messages that came while a subscriber was away, and that it was not sent.
fn missed_away(messages: u64, expired: u64, reader: Option<(Pid, Option<Comm>)>) -> String {
    let rest = messages.saturating_sub(expired);
    let of_time = match (expired, rest) {
        (0, _) => String::new(),
        (_, 0) => ": their time was over by then (message expiry interval)".into(),
        (some, _) => {
            format!(": the time of {some} at least was over by then (message expiry interval)")
        }
    };
    let others = match (expired, rest) {
        (some, rest) if some >= rest => "",
        (0, _) => ": why is not visible; the queue for who is away may have been full",
        _ => {
            "; why the others were not is not visible: the queue for who is away may have been full"
        }
    };
    format!(
        "{} while {} was away, and not passed on to it when it came back, though the broker had kept its session{of_time}{others}",
        counted(messages, "message came", "messages came"),
        named(reader)
    )
}

/// The way in which a connection ended for a broker alone.
const RESET_BETWEEN: &str = "reset for the broker (RST), though its own socket is open: somebody between them, as a router that translates addresses or a firewall, has forgotten the connection or ended it";

/// The way in which a subscriber left that had got the messages before.
fn reader_left(
    reader: Option<(Pid, Option<Comm>)>,
    departure: Departure,
    is_abrupt: bool,
) -> String {
    let whom = named(reader);
    let how = match (departure, is_abrupt) {
        (Departure::Unsubscribed, _) => {
            return format!("{whom}, which had got those before, unsubscribed");
        }
        (Departure::Closed(ClosedBy::EndOfServer), _) => {
            return format!(
                "the broker was gone (nobody listened at its address, or another process has served there since), and with it the connection of {whom}, which had got those before"
            );
        }
        (Departure::Closed(ClosedBy::Between), _) => RESET_BETWEEN,
        (Departure::Closed(ClosedBy::Server), true) => {
            "closed by the broker without the protocol's farewell: the broker was ended, or it dropped this subscriber"
        }
        (Departure::Closed(ClosedBy::Server), false) => "closed by the broker",
        (Departure::Closed(ClosedBy::Reader), true) => {
            "closed without the protocol's farewell: the process was ended, or the connection broke"
        }
        (Departure::Closed(ClosedBy::Reader), false) => "closed",
    };
    format!("the connection of {whom}, which had got those before, was {how}")
}

/// The messages that one subscriber did not get, while it got those before and after.
fn missed(most: &MissedBy, name: Option<Comm>, others: (u64, u64)) -> String {
    let whom = named(most.pid.map(|pid| (pid, name)));
    let topic = most.topic.as_ref().map_or(String::new(), |topic| format!(" of {topic}"));
    let others_got = match (most.count.others_got, most.count.is_sure) {
        (true, true) => "; others got them",
        (true, false) => {
            "; others got them, and it is in no shared subscription whose other members are seen here"
        }
        (false, _) => "",
    };
    format!(
        "{} of {}{topic} were not passed on to {whom}, which got those before and after, the first of them after {}{others_got}{}",
        most.count.messages,
        messages(most.count.whole),
        most.from,
        other_times(others)
    )
}

/// The messages that a subscriber had not got when its connection was closed.
fn left_behind(most: &MostLeft, name: Option<Comm>, others: (u64, u64)) -> String {
    let MostLeft { lag, closed } = most;
    let whom = named(closed.pid.map(|pid| (pid, name)));
    let how = match (closed.by, closed.is_abrupt) {
        (ClosedBy::EndOfServer, _) => "the broker was gone, and its connection with it",
        (ClosedBy::Between, _) => {
            return format!(
                "{} published, the first {} ago, since the connection of {whom} was {RESET_BETWEEN}{}",
                counted(lag.messages(), "message was", "messages were"),
                lag.oldest,
                other_times(others)
            );
        }
        (ClosedBy::Server, _) => "the broker closed its connection",
        (ClosedBy::Reader, true) => "its connection ended without the protocol's farewell",
        (ClosedBy::Reader, false) => "it closed its connection",
    };
    format!(
        "{} had not been delivered to {whom} when {how}, the oldest for {}, held up by the {}{}",
        messages(lag.messages()),
        lag.oldest,
        HeldUpBy::from(lag.holder).name(),
        other_times(others)
    )
}

/// Messages that were not got at other times, after those that are told.
fn other_times((times, others): (u64, u64)) -> String {
    match times {
        0 => String::new(),
        1 => format!("; {} more another time", messages(others)),
        _ => format!("; {} more, {times} other times", messages(others)),
    }
}
