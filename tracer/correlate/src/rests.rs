//! How the threads of a delivery rested while they had it.

use crate::threads::Threads;
use wirelap_events::{Delivery, Leg, Nanos, Rested, Rests, Stage, Tid};

/// Fills it in, for all legs.
pub fn fill(threads: &Threads, delivery: &mut Delivery) {
    let is_known = |leg: &Leg| leg.reader.is_some() || leg.sender.is_some();
    if !delivery.legs.iter().any(is_known) {
        return;
    }
    let mut read_before = None;
    for leg in &delivery.legs {
        let mut rests = Rests::NONE;
        reader(threads, leg, &mut rests);
        if let Some(read) = read_before {
            dwell(threads, leg, read, &mut rests);
        }
        read_before = leg.times.get(Stage::Read);
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
}

/// Between the read of the leg before and the send of this one.
fn dwell(threads: &Threads, leg: &Leg, read: Nanos, rests: &mut Rests) {
    let Some(sent) = leg.times.get(Stage::Send) else { return };
    let mut woken = leg.before.iter().filter(|hop| hop.running > read);
    if let Some(first) = woken.next() {
        let until = first.left.unwrap_or(read);
        rests.dwell = rested(threads, first.task.tid, read, until);
    }
    if let Some(sender) = leg.sender {
        let last = leg.before.last().map_or(read, |hop| hop.running.max(read));
        rests.sender = rested(threads, sender.tid, last, sent);
    }
}

/// `None` where the thread was first followed after `from`. One that was never seen to leave its CPU did not rest.
fn rested(threads: &Threads, tid: Tid, from: Nanos, to: Nanos) -> Option<Rested> {
    match threads.rested(tid, from, to) {
        None if !threads.is_followed(tid) => Some(Rested::NONE),
        rested => rested,
    }
}
