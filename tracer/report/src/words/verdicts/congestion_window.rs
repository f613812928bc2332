//! Words of `congestion_window`.

use super::VerdictWords;
use wirelap_correlate::{Clause, Verdict, Why};
use wirelap_events::{AckRoundTrip, TxState};

pub const WORDS: VerdictWords = VerdictWords {
    title: "congestion window full",
    short: "cwnd",
    means: "TCP may not have more segments under way, and no queue was seen that is the reason",
    evidence: "`snd_cwnd` and the segments out; what a round trip took then, and the shortest one: if it was longer, or not seen, a slow link may be why",
    helps: "no idle pauses on the connection, less loss",
    remedy: |_| "keep connections open and busy (net.ipv4.tcp_slow_start_after_idle=0), and find what loses packets",
    of_verdict: may_be_slow_link,
    clause: |clause| {
        Some(match clause {
            Clause::CongestionWindow { tx, bytes } => congestion(tx, *bytes),
            Clause::RoundTrip(trip) => round_trip(*trip),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// The remedy where the window was full, perhaps only because a link takes no more.
fn may_be_slow_link(verdict: &Verdict, _why: &Why) -> Option<String> {
    let is_known = |clause: &Clause| {
        let Clause::RoundTrip(Some(trip)) = clause else { return false };
        trip.is_short()
    };
    let may_be = !verdict.evidence.iter().any(is_known);
    may_be.then(|| "see whether a link on the path is slow or busy (`ss -ti` shows its round trips and rate); if not, keep connections open and busy (net.ipv4.tcp_slow_start_after_idle=0), and find what loses packets".into())
}

fn congestion(tx: &TxState, bytes: u32) -> String {
    let waiting = tx.unsent.saturating_add(bytes);
    if tx.segments_out > tx.cwnd {
        return format!(
            "{} segments of {} B were under way, and the congestion window had since been cut to {}: nothing more could leave before ACKs came",
            tx.segments_out, tx.mss, tx.cwnd
        );
    }
    format!(
        "{} of {} segments that the congestion window allowed were under way, of {} B each, when {waiting} B were to be sent{}",
        tx.segments_out,
        tx.cwnd,
        tx.mss,
        if tx.in_flight == 0 { " after a rest, which makes it small again" } else { "" }
    )
}

/// The possible reason for a full congestion window, by what a round trip took.
fn round_trip(trip: Option<AckRoundTrip>) -> String {
    match trip {
        Some(trip @ AckRoundTrip { time, least, .. }) if trip.is_short() => format!(
            "a round trip took {time} then, and {least} at the shortest: no queue on the path was in the way"
        ),
        Some(AckRoundTrip { time, least, .. }) => format!(
            "a round trip took {time} then, and {least} at the shortest that was seen: a slow link on the path may be why the window is full"
        ),
        None => "what a round trip took was not seen: a slow link on the path may be why the window is full".into(),
    }
}
