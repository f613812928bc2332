//! Facts that decide which of several messages of equal content a server has sent.

use wirelap_events::Nanos;
use wirelap_limits::deliveries::USUAL_DWELL_SLACK;

/// The way in which a server handed on the messages of a topic to one of its readers so far.
#[derive(Clone, Copy, Debug)]
pub struct Habit {
    /// Time at which the reader got the first of them.
    pub since: Nanos,
    /// The longest time that a message takes of which no other one with its content waits.
    pub dwell: Option<Nanos>,
}

impl Habit {
    /// True if it is no longer than usual.
    pub fn is_usual(self, time: Nanos) -> bool {
        self.dwell.is_none_or(|dwell| time <= dwell + dwell + USUAL_DWELL_SLACK)
    }
}

/// Messages of equal content that came to a server, and what it sent of them one way. Its memory is used again.
#[derive(Debug, Default)]
pub struct Turn {
    /// Messages, and when each came.
    pub came: Vec<(usize, Nanos)>,
    /// Legs, and the places of their messages among those that came.
    pub sent: Vec<(usize, usize)>,
    /// Legs that go to another message together.
    pub moved: Vec<usize>,
}
