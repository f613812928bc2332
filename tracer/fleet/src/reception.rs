//! The frames that a collector has received of a host, so that it knows which are missing.

use crate::envelope::Envelope;

/// State of the stream of one host.
#[derive(Debug, Default)]
pub struct Reception {
    /// The run whose introduction has come.
    run: Option<u64>,
    /// Events before the next frame to all collectors, once one has come.
    expected: Option<u64>,
}

impl Reception {
    /// True if the present run has introduced itself.
    pub fn is_greeted(&self) -> bool {
        self.run.is_some()
    }

    /// Takes a frame. Returns the number of events that were lost before it; `None` if the frame is not to be passed on.
    pub fn take(&mut self, envelope: &Envelope<'_>) -> Option<u64> {
        let Envelope { run, before, frame } = *envelope;
        if frame.is_hello() {
            let is_new = self.run != Some(run);
            if is_new {
                *self = Reception { run: Some(run), expected: None };
            }
            return is_new.then_some(0);
        }
        // A run that ends before it has introduced itself tells why.
        if frame.is_end() && self.run.is_none_or(|of| of == run) {
            self.end();
            return Some(0);
        }
        if self.run != Some(run) {
            return None;
        }
        if frame.answer().is_some() {
            return Some(0);
        }
        let expected = self.expected.unwrap_or(before);
        let lost = before.checked_sub(expected)?;
        self.expected = Some(before.saturating_add(frame.events()));
        Some(lost)
    }

    /// The host has gone.
    pub fn end(&mut self) {
        *self = Reception::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_hosts::stream::RawFrame;

    const HELLO: &[u8] = b"\x01{}";
    const ANSWER: &[u8] = &[3; 25];
    const END: &[u8] = b"\x05bye";
    /// Records with five events.
    const RECORDS: &[u8] = &[2, 5, 0, 0, 0, 9];

    fn take(reception: &mut Reception, run: u64, before: u64, frame: &[u8]) -> Option<u64> {
        let frame = RawFrame::of_tagged(frame).unwrap();
        reception.take(&Envelope { run, before, frame })
    }

    #[test]
    fn what_is_missing_is_known_from_the_next_frame_that_comes() {
        let mut host = Reception::default();
        assert_eq!(take(&mut host, 1, 0, RECORDS), None, "nobody has introduced itself");
        assert_eq!(take(&mut host, 1, 100, HELLO), Some(0));
        assert_eq!(take(&mut host, 1, 100, HELLO), None, "twice");
        // Frames that were under way when this collector came are no loss.
        assert_eq!(take(&mut host, 1, 90, RECORDS), Some(0));
        assert_eq!(take(&mut host, 1, 95, RECORDS), Some(0));
        assert_eq!(take(&mut host, 1, 130, RECORDS), Some(30));
        assert_eq!(take(&mut host, 1, 130, RECORDS), None, "twice");
        assert_eq!(take(&mut host, 1, 0, ANSWER), Some(0));
        assert_eq!(take(&mut host, 1, 135, RECORDS), Some(0));
    }

    #[test]
    fn another_run_begins_anew() {
        let mut host = Reception::default();
        assert_eq!(take(&mut host, 1, 0, END), Some(0), "it could not begin");
        take(&mut host, 1, 0, HELLO);
        take(&mut host, 1, 0, RECORDS);
        assert_eq!(take(&mut host, 2, 0, RECORDS), None);
        assert_eq!(take(&mut host, 2, 0, END), None);
        assert_eq!(take(&mut host, 2, 0, HELLO), Some(0));
        assert_eq!(take(&mut host, 1, 5, RECORDS), None);
        assert_eq!(take(&mut host, 2, 0, RECORDS), Some(0));
        assert_eq!(take(&mut host, 2, 5, END), Some(0));
        assert!(!host.is_greeted());
        assert_eq!(take(&mut host, 2, 5, RECORDS), None);
    }
}
