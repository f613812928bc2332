//! Bytes that were lost on their way, and how long they were missing.
//!
//! ```text
//!            from                  at                 until
//! sender   ───┼─────────────────────┼───────────────────┼──▶
//!             first copy leaves     sent again,         hears that the bytes arrived
//!                                   or thrown away
//! ```

use super::shrunk_window::{SendInWindow, ShrunkWindow};
use std::collections::VecDeque;
use wirelap_events::{ByteRange, DropCause, Nanos, Offset, Recovery};

/// Losses that are remembered of one direction of a flow.
const LOSSES: usize = 1024;

/// The sign that tells of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// TCP sends the bytes again.
    Resent(Option<Recovery>),
    /// The host threw a packet with them away. `outward`: before it had left its socket's host.
    Dropped { cause: DropCause, outward: bool },
    /// The host threw away an acknowledgement of everything before the range's end: the bytes are there, and their
    /// sender does not know.
    Unheard(DropCause),
}

/// Bytes that are lost, as far as one sign tells.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The lost bytes.
    pub range: ByteRange,
    /// The sign that tells of the loss.
    pub sign: Sign,
    /// Time at which the sign was seen.
    pub at: Nanos,
    /// Time at which the bytes left for the first time.
    pub from: Nanos,
    /// Time at which the copy at hand left, or else came in: the one that is thrown away, or is
    /// sent again.
    pub since: Nanos,
    /// Time at which the bytes were there.
    pub there: Option<Nanos>,
    /// Time at which their sender heard that they had arrived.
    pub until: Option<Nanos>,
    /// True if its bytes had arrived by another copy: nobody waited for this one.
    pub in_vain: bool,
}

/// A time in which lost bytes were not there.
#[derive(Clone, Copy, Debug)]
pub struct LossGap {
    /// Time at which the lost bytes had left.
    pub from: Nanos,
    /// Time at which the lost bytes were there.
    pub there: Nanos,
    /// The event that made TCP send them again.
    pub recovery: Option<Recovery>,
}

impl LossGap {
    /// The part of it that lies behind a moment, and its end: of equal parts, the later is more.
    pub fn overlap(&self, since: Nanos) -> (Nanos, Nanos) {
        (self.there - self.from.max(since), self.there)
    }
}

impl Loss {
    /// True if it kept bytes from their receiver.
    fn is_of_bytes(&self) -> bool {
        !self.in_vain && !matches!(self.sign, Sign::Unheard(_))
    }

    /// True if it kept its sender from sending more. Bytes that were sent again in vain after a timeout did: their
    /// acknowledgement was lost.
    fn holds_sender(&self) -> bool {
        !self.in_vain || self.sign == Sign::Resent(Some(Recovery::Timeout))
    }

    /// True if the copy of the byte at `place` that a hook saw at `seen` went no further.
    fn ends_copy(&self, place: Offset, seen: Nanos) -> bool {
        let is_inward = matches!(self.sign, Sign::Dropped { outward: false, .. });
        is_inward && self.range.contains(place) && self.since <= seen && seen <= self.at
    }
}

/// The effects of losses on a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Harm {
    /// Bytes of it were lost.
    pub own: bool,
    /// Bytes before it were.
    pub before: bool,
    /// Time between its first and its last send in which bytes were missing.
    pub in_write: Nanos,
    /// Time between its last send and its departure in which bytes were missing.
    pub in_socket: Nanos,
    /// The event that made TCP send the bytes again.
    pub recovery: Option<Recovery>,
    /// The reason for which this host threw them away, if it did.
    pub dropped: Option<DropCause>,
}

/// The message that is asked about: its bytes and some of its times.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The bytes of the message.
    pub extent: ByteRange,
    /// First byte handed to the socket, last byte handed to it, last byte left for the first time.
    pub send: Option<Nanos>,
    /// Time at which its last byte was handed to the socket.
    pub sent: Option<Nanos>,
    /// Time at which its last byte left for the first time.
    pub left: Option<Nanos>,
    /// Time at which the copy of its last byte that arrived came in.
    pub came: Option<Nanos>,
    /// Time at which its last byte arrived at the receiver's socket.
    pub arrived: Option<Nanos>,
    /// The bytes that became ready at once with its last one: those from the hole on that kept it waiting.
    pub ready_with: Option<ByteRange>,
}

