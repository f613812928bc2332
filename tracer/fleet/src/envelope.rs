//! The published form of an agent's stream: a frame, and how many events came before it.
//!
//! ```text
//! run (8 bytes, little endian) | events before (8 bytes, little endian) | kind of the frame (1 byte) | the frame
//! ```
//! Whatever drops frames on the way drops whole ones, so the next one that arrives tells how many events are missing.

use wirelap_hosts::stream::RawFrame;

/// A frame of one run of a host's agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// Number of the run, which no other run of this host has.
    pub run: u64,
    /// Number of events in all frames of the run before this one.
    pub before: u64,
    pub frame: RawFrame<'a>,
}

impl<'a> Envelope<'a> {
    pub fn read(bytes: &'a [u8]) -> Option<Envelope<'a>> {
        let (run, rest) = bytes.split_first_chunk()?;
        let (before, frame) = rest.split_first_chunk()?;
        let (run, before) = (u64::from_le_bytes(*run), u64::from_le_bytes(*before));
        Some(Envelope { run, before, frame: RawFrame::of_tagged(frame)? })
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.run.to_le_bytes(), self.before.to_le_bytes()].concat();
        self.frame.tagged(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_read_as_it_was_written_and_nothing_shorter() {
        let frame = RawFrame::of_tagged(b"\x05the end").unwrap();
        let envelope = Envelope { run: 7, before: 1 << 40, frame };
        let bytes = envelope.bytes();
        assert_eq!(Envelope::read(&bytes), Some(envelope));
        for len in 0..17 {
            assert_eq!(Envelope::read(&bytes[..len]), None, "{len}");
        }
    }
}
