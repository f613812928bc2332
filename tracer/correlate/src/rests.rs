//! How the threads of a delivery rested while they had it.

use crate::threads::Threads;
use wirelap_events::{Delivery, Hop, Leg, Nanos, Rested, Rests, Sleep, Stage, TaskId, Tid};

/// Fills it in, for all legs.
pub fn fill(threads: &Threads, delivery: &mut Delivery) {
    let is_known = |leg: &Leg| leg.reader.is_some() || leg.sender.is_some();
    if !delivery.legs.iter().any(is_known) {
        return;
    }
    let mut before: Option<&Leg> = None;
    for leg in &delivery.legs {
        let mut rests = Rests::NONE;
        reader(threads, leg, &mut rests);
        if let Some(before) = before
            && let Some(read) = before.times.get(Stage::Read)
        {
            dwell(threads, leg, Had { read, by: before.reader }, &mut rests);
        }
        before = Some(leg);
        delivery.rests.push(rests);
    }
}

fn reader(threads: &Threads, leg: &Leg, rests: &mut Rests) {
    let seen = |until: Stage| leg.times.seen().rfind(|&(stage, _)| stage < until);
    let Some(read) = leg.times.get(Stage::Read) else { return };
    if let (Some(hop), Some(wakeup), Some((_, ready))) =
        (leg.chain.first(), leg.times.get(Stage::Wakeup), seen(Stage::Wakeup))
    {
        rests.before_wakeup = threads.rested(hop.task.tid, ready, wakeup);
    }
    if let (Some(reader), Some((_, since))) = (leg.reader, seen(Stage::Read)) {
        rests.reader = rested(threads, reader.tid, since, read);
    }
    let since = leg.times.get(Stage::Wakeup).unwrap_or(read);
    rests.chain = waits(threads, &leg.chain, since, read);
}

/// How threads waited for a CPU after their wakeups, within two moments.
fn waits(threads: &Threads, hops: &[Hop], from: Nanos, to: Nanos) -> Rested {
    let of = |hop: &Hop| {
        let (from, to) = (hop.woken.max(from), hop.running.min(to));
        let seen = if from < to { threads.rested(hop.task.tid, from, to) } else { None };
        Rested { asleep: Nanos(0), locked: Nanos(0), ..seen.unwrap_or_default() }
    };
    hops.iter().map(of).fold(Rested::NONE, |sum, one| sum + one)
}

/// When the forwarder had read the message, and which of its threads.
#[derive(Clone, Copy)]
struct Had {
    read: Nanos,
    by: Option<TaskId>,
}

/// Between the read of the leg before and the send of this one.
fn dwell(threads: &Threads, leg: &Leg, Had { read, by }: Had, rests: &mut Rests) {
    let Some(sent) = leg.times.get(Stage::Send) else { return };
    rests.before = waits(threads, &leg.before, read, sent);
    let mut woken = leg.before.iter().filter(|hop| hop.running > read);
    if let Some(first) = woken.next() {
        let has_slept = has_slept(first, read, by);
        let until = if has_slept { first.woken } else { first.left.unwrap_or(read) };
        rests.dwell = rested(threads, first.task.tid, read, until);
    }
    if let Some(sender) = leg.sender {
        let last = leg.before.last().map_or(read, |hop| hop.running.max(read));
        rests.sender = rested(threads, sender.tid, last, sent);
    }
}

/// Whether this is the forwarder's thread that had read the message, and slept on a lock after that: it was held up,
/// rather than handed something.
pub fn has_slept(hop: &Hop, read: Nanos, by: Option<TaskId>) -> bool {
    hop.sleep == Sleep::Lock && Some(hop.task) == by && hop.left.is_some_and(|left| left >= read)
}

/// `None` where the thread was first followed after `from`. One that was never seen to leave its CPU did not rest.
fn rested(threads: &Threads, tid: Tid, from: Nanos, to: Nanos) -> Option<Rested> {
    match threads.rested(tid, from, to) {
        None if !threads.is_followed(tid) => Some(Rested::NONE),
        rested => rested,
    }
}
