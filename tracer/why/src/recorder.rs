//! Puts the parts of one message's time where they belong.

use super::awaited::Awaited;
use super::blame::{BlameSink, BlamedPart, blame, error_in};
use super::breakdown::Cell;
use super::definition::{Bearer, Definition, Nature};
use super::evidence::Evidence;
use super::explanation::Cause;
use super::finding::LongestPart;
use super::gathered::Gathered;
use super::judge::{DelayCause, Spending};
use super::kind::VerdictKind;
use super::rests::{BLOCKED, TIMED, asked_later, rest_of, waited_for_none};
use super::verdicts::start_up;
use super::weigh::hit_cell;
use wirelap_limits::causes::NOTICEABLE_TIME;
use wirelap_limits::kinds::UNEXPLAINED;

use wirelap_events::{
    CgroupId, Circumstances, Delivery, Nanos, OffCpu, Pid, Saturate, Segment, Stage,
};
use wirelap_figures::ended_at;

/// Puts the parts of one message where they belong.
struct Recorder<'a> {
    gathered: &'a mut Gathered,
    delivery: &'a Delivery,
    one_way: Nanos,
    spending: &'a mut Spending,
}

impl BlameSink for Recorder<'_> {
    fn part(&mut self, part: BlamedPart<'_>) {
        let BlamedPart { leg, segment, cause, time, holder, awaited, holder_slept } = part;
        let cell = Cell { leg, segment, cause };
        self.gathered.breakdown.part(self.one_way, cell, time);
        let kind = match cause {
            Cause::Of(kind) => kind,
            Cause::Ordinary => return self.ordinary(leg, segment, time),
            Cause::Distance => return,
        };
        let definition = kind.definition();
        let is_late = segment == Segment::BrokerDwell && was_asked_late(self.delivery, leg);
        let on = &self.delivery.legs[leg];
        // Who asked too late is the reader, whatever it did meanwhile; what passes after that is not its time.
        let is_its_time = !matches!(awaited, Awaited::Nothing | Awaited::Answer | Awaited::Others);
        let is_wait = kind == VerdictKind::FetchWait || definition.nature == Nature::ThreadWait;
        let is_readers_wait = is_wait && is_late && is_its_time;
        let sends = is_senders(definition, segment, &on.circumstances) && !is_readers_wait;
        let task = match (awaited, leg.checked_sub(1)) {
            // Whom the broker waits for is the sender of the leg before.
            (Awaited::Release, Some(before)) => self.delivery.legs[before].sender,
            (Awaited::Replica, _) => on.circumstances.permission.replica.and_then(|one| one.server),
            // What is on its way, or was not seen, nobody is late with.
            (Awaited::UnseenRelease | Awaited::Answer, _) => None,
            // A link is nobody's process, and a rebalance is its group's, not the doing of who gets the messages then.
            _ if definition.bearer == Bearer::Nobody => None,
            (Awaited::Receipt, _) if kind == VerdictKind::ReleaseWait => None,
            // What was lost is an acknowledgement of its own.
            (Awaited::Acknowledgement, _) if kind == VerdictKind::Retransmission => on.reader,
            _ if sends => on.sender,
            _ => on.reader,
        };
        let pid = task.map_or(Pid(0), |task| task.pid);
        self.spending.part(leg, segment, kind, time, pid);
        let finding = self.gathered.finding_mut((leg, kind, pid));
        finding.late_requests.grow(u64::from(is_late));
        finding.note_awaited(awaited, kind, time, &on.circumstances);
        if time >= NOTICEABLE_TIME {
            finding.parts.grow(1);
        }
        finding.segments[segment as usize].grow(time.0);
        if definition.nature == Nature::Work {
            finding.works(ended_at(self.delivery), time);
        }
        if definition.has_culprits {
            finding.culprits.add(holder, time);
        }
        let is_behind = holder.is_some() && definition.nature == Nature::Stall;
        if kind == VerdictKind::BrokerStalled
            && (is_behind || waited_for_none(self.delivery, leg, time))
        {
            finding.waited_for_none += time;
        }
        if time > finding.longest.time {
            // Of a reader that did not ask, little is known of how it rested.
            let is_asking = segment == Segment::BrokerDwell && !sends;
            let own = || {
                if is_asking {
                    asked_later(self.delivery, leg)
                } else {
                    rest_of(self.delivery, leg, segment, time)
                }
            };
            let behind = if holder_slept { TIMED } else { BLOCKED };
            let is_last = leg.saturating_add(1) >= self.delivery.legs.len();
            finding.longest = LongestPart {
                time,
                task,
                at_broker: if sends { leg > 0 } else { !is_last },
                reader: on.reader,
                holder: holder.copied(),
                rest: is_behind.then_some(behind).or_else(own),
                cgroup: cgroup_of(self.delivery, leg, segment),
                circumstances: on.circumstances,
            };
        }
    }
}

