//! How the threads rested that a part of a message's time is put down to.

use wirelap_events::{
    Delivery, Hop, Leg, LegOffCpu, Nanos, OffCpu, OffCpuReason, Segment, SleepCall, Stage,
};

/// Why a thread did not run, and the event that ended it.
pub type Rest = (OffCpuReason, SleepCall);

/// The rest of a thread that sleeps for a time of its own.
pub const TIMED: Rest = (OffCpuReason::Asleep, SleepCall::Timer);

/// How a thread rests that waits for a disk.
pub const BLOCKED: Rest = (OffCpuReason::Blocked, SleepCall::Unknown);

/// How a thread rests that was stopped.
const STOPPED: Rest = (OffCpuReason::Stopped, SleepCall::Unknown);

/// Rest of the thread that the leg waited for `time` for: the longest rest, where there were several. What threads did before a forwarder had the
/// message, or while one before them had it, is not about it.
pub fn rest_of(delivery: &Delivery, leg: usize, segment: Segment, time: Nanos) -> Option<Rest> {
    if is_in_socket(segment) {
        return None;
    }
    let on = delivery.legs.get(leg)?;
    let half = Nanos(time.0 / 2);
    if segment == Segment::Wakeup && is_timed_first(on, half) {
        return Some(TIMED);
    }
    let is_dwell = segment == Segment::BrokerDwell;
    let before = leg.checked_sub(1).and_then(|before| delivery.legs.get(before));
    let had = before.and_then(|before| before.times.get(Stage::Read)).filter(|_| is_dwell);
    let mut from = had.unwrap_or_default();
    let mut longest: Option<(Nanos, Rest)> = None;
    for hop in if is_dwell { &on.before } else { &on.chain } {
        let rested = hop.left.map_or(Nanos(0), |left| hop.woken - left.max(from).min(hop.woken));
        if longest.is_none_or(|(time, _)| rested >= time) {
            longest = Some((rested, (hop.reason, ended_by(hop, rested, half))));
        }
        from = if is_dwell { from.max(hop.running) } else { from };
    }
    let (rested, rest) = longest?;
    // A thread that rests several times is woken the last time only after most of it.
    let all =
        if rested < half { rest_in_all(delivery.off_cpu_of(leg), segment, half) } else { None };
    Some(all.unwrap_or(rest))
}

/// True if the first thread that was woken slept for a time of its own choice for most of it: others that it woke waited for it.
fn is_timed_first(on: &Leg, half: Nanos) -> bool {
    on.chain.first().is_some_and(|first| {
        let rested = first.left.map_or(Nanos(0), |left| first.woken - left);
        rested >= half && (first.reason, first.sleep_call()) == TIMED
    })
}

/// How one of the threads of a segment rested for as long, if it was stopped or blocked itself.
fn rest_in_all(rests: &LegOffCpu, segment: Segment, half: Nanos) -> Option<Rest> {
    let threads = match segment {
        Segment::BrokerDwell => [rests.dwell, rests.sender],
        _ => [rests.before_wakeup, rests.reader],
    };
    threads.into_iter().flatten().find_map(|rested| {
        let own = rested.deaf.min(rested.blocked);
        if rested.stopped >= half {
            Some(STOPPED)
        } else {
            (own - rested.stopped >= half).then_some(BLOCKED)
        }
    })
}

/// The event that ended a thread's sleep. A timer that it watched beside its sockets explains only what it slept for itself, as long as that is at
/// least `half` of the wait: a thread that looks around every few milliseconds waits for others meanwhile.
fn ended_by(hop: &Hop, rested: Nanos, half: Nanos) -> SleepCall {
    let is_tick = hop.sleep == SleepCall::TimedPoll && rested < half;
    if is_tick { SleepCall::Poll } else { hop.sleep_call() }
}

/// True if a thread of the forwarder rested for most of `time` for a time of its own choice, blocked or stopped, while it had the
/// message.
pub fn waited_for_none(delivery: &Delivery, leg: usize, time: Nanos) -> bool {
    let Some(on) = delivery.legs.get(leg) else { return false };
    let is_own = |hop: &&Hop| {
        (hop.reason, hop.sleep_call()) == TIMED
            || matches!(hop.reason, OffCpuReason::Blocked | OffCpuReason::Stopped)
    };
    let before = leg.checked_sub(1).and_then(|before| delivery.legs.get(before));
    let had = before.and_then(|before| before.times.get(Stage::Read)).unwrap_or_default();
    let rested = |hop: &Hop| hop.woken - hop.left.unwrap_or(hop.woken).max(had).min(hop.woken);
    let hops = on.before.iter().filter(is_own).map(rested).max().unwrap_or_default();
    let rests = delivery.off_cpu_of(leg);
    let threads = [rests.dwell, rests.sender].into_iter().flatten();
    let own_time = |rest: OffCpu| rest.deaf.max(rest.timed).max(rest.timed_poll);
    let longest = threads.map(own_time).max().unwrap_or_default();
    hops.max(longest) > Nanos(time.0 / 2)
}

/// Rest of the reader before it asked or acknowledged, if it slept for a time of its own.
pub fn asked_later(delivery: &Delivery, leg: usize) -> Option<Rest> {
    let rested = delivery.off_cpu_of(leg).requester?;
    (rested.timed.max(rested.timed_poll) > Nanos(rested.asleep.0 / 2)).then_some(TIMED)
}

/// The message waits in its sender's socket.
fn is_in_socket(segment: Segment) -> bool {
    matches!(segment, Segment::Write | Segment::SocketTx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_test_support::delivered;

    /// A broker had a message at 100 ns. A thread of it slept until a timer ended that, and woke one that had waited for work for long.
    #[test]
    fn what_a_thread_did_before_the_forwarder_had_the_message_is_not_its_rest() {
        let rested = |left, woken, from_irq| Hop {
            left: Some(Nanos(left)),
            woken: Nanos(woken),
            running: Nanos(woken),
            sleep: SleepCall::Lock,
            from_irq,
            ..Hop::default()
        };
        let first = delivered::leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let mut second = delivered::leg(&[(Stage::Send, 1_100), (Stage::Read, 1_200)]);
        second.before.push(rested(200, 900, true));
        second.before.push(rested(0, 1_000, false));
        let delivery = delivered::delivery(vec![first, second]);
        assert_eq!(rest_of(&delivery, 1, Segment::BrokerDwell, Nanos(900)), Some(TIMED));
    }
}
