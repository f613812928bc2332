//! On which CPU each thread of a message ran and waited: intervals on one time axis, a lane for each CPU.
//!
//! ```text
//!  leg 1:  send ── sent       ready ─ wakeup ──────── running ── read
//!  CPU 0   ▏A runs ▕          ▏    ▕
//!  CPU 1                             ▏B waits         ▕B runs    ▕
//! ```
//! A thread of a wake chain runs from its switch until it wakes the next thread, or until the send or the read. It waits on the CPU that
//! it runs on afterwards. The CPU of a thread that did not have to be woken is not known.

use std::collections::BTreeMap;
use wirelap_events::{Cpu, Delivery, Holder, Hop, Leg, LegOffCpu, Nanos, OffCpu, Stage, TaskId};

/// A thread that did not run for more than this part of an interval, 1 in so many, runs only partly.
const PART: u64 = 20;

/// The CPU or thread that a lane is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKey {
    /// A CPU of the host with this number, 1 for the first.
    Cpu(u8, Cpu),
    /// The message's thread with this index, where its CPU is not known.
    Thread(usize),
}

impl LaneKey {
    fn of(hop: &Hop, thread: usize) -> LaneKey {
        let host = hop.task.pid.host();
        hop.cpu.map_or(LaneKey::Thread(thread), |cpu| LaneKey::Cpu(host, cpu.on_host(host)))
    }
}

/// The state of a thread of the message in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The thread runs.
    Runs,
    /// The thread runs for a part of the interval, and does not for the rest: it is not known when.
    RunsPartly,
    /// The thread waits for a CPU; the index is that of the thread that had the CPU for at least half of the wait.
    Waits(Option<usize>),
}

/// An interval on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneInterval {
    /// The beginning.
    pub from: Nanos,
    /// The end; not before the beginning.
    pub to: Nanos,
    /// The index of the message's thread.
    pub thread: usize,
    /// The state of the thread.
    pub doing: Doing,
}

/// A thread of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneThread {
    /// The thread.
    pub task: TaskId,
    /// The thread's tasks for the message: `sends on leg 1`, `reads leg 1`, `wakes the next`.
    pub roles: Vec<String>,
    /// Time for which it waited for a CPU after its wakeups.
    pub waited: Nanos,
    /// Time for which it did not run while it had the message: it is not known when exactly.
    pub off: OffCpu,
}

/// A thread that had the CPU while one of the message's threads waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneHolder {
    /// The thread, and how long it had the CPU.
    pub holder: Holder,
    /// The index of the thread that waited.
    pub waiter: usize,
}

/// All lanes of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// The beginning of the time axis: the first stage.
    pub from: Nanos,
    /// The end of the time axis: the last stage.
    pub to: Nanos,
    /// The intervals of each lane, in the order in which they were found.
    pub intervals: BTreeMap<LaneKey, Vec<LaneInterval>>,
    /// The message's threads, in the order in which they act.
    pub threads: Vec<LaneThread>,
    /// The threads that had the CPU.
    pub holders: Vec<LaneHolder>,
    /// All wakeups of the message's threads, and those whose waits are drawn.
    hops: Vec<Hop>,
    drawn: Vec<(TaskId, Nanos)>,
}

impl Lanes {
    /// The lanes of a message.
    pub fn of(delivery: &Delivery) -> Lanes {
        let from = delivery.begins().unwrap_or_default();
        let last = delivery.legs.iter().filter_map(|leg| leg.times.seen().last()).next_back();
        let mut lanes = Lanes { from, to: last.map_or(from, |(_, at)| at), ..Lanes::default() };
        lanes.hops = delivery
            .legs
            .iter()
            .flat_map(|leg| leg.before.iter().chain(&leg.chain))
            .copied()
            .collect();
        let mut read = None;
        for (at, leg) in delivery.legs.iter().enumerate() {
            let off = delivery.off_cpu_of(at);
            lanes.sender(leg, at + 1, read, off);
            lanes.reader(leg, at + 1, &off.reader.unwrap_or_default());
            read = leg.times.get(Stage::Read).zip(leg.reader);
        }
        lanes
    }

    /// The threads before the send, the last of which sends. `read` is when the leg before was read, and by whom.
    fn sender(&mut self, leg: &Leg, number: usize, read: Option<(Nanos, TaskId)>, off: &LegOffCpu) {
        let sent = leg.times.get(Stage::Sent).or(leg.times.get(Stage::Send));
        let rested = off.sender.unwrap_or_default();
        let had = read.map_or(self.from, |(at, _)| at);
        self.hops(&leg.before, (had, sent), &rested);
        let Some(sender) = leg.sender else { return };
        let thread = self.thread(sender);
        self.threads[thread].roles.push(format!("sends on leg {number}"));
        self.threads[thread].off = self.threads[thread].off + rested;
        let was_woken = leg.before.last().is_some_and(|hop| hop.task == sender);
        let (Some(sent), false) = (sent, was_woken) else { return };
        // A thread that read the message and sends it on runs from the one to the other.
        let since = read.filter(|(_, reader)| *reader == sender).map(|(at, _)| at);
        let dwell = since.and(off.dwell).unwrap_or_default();
        self.threads[thread].off = self.threads[thread].off + dwell;
        let from = since.or(leg.times.get(Stage::Send)).unwrap_or(sent);
        self.runs(self.lane_of(thread, from), thread, (from, sent), &(rested + dwell));
    }

