//! Culprits by verdict: the threads that had the CPU, or had to let go of something, while messages
//! waited.

use super::clause::{Clause, CpuHolders};
use super::explanation::Culprit;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use wirelap_events::{Comm, Holder, Nanos, Pid, Saturate, TaskId, Tid, Total};
use wirelap_limits::rules::LEAST_SHOWN_SHARE;

/// Threads that are told apart for one verdict. Further ones count to others of their process, or as not known.
const LIMIT: usize = 256;

/// Culprits that a verdict lists.
const LISTED: usize = 10;

/// Processes that a clause names.
const NAMED: usize = 3;

/// The time of one kind of cause on one leg, by whom it was waited for.
#[derive(Clone, Debug, Default)]
pub struct Culprits {
    all: FxHashMap<Tid, (TaskId, Comm, u64)>,
    /// Threads that are not named, each of which had it for a short time.
    several: u64,
    unknown: u64,
}

impl Culprits {
    /// `time` more, of which `by` is the culprit, as far as it is known.
    pub fn add(&mut self, by: Option<&Holder>, time: Nanos) {
        let Some(by) = by.filter(|by| by.task.tid != Tid(0)) else {
            self.unknown.grow(time.0);
            return;
        };
        if by.task.tid == Holder::SEVERAL {
            self.several.grow(time.0);
            return;
        }
        if self.all.len() < LIMIT || self.all.contains_key(&by.task.tid) {
            self.all.entry(by.task.tid).or_insert((by.task, by.comm, 0)).2.grow(time.0);
        } else if let Some(other) = self.all.values_mut().find(|one| one.0.pid == by.task.pid) {
            other.2.grow(time.0);
        } else {
            self.unknown.grow(time.0);
        }
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Culprits) {
        for &(task, comm, time) in other.all.values() {
            self.add(Some(&Holder { task, comm, held: Nanos(0) }), Nanos(time));
        }
        self.several.grow(other.several);
        self.unknown.grow(other.unknown);
    }

    fn whole(&self) -> u64 {
        (self.all.values().map(|known| known.2).total::<u64>()).saturating_add(self.unnamed())
    }

    /// Time for which nobody is named.
    fn unnamed(&self) -> u64 {
        self.several.saturating_add(self.unknown)
    }

    /// The part of the time of which these processes are the culprits; time of unknown culprits is
    /// nobody's.
    pub fn share_of(&self, members: &FxHashSet<Pid>) -> f64 {
        let theirs = self.all.values().filter(|known| members.contains(&known.0.pid));
        theirs.map(|known| known.2).total::<u64>() as f64 / self.whole().max(1) as f64
    }

    /// The part of the time in which wirelap itself had the CPU.
    pub fn share_of_tracer(&self) -> f64 {
        let own = self.all.values().filter(|known| known.1 == Comm::tracer());
        self.share(own.map(|known| known.2).total())
    }

    /// The list of a verdict.
    pub fn list(&self) -> Vec<Culprit> {
        let whole = self.whole().max(1) as f64;
        let mut all: Vec<_> = self.all.values().copied().collect();
        all.sort_by_key(|&(task, _, time)| (std::cmp::Reverse(time), task.tid));
        let rest: u64 = all.iter().skip(LISTED - 1).map(|known| known.2).total();
        all.truncate(LISTED - 1);
        if self.unnamed().saturating_add(rest) > 0 {
            all.push((TaskId::default(), Comm::default(), self.unnamed().saturating_add(rest)));
        }
        let share = |time: u64| time as f64 / whole;
        let culprit = |(task, comm, time)| Culprit { task, comm, share: share(time) };
        if self.whole() == 0 { Vec::new() } else { all.into_iter().map(culprit).collect() }
    }

    /// The holders of the CPU while `waiting` waited for it, of a row of which these processes are `members`: programs that
    /// have nothing to do with the row first, where they had most of it; and the part of which no holder is known, where it is
    /// most.
    pub fn of_the_cpu(&self, waiting: Option<TaskId>, members: &FxHashSet<Pid>) -> Vec<Clause> {
        let own = waiting.map(|task| task.pid);
        let is_own = |pid: Pid| Some(pid) == own;
        let is_member = |pid: Pid| members.contains(&pid) && !is_own(pid);
        let is_foreign = |pid: Pid| !is_own(pid) && !members.contains(&pid);
        let all: [Option<(u64, Clause)>; 3] = [
            self.held(CpuHolders::Foreign, &is_foreign),
            self.held(CpuHolders::Members, &is_member),
            self.held(CpuHolders::Own, &is_own),
        ];
        let unknown = Clause::CpuHolderUnknown(self.share(self.unknown));
        let mut clauses: Vec<(u64, Clause)> = all.into_iter().flatten().collect();
        let several = Clause::CpuHeldBySeveral(self.share(self.several));
        clauses.extend(self.is_some(self.several).then_some((self.several, several)));
        clauses.extend(self.is_some(self.unknown).then_some((self.unknown, unknown)));
        clauses.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        clauses.into_iter().map(|(_, clause)| clause).collect()
    }

