//! Words of `release_wait`.

use super::VerdictWords;
use wirelap_correlate::{Clause, VerdictKind};

pub const WORDS: VerdictWords = VerdictWords {
    title: "waiting for the publisher's PUBREL or commit",
    short: "release wait",
    means: "MQTT QoS 2 and AMQP transactions: the broker has the message and may not deliver it before the publisher's PUBREL or `tx.commit`",
    evidence: "the process that sends the PUBREL, from when it had the PUBREC, or the commit; nobody, where the PUBREC was on its way or that was not seen",
    helps: "QoS 1, or AMQP's confirms, where a repetition does no harm; find what keeps the publisher",
    remedy: |_| "QoS 2 and transactions take a second step before the broker may deliver: use QoS 1, or confirms in place of AMQP's tx, where a repetition does no harm, or find what keeps the publisher's PUBREL or commit: a busy publisher, or one without TCP_NODELAY",
    clause: |clause| {
        Some(match clause {
            Clause::NotReleased => "the broker had the message, and the publisher had not sent what lets it deliver (MQTT's PUBREL, AMQP's tx.commit)".into(),
            Clause::ReleaseUnseen => "the broker had the message, and what lets it deliver (MQTT's PUBREL, AMQP's tx.commit) had not come from the publisher; how long that took the publisher itself is not known".into(),
            Clause::ReceiptInSocket { waited, by } => format!(
                "the broker had read the PUBLISH, and its PUBREC, which the publisher has to have before it sends the PUBREL, waited {waited} in the broker's socket{}",
                match by {
                    Some(VerdictKind::NagleDelayedAck) => ": Nagle's algorithm kept it until bytes before it were acknowledged",
                    Some(VerdictKind::ReceiveWindow) => ": the publisher's socket had no room for it",
                    _ => "",
                }
            ),
            Clause::ReceiptUnderWay(time) => format!(
                "the broker had read the PUBLISH, and its PUBREC, which the publisher has to have before it sends the PUBREL, was on its way for {time}"
            ),
            Clause::ReleaseWaitedForCpu(waited) => {
                format!("of the longest, the publisher's threads waited {waited} for a CPU")
            }
            Clause::ReleaseInSocket { waited, nagle: true } => format!(
                "the publisher had sent the PUBREL or commit that lets the broker deliver, and for {waited} Nagle's algorithm kept it in the publisher's socket, because bytes before it were not acknowledged: TCP_NODELAY is not set there"
            ),
            Clause::ReleaseInSocket { waited, nagle: false } => format!(
                "the publisher had sent the PUBREL or commit that lets the broker deliver, and it waited {waited} in the publisher's socket"
            ),
            Clause::ReleaseUnderWay(time) => format!(
                "the PUBREL or commit that lets the broker deliver was on its way from the publisher for {time}"
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