impl Recorder<'_> {
    /// Time without a cause counts only where it is long, and longer than the error of its clocks.
    fn ordinary(&mut self, leg: usize, segment: Segment, time: Nanos) {
        let error = error_in(&self.delivery.legs[leg], segment);
        if error > Nanos(0) {
            self.gathered.note_error(leg, segment, error);
        }
        if time < UNEXPLAINED.slow.time || time <= error {
            return;
        }
        let cell = hit_cell(leg, segment, Cause::Ordinary);
        self.gathered.breakdown.hit(self.one_way, cell, time);
        let read = ended_at(self.delivery);
        let finding = self.gathered.finding_mut((leg, VerdictKind::Unexplained, Pid(0)));
        finding.hits.grow(1);
        finding.when.add(read, time);
        finding.segments[segment as usize].grow(time.0);
    }

    /// All parts are known: what the message spent on each cause.
    fn end(&mut self) {
        let read = ended_at(self.delivery);
        self.gathered.when.add(read, self.one_way);
        for (leg, kind, time, pid) in self.spending.all() {
            let limits = kind.definition().limits;
            let is_much = limits.is_some_and(|limits| time >= limits.slow.time);
            if time < NOTICEABLE_TIME {
                continue;
            }
            let finding = self.gathered.finding_mut((leg, kind, pid));
            finding.message(time);
            if kind == VerdictKind::Retransmission {
                finding.lost.message(&self.delivery.legs[leg].circumstances);
            }
            finding.when.add(read, time);
            if is_much {
                finding.hit(read, time);
                let cell = hit_cell(leg, Segment::Wire, Cause::Of(kind));
                self.gathered.breakdown.hit(self.one_way, cell, time);
            }
        }
    }
}

/// True if the request for a message came after the broker had read it.
fn was_asked_late(delivery: &Delivery, leg: usize) -> bool {
    let before = leg.checked_sub(1).and_then(|before| delivery.legs.get(before));
    let read = before.and_then(|before| before.times.get(Stage::Read));
    let asked = delivery.legs.get(leg).and_then(|leg| leg.circumstances.allowed());
    asked.zip(read).is_some_and(|(asked, read)| asked > read)
}

/// The cgroup whose quota was used up in a segment, or at its threads.
fn cgroup_of(delivery: &Delivery, leg: usize, segment: Segment) -> CgroupId {
    let rests = delivery.off_cpu_of(leg);
    let all: [Option<OffCpu>; 5] = match segment {
        Segment::Write | Segment::SocketTx => {
            [Some(rests.writing), Some(rests.unread), None, None, None]
        }
        Segment::BrokerDwell => {
            let handing = Some(rests.handoff_before);
            [rests.dwell, rests.sender, Some(rests.before), handing, rests.requester]
        }
        _ => [rests.before_wakeup, Some(rests.chain), rests.reader, Some(rests.handoff), None],
    };
    let longest = all.iter().flatten().max_by_key(|rested| rested.throttled);
    longest.map_or(CgroupId(0), |rested| rested.cgroup)
}