    /// The processes that fit, as many as are named, and the time of all that fit; `None` if they had none.
    fn held(&self, by: CpuHolders, fits: &dyn Fn(Pid) -> bool) -> Option<(u64, Clause)> {
        let mut by_pid: BTreeMap<Pid, (Comm, u64, u64)> = BTreeMap::new();
        for &(task, comm, time) in self.all.values().filter(|known| fits(known.0.pid)) {
            let one = by_pid.entry(task.pid).or_insert((comm, 0, 0));
            one.1.grow(time);
            // A process is called what its thread is called that had most of it.
            if time > one.2 {
                (one.0, one.2) = (comm, time);
            }
        }
        let time = by_pid.values().map(|one| one.1).total();
        let mut all: Vec<_> = by_pid.into_iter().filter(|(_, one)| self.is_some(one.1)).collect();
        all.sort_by_key(|&(pid, (_, time, _))| (std::cmp::Reverse(time), pid));
        let more = all.len().saturating_sub(NAMED);
        let rest: u64 = all.iter().skip(NAMED).map(|(_, one)| one.1).total();
        let one = |(pid, (comm, time, _)): (Pid, (Comm, u64, u64))| ((pid, comm), self.share(time));
        let named: Vec<_> = all.into_iter().take(NAMED).map(one).collect();
        let more = (more > 0).then(|| (more, self.share(rest)));
        (!named.is_empty()).then_some((time, Clause::CpuHeld { by, named, more }))
    }

    /// True if a time is enough of the whole to be told.
    fn is_some(&self, time: u64) -> bool {
        self.share(time) > LEAST_SHOWN_SHARE
    }

    /// The part of the whole that a time is, 0..=1.
    fn share(&self, time: u64) -> f64 {
        time as f64 / self.whole().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(pid: u32, tid: u32, name: &str) -> Holder {
        let task = TaskId { pid: Pid(pid), tid: Tid(tid) };
        Holder { task, comm: Comm::from_name(name), held: Nanos(0) }
    }

    const WAITING: TaskId = TaskId { pid: Pid(7), tid: Tid(7) };

    #[test]
    fn strangers_are_told_from_the_row_and_from_the_process_itself() {
        let mut culprits = Culprits::default();
        culprits.add(Some(&holder(50, 51, "stress-ng")), Nanos(40));
        culprits.add(Some(&holder(50, 52, "stress-ng")), Nanos(20));
        culprits.add(Some(&holder(8, 8, "mosquitto")), Nanos(30));
        culprits.add(Some(&holder(7, 9, "worker")), Nanos(6));
        culprits.add(None, Nanos(4));
        let members = [Pid(7), Pid(8)].into_iter().collect();
        assert!((culprits.share_of(&members) - 0.36).abs() < 1e-9);
        let held = |by, pid, name, share| Clause::CpuHeld {
            by,
            named: vec![((Pid(pid), Comm::from_name(name)), share)],
            more: None,
        };
        assert_eq!(
            culprits.of_the_cpu(Some(WAITING), &members),
            [
                held(CpuHolders::Foreign, 50, "stress-ng", 0.6),
                held(CpuHolders::Members, 8, "mosquitto", 0.3),
                held(CpuHolders::Own, 7, "worker", 0.06),
                Clause::CpuHolderUnknown(0.04),
            ]
        );
    }

    #[test]
    fn what_is_mostly_not_known_is_said_first_and_traces_are_not_told() {
        let mut culprits = Culprits::default();
        culprits.add(None, Nanos(9_000));
        culprits.add(Some(&holder(50, 51, "stress-ng")), Nanos(980));
        (60..64).for_each(|pid| culprits.add(Some(&holder(pid, pid, "other")), Nanos(5)));
        let held = Clause::CpuHeld {
            by: CpuHolders::Foreign,
            named: vec![((Pid(50), Comm::from_name("stress-ng")), 0.098)],
            more: None,
        };
        let told = culprits.of_the_cpu(Some(WAITING), &FxHashSet::default());
        assert_eq!(told, [Clause::CpuHolderUnknown(0.9), held]);
    }

    #[test]
    fn many_that_had_it_for_short_times_are_not_unknown() {
        let mut culprits = Culprits::default();
        culprits.add(Some(&holder(50, 51, "stress-ng")), Nanos(300));
        culprits.add(Some(&Holder::several(Nanos(600))), Nanos(600));
        culprits.add(None, Nanos(100));
        let told = culprits.of_the_cpu(Some(WAITING), &FxHashSet::default());
        assert_eq!(told[0], Clause::CpuHeldBySeveral(0.6));
        assert_eq!(told[2], Clause::CpuHolderUnknown(0.1));
        let shares: f64 = culprits.list().iter().map(|one| one.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
    }

    /// Half a percent is written as 0 %.
    #[test]
    fn what_would_be_no_percent_is_not_told() {
        for (few, is_told) in [(0, false), (4, false), (5, false), (6, true)] {
            for holder in [None, Some(holder(8, 8, "mosquitto"))] {
                let mut culprits = Culprits::default();
                culprits.add(Some(&self::holder(50, 51, "stress-ng")), Nanos(1_000 - few));
                culprits.add(holder.as_ref(), Nanos(few));
                let members = [Pid(7), Pid(8)].into_iter().collect();
                let told = culprits.of_the_cpu(Some(WAITING), &members);
                assert_eq!(told.len(), 1 + usize::from(is_told), "{few}: {told:?}");
            }
        }
    }

    #[test]
    fn shares_are_the_whole_however_many_there_are() {
        let mut culprits = Culprits::default();
        assert_eq!(culprits.list(), []);
        for tid in 1..300 {
            culprits.add(Some(&holder(tid, tid, "x")), Nanos(u64::from(tid)));
        }
        let list = culprits.list();
        assert_eq!(list.len(), 10);
        assert!((list.iter().map(|one| one.share).sum::<f64>() - 1.0).abs() < 1e-9);
        // Of more than are told apart, the last ones are nobody's.
        assert_eq!((list[0].task.tid, list[9].task), (Tid(256), TaskId::default()));
        let mut twice = culprits.clone();
        twice.merge(&culprits);
        assert_eq!(twice.list(), list);
    }
}
