//! 32-bit sequence numbers → 64-bit offsets.

use wirelap_events::{Offset, Seq};

/// A jump of more than the largest receive window (RFC 7323 §2.3: 2^30 bytes) is no part of the
/// flow that it claims to belong to.
const FARTHEST: u32 = 1 << 30;

/// Unwraps one direction's sequence numbers around the farthest byte seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwrap {
    farthest: Option<(Seq, Offset)>,
    /// The offset at which the flow goes on with the next number, if it is not known how far that
    /// is.
    lost: Option<Offset>,
}

impl Unwrap {
    /// True if any sequence number was seen.
    pub fn is_based(&self) -> bool {
        self.farthest.is_some()
    }

    /// The distance of `seq` from where the flow is. `None` while no number was seen.
    pub fn distance(&self, seq: Seq) -> Option<u32> {
        let (near, _) = self.farthest?;
        Some(seq.distance_from(near).unsigned_abs())
    }

    /// The farthest number seen.
    pub fn farthest(&self) -> Option<Seq> {
        Some(self.farthest?.0)
    }

    /// Goes on at `seq`, however far that is.
    pub fn jump(&mut self, seq: Seq) {
        let at = self.farthest.map_or(Offset::START, |(_, at)| at.plus(FARTHEST.into()));
        self.farthest = Some((seq, at));
    }

    /// Goes on at the next number that is seen, however far that is.
    pub fn lose(&mut self) {
        if let Some((_, at)) = self.farthest.take() {
            self.lost = Some(at.plus(FARTHEST.into()));
        }
    }

    /// The offset of `seq`. The first call makes it [`Offset::START`]. `None` when `seq` lies farther
    /// from what was seen before than a window reaches.
    pub fn offset(&mut self, seq: Seq) -> Option<Offset> {
        let first = self.lost.unwrap_or(Offset::START);
        let (near, at) = *self.farthest.get_or_insert((seq, first));
        let distance = seq.distance_from(near);
        if distance.unsigned_abs() > FARTHEST {
            return None;
        }
        let offset = Offset(at.0.checked_add_signed(i64::from(distance))?);
        if distance > 0 {
            self.farthest = Some((seq, offset));
        }
        Some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_run_through_the_wrap() {
        let mut unwrap = Unwrap::default();
        let mut seq = Seq(u32::MAX - 5);
        let mut expected = Offset::START;
        for _ in 0..40 {
            assert_eq!(unwrap.offset(seq), Some(expected));
            seq = seq.plus(0x1FFF_FFFF);
            expected = expected.plus(0x1FFF_FFFF);
        }
        assert!(expected.0 > Offset::START.0 + (4 << 32));
    }

    #[test]
    fn bytes_before_the_first_seen_lie_below_the_start() {
        let mut unwrap = Unwrap::default();
        unwrap.offset(Seq(100));
        assert_eq!(unwrap.offset(Seq(40)), Some(Offset(Offset::START.0 - 60)));
    }

    #[test]
    fn who_is_believed_may_jump() {
        let mut unwrap = Unwrap::default();
        unwrap.offset(Seq(0));
        unwrap.jump(Seq(FARTHEST + 7));
        assert_eq!(
            unwrap.offset(Seq(FARTHEST + 8)),
            Some(Offset::START.plus(FARTHEST.into()).plus(1))
        );
    }

    #[test]
    fn after_any_time_it_goes_on_behind_everything_before() {
        let mut unwrap = Unwrap::default();
        let before = unwrap.offset(Seq(5_000)).unwrap();
        unwrap.lose();
        assert!(!unwrap.is_based());
        let after = unwrap.offset(Seq(4_000)).unwrap();
        assert!(after > before);
        assert_eq!(unwrap.offset(Seq(4_010)), Some(after.plus(10)));
    }

    #[test]
    fn a_jump_beyond_any_window_is_refused() {
        let mut unwrap = Unwrap::default();
        unwrap.offset(Seq(0));
        assert_eq!(unwrap.offset(Seq(FARTHEST + 1)), None);
        assert_eq!(unwrap.offset(Seq(10)), Some(Offset::START.plus(10)));
    }
}
