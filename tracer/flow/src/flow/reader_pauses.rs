//! Times in which a flow's receiver did not read it: it had no room, or said so.

use super::throttles::Throttles;
use wirelap_events::Nanos;
use wirelap_limits::network::WINDOW_REOPENED;

/// Times in which a flow's receiver did not read it. Most flows are always read.
#[derive(Debug, Default)]
pub struct ReaderPauses {
    /// TCP: the receiver last said that it has no room.
    pub closed_window: bool,
    /// From when on the receiver had no room the last time, or had it only for moments, and until when.
    shut: Option<Box<(Nanos, Option<Nanos>)>>,
    /// Times in which the receiver did not read, by its own word.
    pub throttles: Option<Box<Throttles>>,
}

impl ReaderPauses {
    /// Notes at time `at` whether the receiver has room, as it said.
    pub fn note_window(&mut self, has_room: bool, at: Nanos) {
        if self.closed_window != has_room {
            return;
        }
        self.closed_window = !has_room;
        let shut = match self.shut.as_deref().copied() {
            Some((from, None)) if has_room => (from, Some(at)),
            Some((from, Some(until))) if at < until + WINDOW_REOPENED => (from, None),
            _ => (at, None),
        };
        self.shut = Some(Box::new(shut));
    }

    /// From when on, and until when at most, the receiver had no room shortly before `limit`.
    pub fn shut_before(&self, limit: Nanos) -> Option<(Nanos, Nanos)> {
        let (from, until) = *self.shut.as_deref()?;
        let until = until.unwrap_or(limit).min(limit);
        (limit < until + WINDOW_REOPENED).then_some((from, until))
    }
}
