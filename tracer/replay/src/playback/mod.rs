//! A replay that a screen shows: what was read, in steps of time, and the position in it.
//!
//! | module | what |
//! |---|---|
//! | `frames` | what was read, in as many steps as bounded memory holds |
//! | `player` | the position, which plays, pauses and is moved |
//! | `reading` | reads the files on a thread of its own |
//!
//! ```text
//!  files ─▶ reading ─▶ frames ■■■■■■■■■■■■■■■■■■■■■■ ◀─ more are added while the files are read
//!                              handed out ─▶│
//!                                        player: position, speed
//! ```

mod frames;
mod player;
mod reading;

pub use frames::{FrameLimits, PlaybackFrame, PlaybackFrames};
pub use player::Player;
pub use reading::{FileReading, ReadingState};

use wirelap_events::Nanos;

/// Frames of what was read, and the position up to which they are shown.
#[derive(Debug)]
pub struct Playback<T> {
    frames: PlaybackFrames<T>,
    player: Player,
    /// Number of frames that were handed out since the last restart.
    given: usize,
    /// Number of times that frames had been merged at the last restart.
    merges: u32,
    /// True if everything that was handed out is void.
    is_void: bool,
}

impl<T: PlaybackFrame> Playback<T> {
    /// Nothing was read yet.
    pub fn new(limits: FrameLimits) -> Playback<T> {
        let (frames, player) = (PlaybackFrames::new(limits), Player::default());
        Playback { frames, player, given: 0, merges: 0, is_void: false }
    }

    /// Frames of what was read.
    pub fn frames(&self) -> &PlaybackFrames<T> {
        &self.frames
    }

    /// The position.
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// Adds a frame that ends at a time. `since` is when the trace began.
    pub fn push(&mut self, since: Nanos, at: Nanos, frame: T) {
        self.frames.push(since, at, frame);
        self.player.extend(self.frames.length());
    }

    /// Everything was read.
    pub fn complete(&mut self) {
        self.player.complete();
    }

    /// Moves the position by a time that has passed.
    pub fn advance(&mut self, elapsed: Nanos) {
        self.player.advance(elapsed);
    }

    /// Changes the position or the speed.
    pub fn control(&mut self, change: impl FnOnce(&mut Player)) {
        change(&mut self.player);
        self.notice_restart();
    }

    /// Moves to just after the slowest message, and pauses there. Returns how long that took; `None` if there is none.
    pub fn seek_worst(&mut self) -> Option<Nanos> {
        let (slowest, at) = self.frames.slowest()?;
        self.control(|player| {
            player.seek(at);
            player.pause();
        });
        Some(slowest)
    }

    /// True if everything that was handed out before is void: the position was moved back, or frames were merged.
    /// [`Playback::take`] then begins again with the first frame.
    pub fn has_restarted(&mut self) -> bool {
        self.notice_restart();
        std::mem::take(&mut self.is_void)
    }

    /// Hands out the frames up to the position that were not handed out yet, the oldest first.
    pub fn take(&mut self, out: &mut dyn FnMut(&T)) {
        self.notice_restart();
        if self.is_void {
            // The caller has to forget what it has first.
            return;
        }
        let end = self.due();
        let new = self.frames.get(self.given..end);
        for frame in new {
            out(frame);
        }
        self.given = end.max(self.given);
    }

    /// Number of frames that the position covers: at least one if there are any, because a screen without figures says nothing.
    fn due(&self) -> usize {
        let ended = self.frames.up_to(self.player.position());
        ended.max(1).min(self.frames.len())
    }

    fn notice_restart(&mut self) {
        if self.merges != self.frames.merges() || self.due() < self.given {
            self.is_void |= self.given > 0;
            self.given = 0;
            self.merges = self.frames.merges();
        }
    }
}

#[cfg(test)]
mod tests;
