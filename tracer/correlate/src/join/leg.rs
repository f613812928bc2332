//! From what the hooks saw to one leg whose times run forward.

use wirelap_events::{
    Circumstances, FlowKey, FlowRange, Hop, Leg, LegLosses, Nanos, Saturate, SocketId, Stage,
    StageTimes,
};
use wirelap_flow::{Path, set_off};

/// A leg, which is large, in the place of a `spare` one if there is one, and how many stages had to be left out because their times contradicted the others.
pub fn build(
    flow: FlowKey,
    from: Option<SocketId>,
    to: Option<SocketId>,
    path: &Path<'_>,
    spare: Option<Box<Leg>>,
) -> (Box<Leg>, u64) {
    let mut leg = spare.unwrap_or_else(|| Box::new(nothing(flow)));
    leg.flow = flow;
    leg.from = from;
    leg.to = path.reader.and_then(|reader| reader.socket).or(to);
    leg.sender = path.sender;
    leg.reader = path.reader.map(|reader| reader.task);
    leg.times = times(path);
    leg.chain.clear();
    leg.before.clear();
    leg.before.extend_from_slice(path.sending);
    leg.flow_range = FlowRange::default();
    leg.circumstances = path.circumstances;
    let dropped = drop_backwards(&mut leg.times, path.circumstances.path.hosts.slack());
    let dropped = dropped.saturating_add(add_wakeup(&mut leg, path.reading));
    (leg, dropped)
}

/// A leg of which nothing is known yet.
pub fn nothing(flow: FlowKey) -> Leg {
    Leg {
        flow,
        from: None,
        to: None,
        sender: None,
        reader: None,
        times: StageTimes::default(),
        chain: Vec::new(),
        before: Vec::new(),
        flow_range: FlowRange::default(),
        circumstances: Circumstances::default(),
    }
}

/// The stages that were seen.
fn times(path: &Path<'_>) -> StageTimes {
    let mut times = StageTimes::default();
    let seen = [
        (Stage::Publish, path.publish),
        (Stage::Send, path.send),
        (Stage::Sent, path.sent),
        (Stage::Lost, path.lost),
        (Stage::Queue, path.queue),
        (Stage::Xmit, path.xmit),
        (Stage::Rx, path.rx),
        (Stage::Ready, path.ready),
        (Stage::Read, path.read),
    ];
    for (stage, at) in seen {
        if let Some(at) = at {
            times.set(stage, at);
        }
    }
    times
}

/// Adds wakeup and running when the reader slept while the data came. Where ready was not seen, the
/// last stage before it stands for it.
fn add_wakeup(leg: &mut Leg, chain: &[Hop]) -> u64 {
    let Some(read) = leg.times.get(Stage::Read) else { return 0 };
    let before = leg.times.seen().rfind(|&(stage, _)| stage < Stage::Wakeup);
    let Some((_, since)) = before else { return 0 };
    let Some((wakeup, hops)) = set_off(chain, since) else { return 0 };
    let running = hops.last().map_or(Nanos(0), |hop| hop.running);
    if running > read || wakeup > running {
        return 1;
    }
    leg.times.set(Stage::Wakeup, wakeup);
    leg.times.set(Stage::Running, running);
    leg.chain.extend_from_slice(hops);
    0
}

/// Leaves out stages that lie after the read or before an earlier stage: clocks of two CPUs, or a mark
/// of another copy. Send and read, which come from the calls themselves, decide over what is between. At the receiver, time may be
/// `slack` behind that at the sender.
fn drop_backwards(times: &mut StageTimes, slack: Nanos) -> u64 {
    let mut dropped = 0;
    let read = times.get(Stage::Read).unwrap_or(Nanos(u64::MAX));
    let (mut earliest, mut is_at_sender) = (Nanos(0), true);
    let all = *times;
    for (stage, at) in all.seen() {
        let latest = if stage < Stage::Rx { read + slack } else { read };
        let least = if is_at_sender && stage >= Stage::Rx { earliest - slack } else { earliest };
        if at < least || at > latest {
            times.clear(stage);
            dropped.grow(1);
        } else {
            (earliest, is_at_sender) = (at, stage < Stage::Rx);
        }
    }
    dropped
}

