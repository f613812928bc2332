//! Rests of the threads that a part of a message's time is put down to.

use wirelap_events::{
    Delivery, Hop, Leg, LegOffCpu, Nanos, OffCpuReason, Segment, SleepCall, Stage,
};

/// Why a thread did not run, and the event that ended it.
pub type Rest = (OffCpuReason, SleepCall);

/// The rest of a thread that sleeps for a time of its own.
pub const TIMED: Rest = (OffCpuReason::Asleep, SleepCall::Timer);

/// The rest of a thread that waits for a disk.
pub const BLOCKED: Rest = (OffCpuReason::Blocked, SleepCall::Unknown);

/// The rest of a thread that was stopped.
const STOPPED: Rest = (OffCpuReason::Stopped, SleepCall::Unknown);

/// Rest of the thread that the leg waited for `time` for: the longest rest, where there were several. What threads did before a forwarder had the
/// message, or while one before them had it, is not about it.
pub fn rest_of(delivery: &Delivery, leg: usize, segment: Segment, time: Nanos) -> Option<Rest> {
    let half = Nanos(time.0 / 2);
    if is_in_socket(segment) {
        // A reader that is stopped reads nothing of what left before.
        let is_stopped = segment == Segment::SocketTx
            && time > Nanos(0)
            && delivery.off_cpu_of(leg).unread.stopped >= half;
        return is_stopped.then_some(STOPPED);
    }
    let on = delivery.legs.get(leg)?;
    if let Some(rest) = timed_first(on, half).filter(|_| segment == Segment::Wakeup) {
        return Some(rest);
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

/// The rest of the first thread that was woken, if a timer ended that: others that it woke waited for it.
fn timed_first(on: &Leg, half: Nanos) -> Option<Rest> {
    let first = on.chain.first()?;
    let rested = first.woken - first.left?;
    let is_told = rested >= half || first.sleep == SleepCall::TimedPoll;
    let is_timed = (first.reason, first.sleep_call()) == TIMED;
    (is_told && is_timed).then(|| (first.reason, ended_by(first, rested, half)))
}

/// The rest of one of the threads of a segment for as long, if it was stopped or blocked itself.
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

/// The event that ended a thread's sleep. A timer that ended a wait for data explains only that wait, unless it is at least `half` of the whole: other
/// events may have been awaited before.
fn ended_by(hop: &Hop, rested: Nanos, half: Nanos) -> SleepCall {
    let is_last_part = hop.sleep == SleepCall::TimedPoll && rested < half;
    if is_last_part { hop.sleep } else { hop.sleep_call() }
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
    let longest = threads.map(|rest| rest.deaf.max(rest.timed)).max().unwrap_or_default();
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
    use wirelap_events::OffCpu;
    use wirelap_test_support::delivered;

    #[test]
    fn what_is_held_in_a_socket_may_wait_for_a_reader_that_is_stopped() {
        let rest = |stopped, segment| {
            let mut delivery = delivered::delivery(vec![delivered::leg(&[])]);
            let unread = OffCpu { asleep: Nanos(900), stopped, ..OffCpu::NONE };
            let rests = LegOffCpu { unread, ..LegOffCpu::NONE };
            delivery.off_cpu = [rests].into_iter().collect();
            rest_of(&delivery, 0, segment, Nanos(900))
        };
        assert_eq!(rest(Nanos(800), Segment::SocketTx), Some(STOPPED));
        assert_eq!(rest(Nanos(100), Segment::SocketTx), None);
        assert_eq!(rest(Nanos(800), Segment::Write), None);
    }

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

    fn hop(left: u64, woken: u64, sleep: SleepCall) -> Hop {
        let (left, woken) = (Some(Nanos(left)), Nanos(woken));
        Hop { left, woken, running: woken, sleep, from_irq: true, ..Hop::default() }
    }

    /// The rest of a reader for which data waited from 100 to 1,100 ns, and that left the CPU last at `left`.
    fn reader_rested(left: u64, sleep: SleepCall) -> Option<Rest> {
        let mut leg = delivered::leg(&[(Stage::Ready, 100), (Stage::Wakeup, 1_100)]);
        leg.chain.push(hop(left, 1_100, sleep));
        rest_of(&delivered::delivery(vec![leg]), 0, Segment::Wakeup, Nanos(1_000))
    }

    #[test]
    fn a_reader_that_polls_until_its_own_timer_sleeps_for_a_time_of_its_own() {
        assert_eq!(reader_rested(120, SleepCall::TimedPoll), Some(TIMED));
        let polled = Some((OffCpuReason::Asleep, SleepCall::Poll));
        assert_eq!(reader_rested(120, SleepCall::Poll), polled);
        // It may have waited for something else before, or have looked at other data.
        let last = Some((OffCpuReason::Asleep, SleepCall::TimedPoll));
        assert_eq!(reader_rested(1_000, SleepCall::TimedPoll), last);
    }

    #[test]
    fn who_is_woken_by_one_that_sleeps_for_a_time_of_its_own_waits_for_that() {
        let mut leg = delivered::leg(&[(Stage::Ready, 100), (Stage::Wakeup, 1_100)]);
        leg.chain.push(hop(120, 1_100, SleepCall::TimedPoll));
        leg.chain.push(Hop { from_irq: false, ..hop(10, 1_150, SleepCall::Lock) });
        let delivery = delivered::delivery(vec![leg]);
        assert_eq!(rest_of(&delivery, 0, Segment::Wakeup, Nanos(1_000)), Some(TIMED));
    }

    /// A thread of a broker writes to its disk several times before it answers, and hands the answer to one that waits for work.
    #[test]
    fn what_a_thread_was_blocked_for_in_all_counts_and_not_its_last_rest() {
        let told = |rested: OffCpu| {
            let first = delivered::leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
            let mut second = delivered::leg(&[(Stage::Send, 1_100), (Stage::Read, 1_200)]);
            let blocked = hop(990, 1_000, SleepCall::Unknown);
            second.before.push(Hop { reason: OffCpuReason::Blocked, ..blocked });
            second.before.push(hop(0, 1_050, SleepCall::Poll));
            let mut delivery = delivered::delivery(vec![first, second]);
            let rests = LegOffCpu { dwell: Some(rested), ..LegOffCpu::NONE };
            delivery.off_cpu = [LegOffCpu::NONE, rests].into_iter().collect();
            rest_of(&delivery, 1, Segment::BrokerDwell, Nanos(850))
        };
        let rested = |blocked, stopped, deaf| {
            let [blocked, stopped, deaf] = [blocked, stopped, deaf].map(Nanos);
            OffCpu { asleep: Nanos(850), blocked, stopped, deaf, ..OffCpu::NONE }
        };
        assert_eq!(told(rested(800, 0, 800)), Some(BLOCKED));
        assert_eq!(told(rested(800, 800, 800)), Some(STOPPED));
        // What another thread was blocked for is not its own rest.
        let polled = Some((OffCpuReason::Asleep, SleepCall::Poll));
        assert_eq!(told(rested(800, 0, 0)), polled);
        assert_eq!(told(rested(100, 0, 100)), polled);
    }
}
