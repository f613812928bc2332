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
use wirelap_events::{Cpu, Delivery, Holder, Hop, Leg, Nanos, OffCpu, Stage, TaskId};

/// What a lane is of.
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

/// What a thread of the message does in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs.
    Runs,
    /// It waits for a CPU; the index is that of the thread that had the CPU for at least half of the wait.
    Waits(Option<usize>),
}

/// An interval on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The beginning.
    pub from: Nanos,
    /// The end; not before the beginning.
    pub to: Nanos,
    /// The index of the message's thread.
    pub thread: usize,
    /// What the thread does.
    pub doing: Doing,
}

/// A thread of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneThread {
    /// The thread.
    pub task: TaskId,
    /// What it does for the message: `sends on leg 1`, `reads leg 1`, `wakes the next`.
    pub roles: Vec<String>,
    /// How long it waited for a CPU after its wakeups.
    pub waited: Nanos,
    /// Its further waits, in which it was preempted: it is not known when exactly.
    pub preempted: OffCpu,
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
    /// Its end: the last stage.
    pub to: Nanos,
    /// The intervals of each lane, in the order in which they were found.
    pub lanes: BTreeMap<LaneKey, Vec<Interval>>,
    /// The message's threads, in the order in which they act.
    pub threads: Vec<LaneThread>,
    /// The threads that had the CPU.
    pub holders: Vec<LaneHolder>,
}

impl Lanes {
    /// The lanes of a message.
    pub fn of(delivery: &Delivery) -> Lanes {
        let from = delivery.begins().unwrap_or_default();
        let last = delivery.legs.iter().filter_map(|leg| leg.times.seen().last()).last();
        let mut lanes = Lanes { from, to: last.map_or(from, |(_, at)| at), ..Lanes::default() };
        let mut read = None;
        for (at, leg) in delivery.legs.iter().enumerate() {
            lanes.sender(leg, at + 1, read);
            lanes.reader(leg, at + 1);
            read = leg.times.get(Stage::Read).zip(leg.reader);
            let off = delivery.off_cpu_of(at);
            let ends = [(leg.reader, off.reader), (leg.sender, off.sender)];
            for (task, rest) in ends {
                if let (Some(task), Some(rest)) = (task, rest) {
                    let thread = lanes.thread(task);
                    lanes.threads[thread].preempted = lanes.threads[thread].preempted + rest;
                }
            }
        }
        lanes
    }

    /// The threads before the send, the last of which sends. `read` is when the leg before was read, and by whom.
    fn sender(&mut self, leg: &Leg, number: usize, read: Option<(Nanos, TaskId)>) {
        let sent = leg.times.get(Stage::Sent).or(leg.times.get(Stage::Send));
        self.hops(&leg.before, sent);
        let Some(sender) = leg.sender else { return };
        let thread = self.thread(sender);
        self.threads[thread].roles.push(format!("sends on leg {number}"));
        let was_woken = leg.before.last().is_some_and(|hop| hop.task == sender);
        let (Some(sent), false) = (sent, was_woken) else { return };
        // A thread that read the message and sends it on runs from the one to the other.
        let since = read.filter(|(_, reader)| *reader == sender).map(|(at, _)| at);
        let from = since.or(leg.times.get(Stage::Send)).unwrap_or(sent);
        let lane = self.lane_of(thread);
        self.add(lane, Interval { from, to: sent, thread, doing: Doing::Runs });
    }

    /// The threads of the wake chain, the last of which reads.
    fn reader(&mut self, leg: &Leg, number: usize) {
        let read = leg.times.get(Stage::Read);
        self.hops(&leg.chain, read);
        let Some(reader) = leg.reader else { return };
        let thread = self.thread(reader);
        self.threads[thread].roles.push(format!("reads leg {number}"));
        if leg.chain.is_empty()
            && let (Some(from), Some(to)) = (leg.times.get(Stage::Ready), read)
        {
            let lane = self.lane_of(thread);
            self.add(lane, Interval { from, to, thread, doing: Doing::Runs });
        }
    }

    /// Threads that wake each other. The last one runs until `until`.
    fn hops(&mut self, hops: &[Hop], until: Option<Nanos>) {
        for (at, hop) in hops.iter().enumerate() {
            let thread = self.thread(hop.task);
            let next = hops.get(at + 1).map(|next| next.woken);
            if next.is_some() {
                self.threads[thread].roles.push("wakes the next".into());
            }
            let holder = self.holder(hop, thread);
            let lane = LaneKey::of(hop, thread);
            let (from, to) = (hop.woken.max(self.from), hop.running.max(self.from));
            self.threads[thread].waited += to - from;
            self.add(lane, Interval { from, to, thread, doing: Doing::Waits(holder) });
            let until = next.or(until).unwrap_or(to).max(to);
            self.add(lane, Interval { from: to, to: until, thread, doing: Doing::Runs });
        }
    }

