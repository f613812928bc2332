//! The position in a trace: it plays, pauses and is moved.

use wirelap_events::Nanos;

/// The slowest and the fastest speed, as powers of two: from 1/64 to 4096.
const SPEEDS: (i8, i8) = (-6, 12);

/// The parts that a trace has when it is moved through in steps.
const STEPS: u64 = 50;

/// The position in a trace. While the files are read, it is at the end of what was read, until the user moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    position: Nanos,
    length: Nanos,
    /// The speed as a power of two.
    speed: i8,
    is_playing: bool,
    /// True if more may be read.
    is_growing: bool,
    /// True if the position stays at the end of what was read.
    follows: bool,
}

impl Default for Player {
    fn default() -> Player {
        Player {
            position: Nanos(0),
            length: Nanos(0),
            speed: 0,
            is_playing: false,
            is_growing: true,
            follows: true,
        }
    }
}

impl Player {
    /// The time from the beginning of the trace to the position.
    pub fn position(&self) -> Nanos {
        self.position
    }

    /// The length of what was read.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// Speed of the trace, as a multiple of the speed at which it was recorded.
    pub fn speed(&self) -> f64 {
        f64::from(self.speed).exp2()
    }

    /// True if the position moves by itself.
    pub fn is_playing(&self) -> bool {
        self.is_playing
    }

    /// True if the position stays at the end of what was read.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// More was read.
    pub fn extend(&mut self, length: Nanos) {
        self.length = self.length.max(length);
        if self.follows {
            self.position = self.length;
        }
    }

    /// Everything was read.
    pub fn complete(&mut self) {
        self.is_growing = false;
        self.follows = false;
    }

    /// Time has passed. At the end of the trace, playing ends.
    pub fn advance(&mut self, elapsed: Nanos) {
        if !self.is_playing {
            return;
        }
        // A trace of 2⁵³ ns is 104 days long; of a longer one, steps are rounded.
        let step = Nanos::from_f64(elapsed.0 as f64 * self.speed());
        self.position = self.within((self.position + step).0);
        if self.position == self.length && !self.is_growing {
            self.is_playing = false;
        }
    }

    /// Plays, or pauses. At the end of the trace, it plays from the beginning.
    pub fn play_pause(&mut self) {
        self.is_playing = !self.is_playing;
        self.follows = false;
        if self.is_playing && self.position == self.length && !self.is_growing {
            self.position = Nanos(0);
        }
    }

    /// Pauses.
    pub fn pause(&mut self) {
        self.is_playing = false;
    }

    /// Twice as fast.
    pub fn faster(&mut self) {
        self.speed = self.speed.saturating_add(1).min(SPEEDS.1);
    }

    /// Half as fast.
    pub fn slower(&mut self) {
        self.speed = self.speed.saturating_sub(1).max(SPEEDS.0);
    }

    /// Moves forward by a fiftieth of the trace, at least by `least`.
    pub fn forward(&mut self, least: Nanos) {
        self.seek(self.position + Nanos(self.step(least)));
    }

    /// Moves back by a fiftieth of the trace, at least by `least`.
    pub fn back(&mut self, least: Nanos) {
        self.seek(self.position - Nanos(self.step(least)));
    }

    fn step(&self, least: Nanos) -> u64 {
        (self.length.0 / STEPS).max(least.0)
    }

    /// Moves to a time since the beginning of the trace.
    pub fn seek(&mut self, position: Nanos) {
        self.position = self.within(position.0);
        self.follows = false;
    }

    /// Moves to the end, and stays there while more is read.
    pub fn seek_end(&mut self) {
        self.position = self.length;
        self.follows = self.is_growing;
    }

    fn within(&self, position: u64) -> Nanos {
        Nanos(position).min(self.length)
    }
}
