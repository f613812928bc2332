//! Words of `duplicates`.

use super::super::phrases::{counted, named};
use super::VerdictWords;
use wirelap_correlate::{Clause, Severity, Verdict};
use wirelap_events::{Comm, Pid};
use wirelap_protocols::PutBack;

pub const WORDS: VerdictWords = VerdictWords {
    title: "duplicates",
    short: "duplicates",
    means: "delivered or sent more than once; a note where all were sent again with numbers by which a log stores each once (Kafka)",
    evidence: "the protocol's marks, repeated numbers; in MQTT, what the same client identifier had got on an earlier connection; in AMQP, why the broker sent messages again: refused, or not acknowledged when the channel or connection ended; in JetStream: refused, or without an answer within the consumer's `ack_wait`; between brokers: a bridge hands a message back to the broker that had sent it on, on the same topic",
    helps: "longer retry intervals, acknowledge in time",
    title_of: |verdict| is_stored_once(verdict).then_some("messages sent again"),
    of_verdict: |verdict, _| {
        let own = if is_loop(verdict) { Some(LOOP) } else { None };
        own.or(is_stored_once(verdict).then_some(STORED_ONCE)).map(str::to_owned)
    },
    remedy: |_| "acknowledge in time, and tell duplicates by an id of your own",
    own_remedy: |own, _| own.duplicates,
    clause: |clause| {
        Some(match clause {
            Clause::Repeated { repeats, sent } => {
                format!(
                    "{repeats} times, a message was sent or delivered again by the protocol ({sent} messages were sent)"
                )
            }
            Clause::StoredOnce(times) => format!(
                "{} with numbers by which the broker stores each message once, so that nobody gets it twice: it had refused the message before, or had not answered in time",
                counted(*times, "of these was sent", "of these were sent")
            ),
            Clause::Redelivered { times, sent } => {
                format!(
                    "{} ({sent} messages were sent)",
                    counted(
                        *times,
                        "time, the broker delivered a message again",
                        "times, the broker delivered a message again"
                    )
                )
            }
            Clause::PutBack { messages, why, by, has_others } => {
                let others = if *has_others { " and of others" } else { "" };
                put_back(*messages, *why, &format!("{}{others}", named(*by)))
            }
            Clause::Looped { times, between } => looped(*times, *between),
            Clause::PutBackUnseen(messages) => {
                format!("why it delivered {messages} of them again was not seen")
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// True if all that was sent again is stored once.
fn is_stored_once(verdict: &Verdict) -> bool {
    let is_told = |clause: &Clause| matches!(clause, Clause::StoredOnce(_));
    verdict.severity == Severity::Note && verdict.evidence.iter().any(is_told)
}

/// True if bridges hand messages round.
fn is_loop(verdict: &Verdict) -> bool {
    verdict.evidence.iter().any(|clause| matches!(clause, Clause::Looped { .. }))
}

/// The remedy where bridges hand messages round.
const LOOP: &str = "let each topic cross the bridges one way only (`in` or `out` in place of `both` at one of the brokers), or give it a prefix of its own on each side";

/// The remedy where all that was sent again is stored once.
const STORED_ONCE: &str = "nothing, where it is rare; else see what the broker answers (copies that are missing, a transaction that still ends) and how late (`request.timeout.ms`)";

/// Why a server put messages back that a client had got.
fn put_back(messages: u64, why: PutBack, by: &str) -> String {
    let left = counted(messages, "message", "messages");
    match why {
        PutBack::Refused => format!(
            "{by} put {left} back (AMQP: basic.nack or basic.reject with requeue, or basic.recover; JetStream: a NAK)"
        ),
        PutBack::ChannelClosed => {
            format!("{left} had no acknowledgement when {by} closed the channel")
        }
        PutBack::ClosedByServer => format!(
            "{left} had no acknowledgement when the broker closed the channel or connection of {by}"
        ),
        PutBack::ConnectionEnded => {
            format!("{left} had no acknowledgement when the connection of {by} ended")
        }
        PutBack::NotInTime => {
            format!("{by} had not acknowledged {left} within the consumer's `ack_wait`")
        }
    }
}

/// A message came back to a server that had sent it on, from another one.
fn looped(times: u64, between: Option<[(Pid, Option<Comm>); 2]>) -> String {
    let unknown = || ["a broker", "another broker"].map(str::to_owned);
    let [server, bridge] =
        between.map_or_else(unknown, |between| between.map(|one| named(Some(one))));
    format!(
        "{}, {bridge} handed a message back to {server}, which had sent it on, on the same topic: their bridges are a loop, whose rounds are in all counts of messages and deliveries",
        counted(times, "time", "times")
    )
}
