//! Frames that wait to be sent: while the network is too slow, the oldest are dropped.

use std::collections::VecDeque;
use std::time::Duration;

/// The most bytes that wait.
const MAX_BYTES: usize = 32 << 20;

/// The longest time for which a frame waits. The events of one that is older would come too late to be put in order.
const MAX_AGE: Duration = Duration::from_secs(4);

/// Frames that wait, the oldest first.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Each with the time at which it came.
    waiting: VecDeque<(Duration, Vec<u8>)>,
    bytes: usize,
    dropped: u64,
}

impl Outbox {
    /// Puts a frame in at a time, behind all others.
    pub fn push(&mut self, now: Duration, frame: Vec<u8>) {
        self.bytes = self.bytes.saturating_add(frame.len());
        self.waiting.push_back((now, frame));
        while self.bytes > MAX_BYTES
            || self.oldest().is_some_and(|at| now.saturating_sub(at) > MAX_AGE)
        {
            self.take_oldest();
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Takes the oldest frame out.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.take_oldest()
    }

    /// Number of frames that were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn oldest(&self) -> Option<Duration> {
        self.waiting.front().map(|(at, _)| *at)
    }

    fn take_oldest(&mut self) -> Option<Vec<u8>> {
        let (_, frame) = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(frame.len());
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_when_they_are_too_many_or_too_old() {
        let mut outbox = Outbox::default();
        let second = Duration::from_secs(1);
        for number in 0..5 {
            outbox.push(second * number, vec![u8::try_from(number).unwrap()]);
        }
        assert_eq!(outbox.dropped(), 0);
        outbox.push(second * 5, vec![5]);
        assert_eq!((outbox.dropped(), outbox.pop()), (1, Some(vec![1])));
        outbox.push(second * 5, vec![6; MAX_BYTES]);
        assert_eq!(outbox.dropped(), 5, "2, 3, 4 and 5 made room");
        assert_eq!(outbox.pop().map(|frame| frame.len()), Some(MAX_BYTES));
        assert_eq!((outbox.pop(), outbox.bytes), (None, 0));
    }
}
