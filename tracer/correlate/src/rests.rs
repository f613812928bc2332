//! How the threads of a delivery rested while they had it.

use crate::threads::Threads;
use wirelap_events::{Leg, Nanos, Rested, Stage, Tid};

/// Fills it in, for all legs.
pub fn fill(threads: &Threads, legs: &mut [Leg]) {
    let mut read_before = None;
    for leg in legs {
        reader(threads, leg);
        if let Some(read) = read_before {
            dwell(threads, leg, read);
        }
        read_before = leg.times.get(Stage::Read);
    }
}

fn reader(threads: &Threads, leg: &mut Leg) {
    let seen = |until: Stage| leg.times.seen().filter(|&(stage, _)| stage < until).last();
    let Some(read) = leg.times.get(Stage::Read) else { return };
    if let (Some(hop), Some(wakeup), Some((_, ready))) =
        (leg.chain.first(), leg.times.get(Stage::Wakeup), seen(Stage::Wakeup))
    {
        leg.circumstances.before_wakeup = threads.rested(hop.task.tid, ready, wakeup);
    }
    if let (Some(reader), Some((_, since))) = (leg.reader, seen(Stage::Read)) {
        leg.circumstances.reader_rested = rested(threads, reader.tid, since, read);
    }
}

/// Between the read of the leg before and the send of this one.
fn dwell(threads: &Threads, leg: &mut Leg, read: Nanos) {
    let Some(sent) = leg.times.get(Stage::Send) else { return };
    let mut woken = leg.before.iter().filter(|hop| hop.running > read);
    if let Some(first) = woken.next() {
        let until = first.left.unwrap_or(read);
        leg.circumstances.dwell_rested = rested(threads, first.task.tid, read, until);
    }
    if let Some(sender) = leg.sender {
        let last = leg.before.last().map_or(read, |hop| hop.running.max(read));
        leg.circumstances.sender_rested = rested(threads, sender.tid, last, sent);
    }
}

fn rested(threads: &Threads, tid: Tid, from: Nanos, to: Nanos) -> Rested {
    threads.rested(tid, from, to).unwrap_or_default()
}
