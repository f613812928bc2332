//! Words of `broker_cpu_bound`.

use super::VerdictWords;

pub const WORDS: VerdictWords = VerdictWords {
    title: "broker short of CPU",
    short: "broker's CPU",
    means: "the broker's threads work all the time, or repeatedly work long on a message",
    evidence: "their time on the CPU; many messages, and threads that work a large share of the time",
    helps: "more threads, a faster broker, less work per message",
    remedy: |_| "give the broker more CPU, share its load among several, or send fewer, larger messages",
    own_remedy: |own, broker| broker.and_then(|known| known.cpu).or(own.broker_cpu),
    ..VerdictWords::USUAL
};