/// The losses of one direction, the oldest sign first.
#[derive(Debug, Default)]
pub struct DirectionLosses {
    all: VecDeque<Loss>,
    /// The congestion window that the last of them made smaller, for as long as it is for that.
    window: Option<ShrunkWindow>,
}

impl DirectionLosses {
    /// True if no loss is remembered.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds one; `window` is the congestion window as it was last seen.
    pub fn add(&mut self, loss: Loss, window: Option<u32>) {
        if (loss.is_of_bytes() || loss.holds_sender())
            && let Some(before) = self.window.map(|shrunk| shrunk.before).max(window)
        {
            self.window = Some(ShrunkWindow { before, least: before, at: loss.at });
        }
        if self.all.len() >= LOSSES {
            self.all.pop_front();
        }
        self.all.push_back(loss);
    }

    /// True if a loss has made the congestion window smaller than it was at a send.
    pub fn is_shrunk(&mut self, send: &SendInWindow) -> bool {
        let is_recovered =
            || self.all.iter().all(|loss| loss.until.is_some() || !loss.holds_sender());
        let shrunk = self.window.and_then(|shrunk| shrunk.still(send));
        self.window = shrunk.filter(|_| send.is_full() || !is_recovered());
        self.window.is_some()
    }

    /// True if the copy of a byte that a hook saw at `seen` went no further.
    pub fn ends_copy(&self, place: Offset, seen: Nanos) -> bool {
        self.all.iter().any(|loss| loss.ends_copy(place, seen))
    }

    /// Time of the first copy of the byte that was thrown away before it had left its host.
    pub fn first_outward(&self, place: Offset) -> Option<Nanos> {
        let outward = |loss: &&Loss| matches!(loss.sign, Sign::Dropped { outward: true, .. });
        let all = self.all.iter().filter(|loss| loss.range.contains(place)).filter(outward);
        all.map(|loss| loss.since).min()
    }

    /// True if a copy of the byte was thrown away between these times before it had left its host.
    pub fn was_kept_in(&self, place: Offset, from: Nanos, to: Nanos) -> bool {
        let outward = |loss: &&Loss| matches!(loss.sign, Sign::Dropped { outward: true, .. });
        let mut all = self.all.iter().filter(|loss| loss.range.contains(place)).filter(outward);
        all.any(|loss| from <= loss.at && loss.at <= to)
    }

    /// The sender has heard that everything before `upto` has arrived.
    pub fn heard(&mut self, upto: Offset, at: Nanos) {
        for loss in self.all.iter_mut().filter(|loss| loss.range.end <= upto) {
            loss.until.get_or_insert(at);
        }
    }

    /// Takes back the news that came at `at`: the sender did not hear it.
    pub fn unheard(&mut self, at: Nanos) {
        for loss in self.all.iter_mut().filter(|loss| loss.until == Some(at)) {
            loss.until = None;
        }
    }

    /// The losses of bytes before `end` that nothing was decided of.
    pub fn open(&mut self, from: Offset, end: Offset) -> impl Iterator<Item = &mut Loss> {
        let is_in = move |loss: &&mut Loss| loss.range.end > from && loss.range.end <= end;
        self.all.iter_mut().filter(|loss| loss.is_of_bytes()).filter(is_in)
    }

    /// The effects of the losses on a message.
    pub fn harm(&self, question: &Question) -> Harm {
        let mut harm = Harm::default();
        if self.all.is_empty() {
            return harm;
        }
        let Question { extent, send, sent, left, .. } = *question;
        harm.in_write = self.missing(extent, send, sent);
        harm.in_socket = self.missing(extent, sent, left);
        let waited = harm.in_write > Nanos(0) || harm.in_socket > Nanos(0);
        for loss in &self.all {
            let is_own = loss.is_of_bytes() && question.is_own(loss);
            let is_before = loss.is_of_bytes() && question.is_before(loss);
            let is_waited_for = waited && loss.overlap(send.or(sent), left) > Nanos(0);
            // What hit the message itself says more than what hit others.
            if is_own || !harm.own && (is_before || is_waited_for && loss.holds_sender()) {
                harm.note(loss, is_own && !harm.own);
            }
            harm.own |= is_own;
            harm.before |= is_before;
        }
        harm
    }

