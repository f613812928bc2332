//! A congestion window that a loss made smaller, until something else keeps it small.
//!
//! ```text
//! window  ━━━━┓ loss                    ┏━ as large as before
//!             ┃              ┏━━━━━━━━━━┛   or: round trips in which it would have been, if it had been used
//!             ┗━━━━━━━━━━━━━━┛              or: not full, or at rest: who sends does not use it
//! ```

use wirelap_events::{Nanos, TxState};
use wirelap_limits::network::RESTED_CONNECTION;

/// A congestion window that a loss made smaller, in segments.
#[derive(Clone, Copy, Debug)]
pub struct ShrunkWindow {
    /// The window before the loss.
    pub before: u32,
    /// The smallest window at a send since.
    pub least: u32,
    /// Time at which the last sign of a loss was seen.
    pub at: Nanos,
}

/// A send, as far as the congestion window matters to it.
#[derive(Clone, Copy, Debug)]
pub struct SendInWindow {
    /// Time of the send.
    pub at: Nanos,
    /// Time of the send before it.
    pub last: Option<Nanos>,
    /// State of the connection.
    pub state: TxState,
    /// Bytes that are sent.
    pub len: u64,
    /// The last round trip, if it is known.
    pub round_trip: Option<Nanos>,
}

impl SendInWindow {
    /// True if the window has no room for all that waits.
    pub fn is_full(&self) -> bool {
        let waiting = u64::from(self.state.unsent).saturating_add(self.len);
        let segments = waiting.div_ceil(u64::from(self.state.mss.max(1)));
        u64::from(self.state.segments_out).saturating_add(segments) > u64::from(self.state.cwnd)
    }

    /// True if nothing was sent for so long before it that TCP begins anew.
    fn ends_rest(&self) -> bool {
        let longest = RESTED_CONNECTION + self.round_trip.unwrap_or_default();
        self.state.segments_out == 0 && self.last.is_some_and(|last| self.at - last >= longest)
    }
}

impl ShrunkWindow {
    /// The window after a send, if it is still small because of the loss: it grows by a segment in each round trip at least, as long as it is
    /// full.
    pub fn still(self, send: &SendInWindow) -> Option<ShrunkWindow> {
        let now = send.state.cwnd;
        let shrunk = ShrunkWindow { least: self.least.min(now), ..self };
        let lost = u64::from(self.before.saturating_sub(shrunk.least));
        let is_over = send
            .round_trip
            .is_some_and(|time| send.at - self.at > Nanos(time.0.saturating_mul(lost)));
        (now < self.before && !is_over && !send.ends_rest()).then_some(shrunk)
    }
}

#[cfg(test)]
mod tests {
    use crate::marks::tcp::TcpMarks;
    use wirelap_events::{ByteRange, Nanos, Offset, TaskId, TxState};

    const MSS: u32 = 1_448;
    const BEFORE: u64 = 10 * MSS as u64;

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { start: Offset(start), end: Offset(end) }
    }

    /// A connection with a window of 100 segments, whose first one was lost and sent again after 20 ms.
    fn after_loss() -> TcpMarks {
        let mut marks = TcpMarks::new(100);
        let state = TxState { cwnd: 100, mss: MSS, ..TxState::default() };
        marks.send(range(0, BEFORE), Nanos(0), TaskId::default(), Some(state));
        let first = u64::from(MSS);
        marks.xmit(range(0, first), None, Nanos(0));
        marks.xmit(range(first, BEFORE), None, Nanos(0));
        marks.resent(range(0, first), Nanos::from_millis(20), None);
        marks
    }

    /// True for each of these sends if a loss had made its window smaller: at so many milliseconds, with so many segments under way, a window of
    /// so many, and so many bytes.
    fn shrunk(mut marks: TcpMarks, sends: &[(u64, u32, u32, u64)]) -> Vec<bool> {
        let mut start = BEFORE;
        let told = sends.iter().map(|&(at, segments_out, cwnd, len)| {
            let bytes = range(start, start + len);
            let state = TxState { segments_out, cwnd, mss: MSS, ..TxState::default() };
            marks.send(bytes, Nanos::from_millis(at), TaskId::default(), Some(state));
            start += len;
            marks.path(bytes).circumstances.loss.shrunk_window
        });
        told.collect()
    }

    /// The same after 40 ms, when all has been acknowledged.
    fn recovered(sends: &[(u64, u32, u32, u64)]) -> Vec<bool> {
        let mut marks = after_loss();
        marks.acknowledged(Offset(BEFORE), Nanos::from_millis(40));
        shrunk(marks, sends)
    }

    #[test]
    fn a_window_is_small_because_of_a_loss_until_it_is_not_used() {
        let full = (100, 10, 10, 100);
        assert_eq!(recovered(&[full, (140, 11, 11, 100)]), [true, true]);
        assert_eq!(recovered(&[full, (140, 10, 100, 100)]), [true, false]);
        let unused = [full, (140, 3, 10, 100), (150, 10, 10, 100)];
        assert_eq!(recovered(&unused), [true, false, false]);
        // Until the loss is made good, there is no other reason.
        assert_eq!(shrunk(after_loss(), &[(30, 3, 10, 100), (35, 10, 10, 100)]), [true, true]);
    }

    #[test]
    fn a_connection_that_rests_begins_anew() {
        let burst = |at| [(100, 10, 10, 100), (at, 0, 10, 100_000)];
        assert_eq!(recovered(&burst(300)), [true, true]);
        assert_eq!(recovered(&burst(500)), [true, false]);
    }

    /// A window that lost 90 segments grows back within 90 round trips of 40 ms.
    #[test]
    fn a_window_that_does_not_grow_back_is_small_for_another_reason() {
        let later = |at| [(100, 10, 10, 100), (at, 10, 10, 100)];
        assert_eq!(recovered(&later(3_500)), [true, true]);
        assert_eq!(recovered(&later(3_700)), [true, false]);
    }
}
