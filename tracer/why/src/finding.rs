//! A finding: the sums of one kind of cause on one leg, at one process.

use super::awaited::Awaited;
use super::culprits::Culprits;
use super::kind::VerdictKind;
use super::loss_counts::LostSegments;
use super::timeline::Timeline;
use wirelap_events::{
    CgroupId, Circumstances, DropCause, Holder, Nanos, OffCpuReason, Pid, Recovery, Saturate,
    Segment, SleepCall, TaskId,
};
use wirelap_figures::Distribution;
use wirelap_limits::rules::NEARLY_ALL;

/// A kind of cause on a leg, at one process.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Parts of messages that it is the cause of, and that are long enough to be noticed.
    pub parts: u64,
    /// Messages that it takes a noticeable time of.
    pub messages: u64,
    /// Messages that it is much of.
    pub hits: u64,
    /// Times at which these were delivered: one for all that come at once, as in a batch.
    pub hit_times: u64,
    pub last_hit: Nanos,
    /// Time that it takes of these, together.
    pub hit_time: Nanos,
    /// Time that it takes of each message that it is noticed in, all its parts together.
    pub time: Distribution,
    /// The most of these.
    pub most: Nanos,
    /// The times at which it took effect.
    pub when: Timeline,
    /// By segment.
    pub segments: [u64; Segment::ALL.len()],
    /// Time in which its thread mostly waited for nobody else: it slept for a time of its own choice, was blocked in the kernel or stopped.
    pub waited_for_none: Nanos,
    /// The part that took longest.
    pub longest: LongestPart,
    /// For how long a thread is said to have worked, each moment once, and until when.
    pub worked: Nanos,
    pub worked_until: Nanos,
    /// Waits to be asked that began before the request came.
    pub late_requests: u64,
    /// Losses on the network that the messages waited for.
    pub lost: LossWaits,
    /// Time by the thing that brokers waited for, in nanoseconds.
    pub awaited: [u64; Awaited::ALL.len()],
    /// By what made TCP send again what they waited for.
    pub awaited_recoveries: [u64; Recovery::ALL.len()],
    /// The threads that all of it waited for.
    pub culprits: Culprits,
}

/// The part of a finding that took longest.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongestPart {
    pub time: Nanos,
    pub task: Option<TaskId>,
    /// That thread is the broker's.
    pub at_broker: bool,
    /// The thread that it was for.
    pub reader: Option<TaskId>,
    /// The thread that it waited for.
    pub holder: Option<Holder>,
    /// The reason for which its thread rested, and the call in which it slept.
    pub rest: Option<(OffCpuReason, SleepCall)>,
    /// The cgroup whose CPU quota was used up.
    pub cgroup: CgroupId,
    pub circumstances: Circumstances,
}

/// The key of a finding: leg, 0 for the first, kind of cause, and the process, 0 where none can be named.
pub type FindingKey = (usize, VerdictKind, Pid);

/// Messages that waited for what was lost on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossWaits {
    pub messages: u64,
    /// Bytes of their own were lost; the others waited for what was sent before them.
    pub own: u64,
    /// Nothing was lost: they waited for what they had overtaken.
    pub overtook: u64,
    /// By what made TCP send again, where that was seen.
    pub recoveries: [u64; Recovery::ALL.len()],
    /// By what the host threw the packet away for, where it did.
    pub drops: [u64; DropCause::ALL.len()],
}

impl LossWaits {
    pub fn message(&mut self, seen: &Circumstances) {
        self.messages.grow(1);
        self.own.grow(u64::from(seen.loss.resent));
        self.overtook.grow(u64::from(seen.loss.overtook));
        if let Some(recovery) = seen.loss.recovery {
            self.recoveries[recovery as usize].grow(1);
        }
        if let Some(cause) = seen.loss.dropped {
            self.drops[cause as usize].grow(1);
        }
    }

    fn merge(&mut self, other: &LossWaits) {
        self.messages.grow(other.messages);
        self.own.grow(other.own);
        self.overtook.grow(other.overtook);
        self.recoveries.iter_mut().zip(other.recoveries).for_each(|(sum, more)| sum.grow(more));
        self.drops.iter_mut().zip(other.drops).for_each(|(sum, more)| sum.grow(more));
    }

    /// True if nothing was lost of what these messages waited for: nearly all that TCP sent again had arrived, or arrived all the same,
    /// and of these messages' packets this host threw none away. Then packets overtook each other, or acknowledgements were late. If fewer
    /// arrived twice, it is not known which of them held up a message: where acknowledgements are lost as often as data, it is half.
    pub fn were_only_late(&self, segments: &LostSegments) -> bool {
        let is_thrown_away = DropCause::ALL
            .into_iter()
            .any(|cause| cause != DropCause::Duplicate && self.drops[cause as usize] > 0);
        let nearly_all = |part: u64, whole: u64| {
            let (most, of) = NEARLY_ALL;
            part > 0 && part.saturating_mul(of) >= whole.saturating_mul(most)
        };
        let is_overtaken = nearly_all(self.overtook, self.messages);
        !is_thrown_away && (is_overtaken || nearly_all(segments.twice, segments.resent))
    }

    /// The cause for which most of the packets were thrown away, where the host did that.
    pub fn mostly(&self) -> Option<DropCause> {
        let all = DropCause::ALL.into_iter().filter(|&cause| self.drops[cause as usize] > 0);
        all.max_by_key(|&cause| self.drops[cause as usize])
    }
}

