//! The bytes of a conversation that could not be read.

use wirelap_events::Saturate;

/// The parts of a conversation that could not be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Observations that had to be forgotten.
    pub mark_evictions: u64,
    /// Payload bytes that were not captured.
    pub uncaptured: u64,
    /// Bytes that no frame was found in.
    pub undecoded: u64,
}

/// Counts of a conversation's bytes that could not be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct HiddenBytes {
    /// Payload bytes that were not captured.
    pub uncaptured: u64,
    /// Bytes that passed before the conversation was recognised and were not kept.
    pub skipped: u64,
    /// Undecoded bytes of streams of the conversation that are not the one that is read now.
    pub elsewhere: u64,
    /// Packets of QUIC that could not be read, or did not come.
    pub unread_packets: u64,
    /// Undecoded bytes that passed while observation was paused.
    paused: u64,
    /// The part of `uncaptured` and of the undecoded bytes that [`HiddenBytes::take`] has told.
    told: (u64, u64),
}

impl HiddenBytes {
    /// Bytes that no frame was found in, of so many that the decoder did not find one in. Those of a pause on purpose are left out.
    pub fn undecoded(&self, by_decoder: u64) -> u64 {
        let all = by_decoder.saturating_add(self.skipped).saturating_add(self.elsewhere);
        all.saturating_sub(self.paused)
    }

    /// Adds undecoded bytes that passed while observation was paused.
    pub fn add_paused(&mut self, bytes: u64) {
        self.paused.grow(bytes);
    }

    /// Forgets what could not be read so far: it is in no figure.
    pub fn forget(&mut self, by_decoder: u64) {
        self.add_paused(self.undecoded(by_decoder));
        (self.uncaptured, self.unread_packets) = (0, 0);
        self.told = (0, self.undecoded(by_decoder));
    }

    /// Takes the counts since the last call.
    pub fn take(&mut self, by_decoder: u64) -> Hidden {
        let now = (self.uncaptured, self.undecoded(by_decoder));
        let before = std::mem::replace(&mut self.told, now);
        Hidden {
            uncaptured: now.0.saturating_sub(before.0),
            undecoded: now.1.saturating_sub(before.1),
            mark_evictions: 0,
        }
    }
}
