//! What was found of one kind of cause on one leg, at one process.

use super::culprits::Culprits;
use super::explanation::VerdictKind;
use super::timeline::Timeline;
use crate::stats::Distribution;
use wirelap_events::{
    CgroupId, Circumstances, Holder, Nanos, Pid, Rest, Segment, Sleep, TaskId,
};

/// A kind of cause on a leg, at one process.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Parts of messages that it is the cause of, and that are long enough to be noticed.
    pub parts: u64,
    /// Messages that it is much of.
    pub hits: u64,
    pub time: Distribution,
    /// When it took time.
    pub when: Timeline,
    /// By segment.
    pub segments: [u64; Segment::ALL.len()],
    /// Of the part that took longest: how long, whose, and what else was seen.
    pub longest: Nanos,
    pub task: Option<TaskId>,
    /// That thread is the broker's.
    pub at_broker: bool,
    /// Waits to be asked that began before the request came.
    pub late_requests: u64,
    pub holder: Option<Holder>,
    /// How its thread rested, and what it slept on.
    pub rest: Option<(Rest, Sleep)>,
    /// Whose CPU quota was used up.
    pub cgroup: CgroupId,
    pub circumstances: Circumstances,
    /// Whom all of it waited for.
    pub culprits: Culprits,
}

/// What a finding is of: leg, 0 for the first, kind of cause, and the process, 0 where none can be named.
pub type Place = (usize, VerdictKind, Pid);

impl Default for Finding {
    fn default() -> Finding {
        Finding {
            parts: 0,
            hits: 0,
            time: Distribution::new(2),
            when: Timeline::default(),
            segments: [0; Segment::ALL.len()],
            longest: Nanos(0),
            task: None,
            at_broker: false,
            late_requests: 0,
            holder: None,
            rest: None,
            cgroup: CgroupId(0),
            circumstances: Circumstances::default(),
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

    /// All its time.
    pub fn whole(&self) -> u64 {
        self.segments.iter().fold(0, |sum, time| sum.saturating_add(*time))
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Finding) {
        self.parts += other.parts;
        self.hits += other.hits;
        self.when.merge(&other.when);
        self.late_requests += other.late_requests;
        self.time.merge(&other.time);
        self.culprits.merge(&other.culprits);
        self.segments.iter_mut().zip(other.segments).for_each(|(sum, more)| *sum += more);
        if other.longest > self.longest {
            (self.longest, self.task) = (other.longest, other.task);
            self.at_broker = other.at_broker;
            (self.holder, self.rest, self.cgroup) = (other.holder, other.rest, other.cgroup);
            self.circumstances = other.circumstances;
        }
    }
}