    /// The index of the thread that had the CPU while a thread waited, if it had it for at least half of the wait.
    fn holder(&mut self, hop: &Hop, waiter: usize) -> Option<usize> {
        let holder = hop.holder;
        if holder.held == Nanos(0) {
            return None;
        }
        self.holders.push(LaneHolder { holder, waiter });
        let wait = hop.running - hop.woken;
        (holder.held.0 >= wait.0 / 2).then_some(self.holders.len().saturating_sub(1))
    }

    /// The lane on which a thread was seen last, or its own.
    fn lane_of(&self, thread: usize) -> LaneKey {
        let ran = |interval: &&Interval| interval.thread == thread;
        let seen = |(key, all): (&LaneKey, &Vec<Interval>)| Some((all.iter().rfind(ran)?.to, *key));
        let last = self.lanes.iter().filter_map(seen).max();
        last.map_or(LaneKey::Thread(thread), |(_, key)| key)
    }

    fn thread(&mut self, task: TaskId) -> usize {
        if let Some(known) = self.threads.iter().position(|thread| thread.task == task) {
            return known;
        }
        let (waited, preempted) = (Nanos(0), OffCpu::NONE);
        self.threads.push(LaneThread { task, roles: Vec::new(), waited, preempted });
        self.threads.len().saturating_sub(1)
    }

    /// Adds an interval, as far as it is on the time axis.
    fn add(&mut self, lane: LaneKey, interval: Interval) {
        let (from, to) = (interval.from.max(self.from), interval.to.min(self.to));
        if from < to {
            self.lanes.entry(lane).or_default().push(Interval { from, to, ..interval });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Comm, Pid, Tid};
    use wirelap_test_support::delivered;

    fn task(id: u32) -> TaskId {
        TaskId { pid: Pid(id), tid: Tid(id) }
    }

    fn message() -> Delivery {
        let holder = Holder { task: task(9), comm: Comm::from_name("hog"), held: Nanos(25) };
        let hop = Hop {
            task: task(2),
            woken: Nanos(20),
            running: Nanos(50),
            cpu: Some(Cpu(1)),
            holder,
            ..Hop::default()
        };
        let stages = [(Stage::Send, 0), (Stage::Sent, 5), (Stage::Ready, 20), (Stage::Running, 50)];
        let first = Leg {
            sender: Some(task(1)),
            reader: Some(task(2)),
            chain: vec![hop],
            ..delivered::leg(&[&stages[..], &[(Stage::Read, 60)]].concat())
        };
        let second = Leg {
            sender: Some(task(2)),
            reader: Some(task(3)),
            ..delivered::leg(&[(Stage::Send, 70), (Stage::Ready, 80), (Stage::Read, 100)])
        };
        delivered::delivery([first, second])
    }

    #[test]
    fn a_forwarder_runs_on_its_cpu_from_the_read_to_the_send() {
        let lanes = Lanes::of(&message());
        assert_eq!((lanes.from, lanes.to), (Nanos(0), Nanos(100)));
        let interval =
            |from, to, thread, doing| Interval { from: Nanos(from), to: Nanos(to), thread, doing };
        let known = &lanes.lanes[&LaneKey::Cpu(1, Cpu(1))];
        let expected = [
            interval(20, 50, 1, Doing::Waits(Some(0))),
            interval(50, 60, 1, Doing::Runs),
            interval(60, 70, 1, Doing::Runs),
        ];
        assert_eq!(known[..], expected);
        let unknown = |thread| &lanes.lanes[&LaneKey::Thread(thread)][..];
        assert_eq!(unknown(0), [interval(0, 5, 0, Doing::Runs)]);
        assert_eq!(unknown(2), [interval(80, 100, 2, Doing::Runs)]);
        assert_eq!(lanes.threads[1].roles, ["reads leg 1", "sends on leg 2"]);
        assert_eq!((lanes.threads[1].waited, lanes.holders[0].waiter), (Nanos(30), 1));
    }

    #[test]
    fn a_wait_of_which_most_is_not_explained_names_nobody() {
        let mut message = message();
        message.legs[0].chain[0].holder.held = Nanos(10);
        let lanes = Lanes::of(&message);
        assert_eq!(lanes.lanes[&LaneKey::Cpu(1, Cpu(1))][0].doing, Doing::Waits(None));
        assert_eq!(lanes.holders.len(), 1, "it is named in the legend");
    }
}