/// Takes the process that passes a message on for the reader of the leg at a `place`, at whose end no socket of this host is: it speaks TCP
/// itself. What was sent to it again came with the first copy, unless that was seen to be thrown away: it acknowledged nothing meanwhile.
pub fn take_sender_for_reader(legs: &mut [Leg], place: usize) {
    let sender = legs.get(place.saturating_add(1)).and_then(|next| next.sender);
    let Some(leg) = legs.get_mut(place).filter(|leg| leg.reader.is_none()) else { return };
    leg.reader = sender;
    if sender.is_none() || leg.circumstances.loss.dropped.is_some() {
        return;
    }
    leg.circumstances.loss = LegLosses::default();
    if let Some(first) = leg.times.get(Stage::Lost) {
        let left = [Stage::Queue, Stage::Xmit].map(|stage| (stage, leg.times.get(stage)));
        leg.times.clear(Stage::Lost);
        for (stage, _) in left.into_iter().filter(|(_, at)| at.is_some()) {
            leg.times.clear(stage);
            leg.times.set(stage, first);
        }
    }
    // What left before was there for it to acknowledge.
    let sent = leg.times.get(Stage::Sent);
    leg.circumstances.unread = sent.map(|sent| (sent, Nanos(u64::MAX)));
}

/// Leaves out the stages of legs that lie after the beginning of the next one. Returns whether each has any left.
pub fn cut_each(legs: &mut [Leg]) -> bool {
    let mut is_whole = true;
    for after in 1..legs.len() {
        let Some((_, begins)) = legs[after].times.seen().next() else { continue };
        is_whole &= cut_after(&mut legs[after.saturating_sub(1)], begins);
    }
    is_whole
}