/// True if it is the doing or loss of the leg's sender.
fn is_senders(definition: &Definition, segment: Segment, seen: &Circumstances) -> bool {
    let bearer = definition.bearer;
    if bearer == Bearer::Sender {
        return true;
    }
    match segment {
        Segment::ClientTx | Segment::Write | Segment::SocketTx | Segment::Qdisc => {
            // What a thread does that the socket waits for, the reader does.
            let is_of_thread =
                matches!(definition.nature, Nature::Work | Nature::Stall | Nature::ThreadWait);
            let is_own_pace =
                seen.is_late_write() || seen.writes_at_own_pace() || seen.socket.tx.is_none();
            let is_readers = segment != Segment::Write || !is_own_pace;
            let is_of_reader = matches!(bearer, Bearer::Reader | Bearer::ReaderOfSocket);
            !(is_of_reader || is_readers && is_of_thread)
        }
        // A reader that did not ask for what its broker had.
        Segment::BrokerDwell => !matches!(bearer, Bearer::Reader | Bearer::ReaderOfDwell),
        _ => false,
    }
}

impl Evidence {
    /// Takes in a message that was matched from first send to last read. Returns what held it up more than those
    /// before it.
    pub fn delivery(&mut self, delivery: &Delivery, one_way: Nanos) -> Option<DelayCause> {
        let is_first = delivery.legs.iter().any(|leg| leg.circumstances.start_up);
        let is_start_up = is_first && start_up::is_of_start_up(delivery, one_way);
        let gathered = if is_start_up { &mut self.start_up } else { &mut self.steady };
        gathered.breakdown.message(one_way);
        // Large, and so never moved.
        let mut spending = Spending::default();
        let mut parts = Recorder { gathered, delivery, one_way, spending: &mut spending };
        blame(delivery, &mut parts);
        parts.end();
        self.hold_up(&spending, delivery, one_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{TaskId, Tid};
    use wirelap_test_support::delivered;

    /// A broker that had a message at 100 ns waited, was asked or allowed at 900 ns, and sent at 1,100 ns.
    #[test]
    fn who_keeps_a_broker_waiting_is_named() {
        let task = |pid| Some(TaskId { pid: Pid(pid), tid: Tid(pid) });
        let first = delivered::leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let mut second = delivered::leg(&[(Stage::Send, 1_100), (Stage::Read, 1_200)]);
        (second.sender, second.reader) = (task(3), task(4));
        second.circumstances.request.made = Some(Nanos(900));
        let delivery = delivered::delivery(vec![first, second]);
        let kind = VerdictKind::FetchWait;
        let named = |awaited| {
            let mut gathered = Gathered::default();
            let spending = &mut Spending::default();
            let one_way = Nanos(1_200);
            let mut recorder =
                Recorder { gathered: &mut gathered, delivery: &delivery, one_way, spending };
            let (segment, cause) = (Segment::BrokerDwell, Cause::Of(kind));
            let time = Nanos(800);
            recorder.part(BlamedPart {
                leg: 1,
                segment,
                cause,
                time,
                holder: None,
                awaited,
                holder_slept: false,
            });
            let pids = [0, 3, 4].map(Pid);
            pids.map(|pid| gathered.finding_mut((1, kind, pid)).whole())
        };
        let (nobody, broker, reader) = ([800, 0, 0], [0, 800, 0], [0, 0, 800]);
        assert_eq!(named(Awaited::Nothing), broker);
        assert_eq!(named(Awaited::Others), broker);
        assert_eq!(named(Awaited::Answer), nobody);
        for awaited in [
            Awaited::Request,
            Awaited::Acknowledgement,
            Awaited::LateAcknowledgement,
            Awaited::UnseenAcknowledgement,
        ] {
            assert_eq!(named(awaited), reader, "{awaited:?}");
        }
    }
}
