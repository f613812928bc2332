//! Words of `serial_fanout`.

use super::VerdictWords;
use wirelap_correlate::Clause;
use wirelap_events::Nanos;

pub const WORDS: VerdictWords = VerdictWords {
    title: "subscribers served one after the other",
    short: "serial fan-out",
    means: "one thread sends a message to its subscribers one after the other, and the later ones wait",
    evidence: "when the same thread sent the message to the first subscriber: position in the fan-out, cost of each subscriber",
    helps: "fewer subscribers per thread or broker, shared subscriptions, multicast",
    remedy: |_| "spread the subscribers over several brokers or threads, or use multicast",
    own_remedy: |own, _| own.fan_out,
    clause: |clause| {
        Some(match clause {
            Clause::InTurn { readers, position, waited } => in_turn(*readers, *position, *waited),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

fn in_turn(readers: u32, position: u32, waited: Nanos) -> String {
    let before = position.saturating_sub(1).max(1);
    let each = Nanos(waited.0.checked_div(u64::from(before)).unwrap_or(0));
    format!(
        "one thread sends to {readers} subscribers one after the other, about {each} each: number {position} waited {waited}"
    )
}