    /// The threads of the wake chain, the last of which reads.
    fn reader(&mut self, leg: &Leg, number: usize, off: &OffCpu) {
        let read = leg.times.get(Stage::Read);
        self.hops(&leg.chain, (self.from, read), off);
        let Some(reader) = leg.reader else { return };
        let thread = self.thread(reader);
        self.threads[thread].roles.push(format!("reads leg {number}"));
        self.threads[thread].off = self.threads[thread].off + *off;
        if leg.chain.is_empty()
            && let (Some(from), Some(to)) = (leg.times.get(Stage::Ready), read)
        {
            self.runs(self.lane_of(thread, from), thread, (from, to), off);
        }
    }

    /// Threads that wake each other. They run from `since` on, when the process got the message, and the last one until `until`, but for
    /// the times that it did not.
    fn hops(&mut self, hops: &[Hop], (since, until): (Nanos, Option<Nanos>), off: &OffCpu) {
        for (at, hop) in hops.iter().enumerate() {
            let next = hops.get(at + 1).map(|next| next.woken);
            let (from, to) = (hop.woken.max(self.from), hop.running.max(self.from));
            let until = next.or(until).unwrap_or(to).max(to);
            if until <= self.from && next.is_some() {
                // It was over before the message began.
                continue;
            }
            let thread = self.thread(hop.task);
            let lane = LaneKey::of(hop, thread);
            if next.is_some() {
                self.threads[thread].roles.push("wakes the next".into());
            }
            // The last wakeup before a read may also be the last one before the send.
            let is_new = !self.drawn.contains(&(hop.task, hop.running));
            if is_new && from < to {
                self.drawn.push((hop.task, hop.running));
                let holder = self.holder(hop, thread);
                self.threads[thread].waited += to - from;
                self.add(lane, LaneInterval { from, to, thread, doing: Doing::Waits(holder) });
            }
            let off = if next.is_none() { off } else { &OffCpu::NONE };
            self.runs(lane, thread, (to.max(since), until), off);
        }
    }

    /// Adds an interval in which a thread runs, but for the times that it did not.
    fn runs(&mut self, lane: LaneKey, thread: usize, (from, to): (Nanos, Nanos), off: &OffCpu) {
        let rested = off.waited + off.asleep;
        let doing = if rested.0 > (to - from).0 / PART { Doing::RunsPartly } else { Doing::Runs };
        self.add(lane, LaneInterval { from, to, thread, doing });
    }

    /// The index of the thread that had the CPU while a thread waited, if it had it for at least half of the wait.
    fn holder(&mut self, hop: &Hop, waiter: usize) -> Option<usize> {
        let holder = hop.holder;
        if holder.held == Nanos(0) {
            return None;
        }
        let index = self.holders.len();
        self.holders.push(LaneHolder { holder, waiter });
        let wait = hop.running - hop.woken;
        (holder.held.0 >= wait.0 / 2).then_some(index)
    }

    /// The lane of the CPU that a thread had been switched to last at a time, or the thread's own.
    fn lane_of(&self, thread: usize, at: Nanos) -> LaneKey {
        let task = self.threads.get(thread).map(|thread| thread.task);
        let its = self.hops.iter().filter(|hop| Some(hop.task) == task && hop.running <= at);
        let last = its.max_by_key(|hop| hop.running);
        last.map_or(LaneKey::Thread(thread), |hop| LaneKey::of(hop, thread))
    }

    fn thread(&mut self, task: TaskId) -> usize {
        if let Some(known) = self.threads.iter().position(|thread| thread.task == task) {
            return known;
        }
        let (waited, off) = (Nanos(0), OffCpu::NONE);
        let index = self.threads.len();
        self.threads.push(LaneThread { task, roles: Vec::new(), waited, off });
        index
    }

    /// Adds an interval, as far as it is on the time axis. A thread that runs for no time at all, as in a send call whose end is not seen,
    /// is seen to run.
    fn add(&mut self, lane: LaneKey, interval: LaneInterval) {
        let (from, to) = (interval.from.max(self.from), interval.to.min(self.to));
        let runs = from == to && matches!(interval.doing, Doing::Runs);
        if from < to || runs {
            self.intervals.entry(lane).or_default().push(LaneInterval { from, to, ..interval });
        }
    }
}

#[cfg(test)]
mod tests;