    /// Time, between the two times, in which bytes before the message's end were missing, or the news that they had
    /// arrived.
    pub fn missing(&self, extent: ByteRange, from: Option<Nanos>, to: Option<Nanos>) -> Nanos {
        let (Some(from), Some(to)) = (from, to) else { return Nanos(0) };
        let is_it = |loss: &&Loss| loss.holds_sender() && loss.range.start < extent.end;
        let all = self.all.iter().filter(is_it);
        let mut times: Vec<(Nanos, Nanos)> = all
            .map(|loss| (loss.from.max(from), loss.until.unwrap_or(to).min(to)))
            .filter(|(begin, end)| begin < end)
            .collect();
        times.sort_unstable();
        let mut reached = from;
        times.into_iter().fold(Nanos(0), |sum, (begin, end)| {
            let begin = begin.max(reached);
            reached = reached.max(end);
            sum + (end - begin.min(end))
        })
    }

    /// The longest time between two moments in which bytes were missing. It may have begun before.
    pub fn missing_between(&self, since: Nanos, to: Nanos) -> Option<LossGap> {
        let all = self.all.iter().filter(|loss| loss.is_of_bytes() && loss.from < to);
        let times = all.filter_map(|loss| {
            let recovery = match loss.sign {
                Sign::Resent(recovery) => recovery,
                Sign::Dropped { .. } | Sign::Unheard(_) => None,
            };
            let there = loss.there.or(loss.until)?.min(to);
            Some(LossGap { from: loss.from, there, recovery })
        });
        // Of the signs of one loss, the one that tells how it was made good.
        times.max_by_key(|missing| (missing.overlap(since), missing.recovery.is_some()))
    }

    /// Nobody asks about bytes before `floor` any more, nor about what was lost before `long_ago`: a message of the other
    /// direction may have waited for it.
    pub fn prune(&mut self, floor: Offset, long_ago: Nanos) {
        // What is there, and its sender has not heard of it, still keeps it from sending.
        let is_over = |loss: &Loss| {
            let is_heard = loss.until.is_some() || !matches!(loss.sign, Sign::Unheard(_));
            is_heard && loss.at < long_ago && loss.range.end <= floor
        };
        while self.all.front().is_some_and(is_over) {
            self.all.pop_front();
        }
    }

    /// Frees memory that no loss uses.
    pub fn shrink(&mut self) {
        self.all = VecDeque::new();
        self.window = None;
    }
}

impl Loss {
    fn overlap(&self, from: Option<Nanos>, to: Option<Nanos>) -> Nanos {
        let (Some(from), Some(to)) = (from, to) else { return Nanos(0) };
        let end = self.until.unwrap_or(to).min(to);
        end - self.from.max(from).min(end)
    }
}

impl Question {
    /// True if bytes of the message itself were lost before it arrived.
    fn is_own(&self, loss: &Loss) -> bool {
        let in_time = self.arrived.is_none_or(|arrived| loss.since <= arrived);
        let had_come = loss.range.contains(self.extent.last())
            && self.came.is_some_and(|came| came < loss.since);
        in_time && !had_come && loss.range.overlaps(self.extent)
    }

    /// True if the lost bytes kept the message waiting in its receiver's socket.
    fn is_before(&self, loss: &Loss) -> bool {
        if loss.range.end > self.extent.start {
            return false;
        }
        let in_time = self.arrived.is_none_or(|arrived| loss.since <= arrived);
        match self.ready_with {
            Some(ready_with) => in_time && loss.range.overlaps(ready_with),
            None => in_time && self.sent.is_some_and(|sent| loss.at >= sent),
        }
    }
}

impl Harm {
    /// Takes over what a sign tells of how and why; `anew` forgets what others told.
    fn note(&mut self, loss: &Loss, anew: bool) {
        if anew {
            (self.recovery, self.dropped) = (None, None);
        }
        match loss.sign {
            Sign::Resent(recovery) => self.recovery = recovery.or(self.recovery),
            Sign::Dropped { cause, outward } => {
                self.dropped = Some(cause);
                if outward && self.recovery.is_none() {
                    self.recovery = Some(Recovery::Retry);
                }
            }
            Sign::Unheard(cause) => self.dropped = Some(cause),
        }
    }
}
