//! Words of `nagle_delayed_ack`.

use super::super::phrases::own_remedies;
use super::VerdictWords;
use wirelap_correlate::{Clause, Remedy};
use wirelap_events::{Nagle, TxState};
use wirelap_protocols::{Remedies, broker};

pub const WORDS: VerdictWords = VerdictWords {
    title: "Nagle against delayed ACK",
    short: "Nagle",
    means: "the sender's TCP holds a short segment back until the peer acknowledges the one before, and the peer delays that by up to 40 ms",
    evidence: "TCP_NODELAY was off and bytes unacknowledged at the send; it left when the ACK came",
    helps: "TCP_NODELAY at whoever sends: client *or* broker",
    of_verdict: |verdict, why| {
        let Remedy::Usual(circumstance) = verdict.remedy else { return None };
        Some(remedy(own_remedies(why), why.broker.as_deref().filter(|_| circumstance.at_broker)))
    },
    remedy: |_| "set TCP_NODELAY on the sending socket",
    clause: |clause| {
        Some(match clause {
            Clause::Nagle { tx, was_acked } => held_back(tx, *was_acked),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// Against Nagle's algorithm, in a broker or in a client.
fn remedy(own: &Remedies, at_broker: Option<&str>) -> String {
    let Some(name) = at_broker.filter(|name| !name.is_empty()) else {
        return own.nagle.unwrap_or("set TCP_NODELAY on the sending socket").to_owned();
    };
    let known = broker(name).and_then(|broker| broker.nagle);
    known.map_or_else(|| format!("set TCP_NODELAY on the sockets of {name}"), str::to_owned)
}

fn held_back(tx: &TxState, was_acked: bool) -> String {
    let state = match tx.nagle {
        Nagle::On => "TCP_NODELAY was not set",
        Nagle::Off => "TCP_NODELAY was set",
        Nagle::Corked => "TCP_CORK was set",
    };
    let ended = if was_acked {
        "when their ACK came"
    } else {
        "before their ACK, when enough for a whole segment had come together"
    };
    format!("{state}, {} B were unacknowledged, and it was sent {ended}", tx.in_flight)
}