impl Default for Finding {
    fn default() -> Finding {
        Finding {
            parts: 0,
            messages: 0,
            hits: 0,
            hit_times: 0,
            last_hit: Nanos(0),
            hit_time: Nanos(0),
            time: Distribution::new(2),
            most: Nanos(0),
            when: Timeline::default(),
            segments: [0; Segment::ALL.len()],
            waited_for_none: Nanos(0),
            longest: LongestPart::default(),
            worked: Nanos(0),
            worked_until: Nanos(0),
            late_requests: 0,
            lost: LossWaits::default(),
            awaited: [0; Awaited::ALL.len()],
            awaited_recoveries: [0; Recovery::ALL.len()],
            culprits: Culprits::default(),
        }
    }
}

impl Finding {
    /// The segment that most of its time is in.
    pub fn segment(&self) -> Segment {
        let times = Segment::ALL.into_iter().zip(self.segments);
        times.max_by_key(|(_, time)| *time).map_or(Segment::Wire, |(segment, _)| segment)
    }

    /// Notes that it takes much of a message that is delivered at `at`.
    pub fn hit(&mut self, at: Nanos, time: Nanos) {
        self.hits.grow(1);
        self.hit_time += time;
        self.hit_times.grow(u64::from(at != self.last_hit));
        self.last_hit = at;
    }

    /// A thread is said to have worked for `time` until a moment. Several messages may have waited for the same work.
    pub fn works(&mut self, until: Nanos, time: Nanos) {
        let from = (until - time).max(self.worked_until);
        if until > from {
            self.worked += until - from;
            self.worked_until = until;
        }
    }

    /// All its parts of one message take `time`.
    pub fn message(&mut self, time: Nanos) {
        self.messages.grow(1);
        self.time.add(time.0);
        self.most = self.most.max(time);
    }

    /// A broker waited for something for `time`.
    pub fn note_awaited(
        &mut self,
        awaited: Awaited,
        kind: VerdictKind,
        time: Nanos,
        seen: &Circumstances,
    ) {
        self.awaited[awaited as usize].grow(time.0);
        let recovery = match awaited {
            Awaited::Receipt => {
                seen.permission.release.and_then(|release| release.receipt?.recovery)
            }
            Awaited::Release => seen.permission.release.and_then(|release| release.recovery),
            Awaited::Nothing => None,
            _ => seen.loss.missing_by.and_then(|bytes| bytes.recovery),
        };
        if kind == VerdictKind::Retransmission
            && let Some(recovery) = recovery
        {
            self.awaited_recoveries[recovery as usize].grow(1);
        }
    }

    /// The thing that brokers waited for most.
    pub fn mostly_awaited(&self) -> Awaited {
        let all = Awaited::ALL.into_iter().filter(|&awaited| self.awaited[awaited as usize] > 0);
        all.max_by_key(|&awaited| self.awaited[awaited as usize]).unwrap_or_default()
    }

    /// All its time.
    pub fn whole(&self) -> u64 {
        self.segments.iter().fold(0, |sum, time| sum.saturating_add(*time))
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Finding) {
        self.parts.grow(other.parts);
        self.messages.grow(other.messages);
        self.hits.grow(other.hits);
        self.hit_times.grow(other.hit_times);
        self.hit_time += other.hit_time;
        self.most = self.most.max(other.most);
        self.worked += other.worked;
        self.waited_for_none += other.waited_for_none;
        self.when.merge(&other.when);
        self.late_requests.grow(other.late_requests);
        self.lost.merge(&other.lost);
        self.time.merge(&other.time);
        self.awaited.iter_mut().zip(other.awaited).for_each(|(sum, more)| sum.grow(more));
        let recoveries = self.awaited_recoveries.iter_mut().zip(other.awaited_recoveries);
        recoveries.for_each(|(sum, more)| sum.grow(more));
        self.culprits.merge(&other.culprits);
        self.segments.iter_mut().zip(other.segments).for_each(|(sum, more)| sum.grow(more));
        if other.longest.time > self.longest.time {
            self.longest = other.longest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_at_once_is_one_time() {
        let mut finding = Finding::default();
        for at in [5, 5, 5, 9] {
            finding.hit(Nanos(at), Nanos(2));
        }
        assert_eq!((finding.hits, finding.hit_times, finding.hit_time), (4, 2, Nanos(8)));
    }

    #[test]
    fn only_where_nearly_all_arrived_twice_nothing_was_lost() {
        let only_late = |resent, twice, waits: &LossWaits| {
            waits.were_only_late(&LostSegments { resent, twice, ..LostSegments::default() })
        };
        let mut waits = LossWaits::default();
        assert!(only_late(176, 177, &waits));
        assert!(!only_late(176, 0, &waits));
        // Lost as often on the way back.
        assert!(!only_late(100, 50, &waits));
        waits.drops[DropCause::Duplicate as usize] = 5;
        assert!(only_late(176, 177, &waits));
        waits.drops[DropCause::Queue as usize] = 1;
        assert!(!only_late(176, 177, &waits));
        let overtook = |messages| LossWaits { messages, overtook: 10, ..LossWaits::default() };
        assert!(only_late(0, 0, &overtook(11)));
        assert!(!only_late(0, 0, &overtook(12)));
    }
}
