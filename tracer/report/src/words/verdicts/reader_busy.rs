//! Words of `reader_busy`.

use super::VerdictWords;

pub const WORDS: VerdictWords = VerdictWords {
    title: "reader busy in its own code",
    short: "reader busy",
    means: "the reader was busy with something else",
    evidence: "it ran, and read, requested more or acknowledged later",
    helps: "shorter callbacks, another thread",
    remedy: |_| "do less in the receiving callback, hand messages to other threads, or share them among more subscribers",
    ..VerdictWords::USUAL
};
