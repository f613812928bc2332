//! The publisher has not released the message yet, and the broker may not pass it on: MQTT's `QoS` 2, AMQP's transactions.
//!
//! The cause is found by the PUBREL or commit of the message: when it was sent, and how long it was in its sender's socket and on its way. Until the
//! publisher has the PUBREC, nobody is late.

mod blame;

use crate::awaited::Awaited;
use crate::clause::Clause;
use crate::definition::Definition;
use crate::finding::Finding;
use crate::kind::VerdictKind;
use wirelap_events::Receipt;
use wirelap_limits::causes::NOTICEABLE_TIME;
use wirelap_limits::kinds::RELEASE_WAIT;

pub const DEFINITION: Definition = Definition {
    limits: Some(RELEASE_WAIT),
    facts: |case| case.often_and(released(case.finding)),
    ..Definition::USUAL
};

fn released(finding: &Finding) -> Vec<Clause> {
    let Some(release) = finding.longest.circumstances.permission.release else {
        return vec![Clause::NotReleased];
    };
    match finding.mostly_awaited() {
        Awaited::UnseenRelease => return vec![Clause::ReleaseUnseen],
        Awaited::Receipt => return release.receipt.iter().map(confirmed).collect(),
        _ => {}
    }
    let (held, under_way) = (release.left - release.sent, release.arrived - release.left);
    // The longest part is one of three.
    if finding.longest.time <= held {
        return vec![Clause::ReleaseInSocket { waited: held, nagle: release.nagle }];
    }
    if finding.longest.time <= under_way {
        return vec![Clause::ReleaseUnderWay(under_way)];
    }
    let waited = release.waited;
    let for_cpu = (waited >= NOTICEABLE_TIME).then_some(Clause::ReleaseWaitedForCpu(waited));
    std::iter::once(Clause::NotReleased).chain(for_cpu).collect()
}

/// The broker's confirmation had not come to the publisher.
fn confirmed(receipt: &Receipt) -> Clause {
    let in_socket = receipt.left - receipt.sent;
    let under_way = receipt.arrived.unwrap_or(receipt.left) - receipt.left;
    if in_socket < under_way {
        return Clause::ReceiptUnderWay(under_way);
    }
    let window = receipt.is_window_full.then_some(VerdictKind::ReceiveWindow);
    let nagle = receipt.nagle.then_some(VerdictKind::NagleDelayedAck);
    Clause::ReceiptInSocket { waited: in_socket, by: window.or(nagle) }
}
