//! A stretch of time that is cut off from its beginning.

use wirelap_events::Nanos;

/// A stretch of time that is cut off from its beginning.
pub struct Span {
    pub from: Nanos,
    pub to: Nanos,
    /// From when on its thread sent the message to others.
    pub fan_out: Nanos,
}

impl Span {
    /// Time of the span before `until`.
    pub fn left_until(&self, until: Nanos) -> Nanos {
        until.min(self.to) - self.from
    }

    /// Cuts off what lies before `until`.
    pub fn advance(&mut self, until: Nanos) -> Nanos {
        let until = until.clamp(self.from, self.to);
        let cut = until - self.from;
        self.from = until;
        cut
    }
}
