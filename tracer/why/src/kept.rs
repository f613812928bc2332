//! Messages that their publisher's library kept before it sent them, by the times that the messages have from their publisher.
//!
//! ```text
//!   made          the last reply was read          written
//!   ──┬───────────────────┬───────────────────────────┬────▶  the sending thread
//!     └───── awaited ─────┴─────── kept: asleep ──────┘
//! ```
//!
//! Where each message is written as soon as a reply is there, the library has as many requests under way as it may, and that is what the message
//! waited for.
//!
//! Such a time is no observation: an application may set it. What was made after it was sent, long ago, before its connection was opened, or
//! before the message ahead of it in its log, shows that.

use super::weigh::ratio;
use wirelap_events::{Nanos, Saturate};
use wirelap_figures::Distribution;
use wirelap_limits::rules::{
    CLOCK_STEP, GATHERED, GATHERED_DIVISOR, LONGEST_KEPT, MAX_UNLIKELY_SHARE,
};

/// Times for which messages of a row were kept.
#[derive(Clone, Debug)]
pub struct KeptTimes {
    pub(super) times: Distribution,
    /// Times for which they waited for the reply to earlier ones; 0 where it is not the reply that they were written after.
    pub(super) awaited: Distribution,
    /// Messages whose times cannot be those of their publication.
    unlikely: u64,
}

impl KeptTimes {
    pub(super) fn new() -> KeptTimes {
        KeptTimes { times: Distribution::new(2), awaited: Distribution::new(2), unlikely: 0 }
    }

    /// Adds a message that was `made` and `written` at these times; `kept` is the part of the time between in which nothing else kept it, and
    /// `awaited` that in which it waited for a reply.
    pub fn add(&mut self, made: Nanos, written: Nanos, kept: Nanos, awaited: Nanos) {
        if made > written + CLOCK_STEP || made + LONGEST_KEPT < written {
            self.add_unlikely();
        } else {
            self.times.add(kept.0);
            self.awaited.add(awaited.0);
        }
    }

    /// Adds a message whose time cannot be that of its publication.
    pub fn add_unlikely(&mut self) {
        self.unlikely.grow(1);
    }

    /// True if the times are those of the publication, as far as they tell.
    pub(super) fn are_likely(&self) -> bool {
        let all = self.times.count().saturating_add(self.unlikely);
        ratio(self.unlikely as f64, all as f64) <= MAX_UNLIKELY_SHARE
    }

    /// True if some are sent at once, and others, which came before them, only then.
    pub(super) fn are_gathered(&self) -> bool {
        let (shortest, longest) = GATHERED;
        self.times.quantile(shortest) <= self.times.quantile(longest) / GATHERED_DIVISOR
    }

    pub(super) fn merge(&mut self, other: &KeptTimes) {
        self.times.merge(&other.times);
        self.awaited.merge(&other.awaited);
        self.unlikely.grow(other.unlikely);
    }
}