/// Leaves out the stages of a leg that lie after `limit`, the beginning of the next leg: a process that
/// forwards a long message in parts begins before it has read the end. Returns whether any are left.
fn cut_after(leg: &mut Leg, limit: Nanos) -> bool {
    let all = leg.times;
    let slack = leg.circumstances.path.hosts.slack();
    for (stage, at) in all.seen() {
        if at > if stage < Stage::Rx { limit + slack } else { limit } {
            leg.times.clear(stage);
            if matches!(stage, Stage::Wakeup | Stage::Running) {
                leg.times.clear(Stage::Wakeup);
                leg.times.clear(Stage::Running);
                leg.chain.clear();
            }
        }
    }
    leg.times.seen().next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{DropCause, NetNs, Pid, Segment, TaskId, Tid, Transport};
    use wirelap_flow::ReadBy;

    fn leg(path: &Path<'_>) -> (Box<Leg>, u64) {
        let any = "127.0.0.1:1".parse().unwrap();
        build(FlowKey::new(Transport::Tcp, any, any, NetNs(0)), None, None, path, None)
    }

    fn hop(woken: u64, running: u64) -> [Hop; 1] {
        [Hop { woken: Nanos(woken), running: Nanos(running), ..Hop::default() }]
    }

    fn path(reading: &[Hop]) -> Path<'_> {
        Path {
            send: Some(Nanos(10)),
            ready: Some(Nanos(50)),
            read: Some(Nanos(100)),
            reader: Some(ReadBy { task: TaskId::default(), socket: None }),
            reading,
            ..Path::default()
        }
    }

    #[test]
    fn a_sleeper_has_a_scheduling_gap() {
        let segments = leg(&path(&hop(60, 90))).0.segments();
        assert_eq!(segments.get(Segment::Wakeup), Some(Nanos(10)));
        assert_eq!(segments.get(Segment::RunQueue), Some(Nanos(30)));
        assert_eq!(segments.get(Segment::Read), Some(Nanos(10)));
    }

    #[test]
    fn a_thread_that_was_runnable_already_only_waited() {
        let segments = leg(&path(&hop(40, 90))).0.segments();
        assert_eq!(segments.get(Segment::Wakeup), Some(Nanos(0)));
        assert_eq!(segments.get(Segment::RunQueue), Some(Nanos(40)));
    }

    #[test]
    fn a_running_thread_was_busy() {
        let segments = leg(&path(&hop(20, 30))).0.segments();
        assert_eq!(segments.sched_gap(), None);
        assert_eq!(segments.get(Segment::Busy), Some(Nanos(50)));
    }

    #[test]
    fn stages_that_run_backwards_are_left_out() {
        let hop = hop(60, 90);
        let wrong = Path { sent: Some(Nanos(5)), rx: Some(Nanos(200)), ..path(&hop) };
        let (leg, dropped) = leg(&wrong);
        assert_eq!(dropped, 2);
        assert!(leg.times.is_monotonic());
        assert_eq!(leg.segments().sum(), Nanos(90));
    }

    #[test]
    fn between_two_clocks_a_message_may_come_in_before_it_leaves() {
        let hop = hop(60, 90);
        let mut wrong = Path { xmit: Some(Nanos(55)), rx: Some(Nanos(45)), ..path(&hop) };
        assert_eq!(leg(&wrong).1, 2, "no clock of one host runs backwards");
        let hosts = &mut wrong.circumstances.path.hosts;
        (hosts.from, hosts.to, hosts.error) = (1, 2, Nanos(9));
        assert_eq!(leg(&wrong).1, 1, "further than their error");
        wrong.circumstances.path.hosts.error = Nanos(12);
        let (mut leg, dropped) = leg(&wrong);
        assert_eq!((dropped, leg.times.get(Stage::Rx)), (0, Some(Nanos(45))));
        assert_eq!(leg.crossing(), Some((Segment::Wire, [Nanos(0), Nanos(2)])));
        assert_eq!(leg.segments().get(Segment::Wire), Some(Nanos(0)));
        assert!(cut_after(&mut leg, Nanos(50)));
        assert_eq!(
            leg.times.seen().map(|(stage, _)| stage).collect::<Vec<_>>(),
            [Stage::Send, Stage::Xmit, Stage::Rx, Stage::Ready]
        );
    }

    #[test]
    fn what_a_proxy_without_a_socket_did_not_acknowledge_was_not_lost() {
        let task = TaskId { pid: Pid(5), tid: Tid(5) };
        let resent = Path {
            send: Some(Nanos(10)),
            sent: Some(Nanos(12)),
            lost: Some(Nanos(15)),
            queue: Some(Nanos(215)),
            xmit: Some(Nanos(216)),
            ..Path::default()
        };
        let resent_leg = |dropped: Option<DropCause>| {
            let (mut first, _) = leg(&resent);
            first.circumstances.loss.resent = true;
            first.circumstances.loss.dropped = dropped;
            let (mut next, _) = leg(&Path { send: Some(Nanos(310)), ..Path::default() });
            next.sender = Some(task);
            let mut legs = [*first, *next];
            take_sender_for_reader(&mut legs, 0);
            legs.into_iter().next().unwrap()
        };
        let leg = resent_leg(None);
        assert_eq!((leg.reader, leg.circumstances.loss), (Some(task), LegLosses::default()));
        assert_eq!(leg.times.seen().next_back(), Some((Stage::Xmit, Nanos(15))));
        assert_eq!(leg.circumstances.unread, Some((Nanos(12), Nanos(u64::MAX))));
        let leg = resent_leg(Some(DropCause::Queue));
        assert!(leg.circumstances.loss.resent && leg.times.get(Stage::Lost).is_some());
    }

    #[test]
    fn a_forwarder_that_does_not_wait_for_the_end_cuts_the_leg() {
        let (mut leg, _) = leg(&path(&hop(60, 90)));
        assert!(cut_after(&mut leg, Nanos(80)));
        assert_eq!(leg.times.seen().next_back(), Some((Stage::Ready, Nanos(50))));
        assert!(!cut_after(&mut leg, Nanos(5)));
    }
}
