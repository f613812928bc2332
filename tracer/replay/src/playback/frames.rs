//! Frames of what was read, in as many steps of time as bounded memory holds.

use std::ops::Range;
use wirelap_events::{Nanos, Saturate};

/// Events in one step of time.
pub trait PlaybackFrame {
    /// About how much memory it takes, in bytes.
    fn bytes(&self) -> usize;

    /// Time that the slowest message took which was delivered in the frame; `None` if none was.
    fn slowest(&self) -> Option<Nanos>;

    /// Takes in the frame that follows.
    fn absorb(&mut self, later: Self);

    /// Forgets what can be left out, but not the slowest message.
    fn thin(&mut self);
}

/// Limits of the frames that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// The least time between two frames.
    pub interval: Nanos,
    /// The most frames.
    pub frames: usize,
    /// The most memory that they take, in bytes.
    pub bytes: usize,
}

impl Default for FrameLimits {
    /// Twelve seconds in steps of 5 ms, 24 seconds in steps of 10 ms, and so on: an hour in steps of 2.56 s.
    fn default() -> FrameLimits {
        FrameLimits { interval: Nanos::from_millis(5), frames: 2_400, bytes: 64 << 20 }
    }
}

/// The fewest frames that are merged for their memory: fewer would show nothing of the course of time.
const FEWEST: usize = 64;

/// Frames of what was read. If they take too much memory, all are thinned. If that is not enough, or there are too many frames,
/// each is merged with its neighbour and further ones cover twice the time.
#[derive(Debug)]
pub struct PlaybackFrames<T> {
    limits: FrameLimits,
    kept: Vec<T>,
    /// The end of each frame, from the beginning of the trace on. It does not decrease.
    ends: Vec<Nanos>,
    /// Beginning of the trace, by the clock of its events.
    since: Option<Nanos>,
    interval: Nanos,
    bytes: usize,
    merges: u32,
    is_thinned: bool,
    slowest: Option<(Nanos, Nanos)>,
}

impl<T: PlaybackFrame> PlaybackFrames<T> {
    /// No frames.
    pub fn new(limits: FrameLimits) -> PlaybackFrames<T> {
        PlaybackFrames {
            limits,
            kept: Vec::new(),
            ends: Vec::new(),
            since: None,
            interval: limits.interval,
            bytes: 0,
            merges: 0,
            is_thinned: false,
            slowest: None,
        }
    }

    /// Adds a frame that ends at a time. `since` is when the trace began; both are of the clock of the events.
    pub fn push(&mut self, since: Nanos, at: Nanos, mut frame: T) {
        let since = *self.since.get_or_insert(since);
        let end = (at - since).max(self.length());
        if let Some(slowest) = frame.slowest()
            && self.slowest.is_none_or(|(worst, _)| slowest > worst)
        {
            self.slowest = Some((slowest, end));
        }
        if self.is_thinned {
            frame.thin();
        }
        self.bytes.grow(frame.bytes());
        self.kept.push(frame);
        self.ends.push(end);
        if self.is_heavy() && !self.is_thinned {
            self.is_thinned = true;
            self.kept.iter_mut().for_each(PlaybackFrame::thin);
            self.bytes = weight(&self.kept);
        }
        while self.kept.len() > self.limits.frames.max(1)
            || self.is_heavy() && self.kept.len() > FEWEST
        {
            self.merge();
        }
    }

    fn is_heavy(&self) -> bool {
        self.bytes > self.limits.bytes
    }

    /// Merges each frame with its neighbour.
    fn merge(&mut self) {
        let mut merged: Vec<T> = Vec::with_capacity(self.kept.len().div_ceil(2));
        let mut ends: Vec<Nanos> = Vec::with_capacity(merged.capacity());
        let both = self.kept.drain(..).zip(self.ends.drain(..));
        for (index, (frame, end)) in both.enumerate() {
            match (merged.last_mut(), ends.last_mut()) {
                (Some(before), Some(until)) if index % 2 == 1 => {
                    before.absorb(frame);
                    if self.is_thinned {
                        before.thin();
                    }
                    *until = end;
                }
                _ => {
                    merged.push(frame);
                    ends.push(end);
                }
            }
        }
        self.bytes = weight(&merged);
        (self.kept, self.ends) = (merged, ends);
        self.interval = self.interval * 2;
        self.merges = self.merges.wrapping_add(1);
    }

    /// The time that a frame covers at least.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// The time from the beginning of the trace to the end of the last frame.
    pub fn length(&self) -> Nanos {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// True if there is no frame.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// About how much memory they take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of times that the frames were merged.
    pub fn merges(&self) -> u32 {
        self.merges
    }

    /// Number of frames that have ended by a time since the beginning of the trace.
    pub fn up_to(&self, position: Nanos) -> usize {
        self.ends.partition_point(|end| *end <= position)
    }

    /// Some of them; those that there are.
    pub fn get(&self, range: Range<usize>) -> &[T] {
        self.kept.get(range).unwrap_or_default()
    }

    /// Time that the slowest message took, and the time from the beginning of the trace to its delivery; `None` if there is no message.
    pub fn slowest(&self) -> Option<(Nanos, Nanos)> {
        let (slowest, at) = self.slowest?;
        // The frame that has it may have been merged with the next one, which ended later.
        let frame = self.ends.partition_point(|end| *end < at);
        Some((slowest, self.ends.get(frame).copied().unwrap_or(at)))
    }
}

fn weight<T: PlaybackFrame>(frames: &[T]) -> usize {
    frames.iter().map(PlaybackFrame::bytes).fold(0, usize::saturating_add)
}
