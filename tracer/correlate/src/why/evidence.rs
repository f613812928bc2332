//! What is gathered about a row while its messages are handed out.

use super::blame::{self, NOTICED, Parts};
use super::breakdown::{Cell, Upkeep};
use super::explanation::{Cause, ENOUGH, HolderShare, VerdictKind, WorstMessage};
use super::gathered::Gathered;
use super::judge::{DelayCause, Spending, Typical};
use super::limits::much;
use super::numbers::Missing;
use super::setting::Setting;
use super::weigh::hit_cell;
use crate::departures::Departure;
use crate::stats::{Distribution, read_at};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use wirelap_events::Saturate;
use wirelap_events::{
    CgroupId, Circumstances, Delivery, DropCause, Holder, Hop, Leg, Nanos, OffCpu, OffCpuReason,
    Pid, Segment, Sleep, Stage, TaskId, Tid, Wake,
};

/// The slowest messages that are kept.
const WORST: usize = 10;

/// Threads that are remembered for having had a CPU.
const HOLDERS: usize = 1024;

/// Those of them that are told.
const HOLDERS_TOLD: usize = 10;

/// A start-up of more than so many times the other messages is weighed with them.
const STEADY: u64 = 4;

/// What is known about why a row's messages took as long as they did. Of several repetitions, it can be
/// added up.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Of all messages but those of the start-up.
    pub(super) steady: Gathered,
    /// Of the first messages of their connections.
    pub(super) start_up: Gathered,
    holders: Holders,
    pub(super) worst: Vec<WorstMessage>,
    typical: Typical,
    /// Messages that something became of.
    pub losses: Losses,
    /// What surrounds it.
    pub setting: Setting,
    /// What only the workloads know: publish → send, and read → callback.
    pub(super) outside: Option<[Distribution; 2]>,
}

/// Messages, by what became of them that should not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Messages that were sent, and deliveries.
    pub sent: u64,
    /// Deliveries.
    pub delivered: u64,
    /// Datagrams that were sent, and not read within the patience that a message is given.
    pub unread: u64,
    /// Read by a broker, and passed on to nobody, while others of the same topic came to who got those before and after.
    pub swallowed: u64,
    /// Read by a broker, and not seen to leave it, where it is not known that it would have been.
    pub unmatched: u64,
    /// Read by a broker when the connection had been closed that their topic's messages had come to, and passed on to
    /// nobody.
    pub abandoned: u64,
    /// Whose connection that was, the last time.
    pub left_by: Option<Pid>,
    /// One was closed without the farewell that its protocol has.
    pub is_abrupt: bool,
    /// Read by a subscriber, and not joined to any message that was sent.
    pub unjoined: u64,
    /// As many messages may have been in the bytes that were not captured or not understood: compressed in an unknown
    /// way, of a version that is not read.
    pub hidden: u64,
    /// Their readers got them, and throw them away: their transactions were aborted.
    pub thrown_away: u64,
    /// What the workloads themselves say, where they keep count.
    pub told: Option<WorkloadCounts>,
    /// Numbers of messages that never came out of the publisher.
    pub skipped: Missing,
    /// Packets thrown away because the receiving socket's buffer was full.
    pub socket_drops: u64,
    /// Datagrams thrown away by a packet filter of this host.
    pub filter_drops: u64,
    /// Whose sockets these were.
    pub full_sockets: FullSockets,
    /// Packets thrown away because a queue of the device was full.
    pub queue_drops: u64,
    /// Delivered, or sent, more than once.
    pub duplicates: u64,
    /// Their payload was in shared memory.
    pub shared: u64,
    /// Segments that TCP sent again.
    pub resent: u64,
    /// Packets of TCP that this host threw away, with bytes that were not there yet, by cause.
    pub segments_dropped: [u64; DropCause::ALL.len()],
}

/// Processes whose receive buffers were full, and how many packets that cost each; of many, the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FullSockets([(Pid, u64); 8]);

impl FullSockets {
    /// So many more packets of this process were thrown away.
    pub fn count(&mut self, pid: Pid, packets: u64) {
        let slot = self.0.iter_mut().find(|(known, count)| *known == pid || *count == 0);
        if let Some(slot) = slot {
            *slot = (pid, slot.1.saturating_add(packets));
        }
    }

    /// Each process, and its packets.
    pub fn all(&self) -> impl Iterator<Item = (Pid, u64)> + '_ {
        self.0.iter().copied().filter(|&(_, packets)| packets > 0)
    }
}

/// What the workloads say of their messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadCounts {
    /// Messages published.
    pub sent: u64,
    /// Deliveries that are due: as many times as there are subscribers.
    pub due: u64,
    /// Deliveries.
    pub delivered: u64,
}

/// Puts the parts of one message where they belong.
struct Recorder<'a> {
    gathered: &'a mut Gathered,
    delivery: &'a Delivery,
    one_way: Nanos,
    spending: Spending,
}

impl Parts for Recorder<'_> {
    fn part(
        &mut self,
        leg: usize,
        segment: Segment,
        cause: Cause,
        time: Nanos,
        holder: Option<&Holder>,
    ) {
        let cell = Cell { leg, segment, cause };
        self.gathered.breakdown.part(self.one_way, cell, time);
        let Cause::Of(kind) = cause else { return self.ordinary(leg, segment, time) };
        let is_late = segment == Segment::BrokerDwell && was_asked_late(self.delivery, leg);
        let on = &self.delivery.legs[leg];
        let sends = is_senders(kind, segment, &on.circumstances);
        let task = match leg.checked_sub(1) {
            // Whom the broker waits for is the sender of the leg before.
            Some(before) if kind == VerdictKind::ReleaseWait => self.delivery.legs[before].sender,
            _ if sends => on.sender,
            _ => on.reader,
        };
        let pid = task.map_or(Pid(0), |task| task.pid);
        self.spending.part(leg, segment, kind, time, pid);
        let finding = self.gathered.finding_mut((leg, kind, pid));
        finding.late_requests.grow(u64::from(is_late));
        if time >= NOTICED {
            finding.parts.grow(1);
        }
        finding.segments[segment as usize].grow(time.0);
        if has_culprits(kind) {
            finding.culprits.add(holder, time);
        }
        if time > finding.longest {
            finding.cgroup = cgroup_of(self.delivery, leg, segment);
            finding.at_broker =
                if sends { leg > 0 } else { leg.saturating_add(1) < self.delivery.legs.len() };
            finding.longest = time;
            finding.task = task;
            finding.reader = on.reader;
            finding.holder = holder.copied();
            // Of a reader that did not ask it is not known how it rested.
            let is_asking = segment == Segment::BrokerDwell && !sends;
            finding.rest = if is_asking { None } else { rest_of(on, segment) };
            finding.circumstances = on.circumstances;
        }
    }
}

impl Recorder<'_> {
    /// Time without a cause counts only where it is long.
    fn ordinary(&mut self, leg: usize, segment: Segment, time: Nanos) {
        if much(VerdictKind::Unexplained).is_none_or(|much| time < much) {
            return;
        }
        let cell = hit_cell(leg, segment, Cause::Ordinary);
        self.gathered.breakdown.hit(self.one_way, cell, time);
        let read = read_at(self.delivery).unwrap_or_default();
        let finding = self.gathered.finding_mut((leg, VerdictKind::Unexplained, Pid(0)));
        finding.hits.grow(1);
        finding.when.add(read, time);
        finding.segments[segment as usize].grow(time.0);
    }

    /// All parts are known: what the message spent on each cause.
    fn end(&mut self) {
        let read = read_at(self.delivery).unwrap_or_default();
        self.gathered.when.add(read, self.one_way);
        for (leg, kind, time, pid) in self.spending.all() {
            let is_much = much(kind).is_some_and(|much| time >= much);
            if time < NOTICED {
                continue;
            }
            let finding = self.gathered.finding_mut((leg, kind, pid));
            finding.message(time);
            if kind == VerdictKind::Retransmission {
                finding.lost.message(&self.delivery.legs[leg].circumstances);
            }
            finding.when.add(read, time);
            if is_much {
                finding.hits.grow(1);
                finding.hit_time += time;
                let cell = hit_cell(leg, Segment::Wire, Cause::Of(kind));
                self.gathered.breakdown.hit(self.one_way, cell, time);
            }
        }
    }
}

/// Whether the request for a message came after the broker had read it.
fn was_asked_late(delivery: &Delivery, leg: usize) -> bool {
    let before = leg.checked_sub(1).and_then(|before| delivery.legs.get(before));
    let read = before.and_then(|before| before.times.get(Stage::Read));
    let asked = delivery.legs.get(leg).and_then(|leg| leg.circumstances.allowed());
    asked.zip(read).is_some_and(|((asked, _), read)| asked > read)
}

/// How the thread rested that the leg waited for: the longest rest, where there were several.
fn rest_of(leg: &Leg, segment: Segment) -> Option<(OffCpuReason, Sleep)> {
    if is_in_socket(segment) {
        return None;
    }
    let hops = if segment == Segment::BrokerDwell { &leg.before } else { &leg.chain };
    let rested = |hop: &&Hop| hop.left.and_then(|left| hop.woken.since(left)).unwrap_or_default();
    hops.iter().max_by_key(rested).map(|hop| (hop.reason, hop.sleep))
}

/// Whether somebody else is to blame for it who can be named.
fn has_culprits(kind: VerdictKind) -> bool {
    matches!(
        kind,
        VerdictKind::RunQueueContention | VerdictKind::TracerInfluence | VerdictKind::LockWait
    )
}

/// The cgroup whose quota was used up in a segment, or at its threads.
fn cgroup_of(delivery: &Delivery, leg: usize, segment: Segment) -> CgroupId {
    let rests = delivery.off_cpu_of(leg);
    let all: [Option<OffCpu>; 4] = match segment {
        Segment::Write | Segment::SocketTx => [Some(rests.writing), Some(rests.unread), None, None],
        Segment::BrokerDwell => {
            [rests.dwell, rests.sender, Some(rests.before), Some(rests.handoff_before)]
        }
        _ => [rests.before_wakeup, Some(rests.chain), rests.reader, Some(rests.handoff)],
    };
    let longest = all.iter().flatten().max_by_key(|rested| rested.throttled);
    longest.map_or(CgroupId(0), |rested| rested.cgroup)
}

/// The message waits in its sender's socket.
fn is_in_socket(segment: Segment) -> bool {
    matches!(segment, Segment::Write | Segment::SocketTx)
}

/// Whether it is the sender of the leg whose doing or loss it is.
fn is_senders(kind: VerdictKind, segment: Segment, seen: &Circumstances) -> bool {
    // Who waits for lost bytes is not who knows what became of them.
    if kind == VerdictKind::Retransmission {
        return true;
    }
    match segment {
        Segment::ClientTx | Segment::Write | Segment::SocketTx | Segment::Qdisc => {
            // What a thread does that the socket waits for, the reader does.
            let is_own_pace = seen.is_late_write() || seen.tx.is_none();
            let is_readers = segment != Segment::Write || !is_own_pace;
            !(is_readers && is_of_thread(kind)) && kind != VerdictKind::ReceiveWindow
        }
        // A reader that did not ask for what its broker had.
        Segment::BrokerDwell => {
            !matches!(kind, VerdictKind::ClientStalled | VerdictKind::ReaderBusy)
        }
        _ => false,
    }
}

/// Whether it is what a thread did, or could not do.
fn is_of_thread(kind: VerdictKind) -> bool {
    matches!(
        kind,
        VerdictKind::CpuThrottled
            | VerdictKind::RunQueueContention
            | VerdictKind::TracerInfluence
            | VerdictKind::IdleWakeup
            | VerdictKind::LockWait
            | VerdictKind::BrokerStalled
            | VerdictKind::ClientStalled
    )
}

impl Evidence {
    /// Takes in a message that was matched from first send to last read. Returns what held it up more than those
    /// before it.
    pub(crate) fn delivery(
        &mut self,
        delivery: &Delivery,
        one_way: Nanos,
        upkeep: Upkeep,
    ) -> Option<DelayCause> {
        let is_start_up = delivery.legs.iter().any(|leg| leg.circumstances.start_up);
        let gathered = if is_start_up { &mut self.start_up } else { &mut self.steady };
        gathered.breakdown.message(one_way);
        gathered.breakdown.beside(one_way, read_at(delivery).unwrap_or_default(), upkeep);
        let spending = Spending::default();
        let mut parts = Recorder { gathered, delivery, one_way, spending };
        blame::blame(delivery, &mut parts);
        parts.end();
        let held_up = self.typical.held_up(&parts.spending);
        self.typical.renew(&self.steady.breakdown);
        if self.worst.len() < WORST || self.worst.last().is_some_and(|w| w.one_way < one_way) {
            self.keep(WorstMessage { delivery: delivery.clone(), one_way });
        }
        held_up
    }

    fn keep(&mut self, message: WorstMessage) {
        let place = self.worst.partition_point(|worse| worse.one_way >= message.one_way);
        self.worst.insert(place, message);
        self.worst.truncate(WORST);
    }

    /// The threads that are named for something.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = TaskId> {
        let all = self.steady.all().chain(self.start_up.all());
        all.filter_map(|finding| finding.task)
    }

    /// A thread of the row's processes waited for a CPU until `at`.
    pub(crate) fn waited(&mut self, at: Nanos, wake: &Wake) {
        self.holders.waited(at, wake);
    }

    /// TCP's bytes were thrown away on this host; they come again.
    pub(crate) fn segment_dropped(&mut self, cause: DropCause) {
        self.losses.segments_dropped[cause as usize].grow(1);
    }

    /// A datagram of the row, on its way to `reader`, was thrown away.
    pub(crate) fn dropped(&mut self, cause: DropCause, reader: Option<Pid>) {
        match cause {
            DropCause::SocketBuffer => {
                self.losses.socket_drops.grow(1);
                if let Some(reader) = reader {
                    self.losses.full_sockets.count(reader, 1);
                }
            }
            DropCause::Queue => self.losses.queue_drops.grow(1),
            DropCause::Filter => self.losses.filter_drops.grow(1),
            DropCause::NoSocket | DropCause::Duplicate | DropCause::Other => {}
        }
    }

    /// What the workloads say of a message: how long before its send it was published, and how long after
    /// its read it was handed to the application.
    pub fn outside(&mut self, before: Nanos, after: Nanos) {
        let [tx, rx] =
            self.outside.get_or_insert_with(|| [Distribution::new(2), Distribution::new(2)]);
        tx.add(before.0);
        rx.add(after.0);
    }

    /// Adds what the workloads of a repetition say.
    pub fn tell(&mut self, told: WorkloadCounts) {
        self.losses.add(&Losses { told: Some(told), ..Losses::default() });
    }

    /// Adds a repetition's.
    pub fn merge(&mut self, other: &Evidence) {
        self.steady.merge(&other.steady);
        self.start_up.merge(&other.start_up);
        self.holders.merge(&other.holders);
        other.worst.iter().for_each(|message| self.keep(message.clone()));
        self.losses.add(&other.losses);
        self.setting.add(&other.setting);
        match (&mut self.outside, &other.outside) {
            (Some([tx, rx]), Some([other_tx, other_rx])) => {
                tx.merge(other_tx);
                rx.merge(other_rx);
            }
            (None, Some(other)) => self.outside = Some(other.clone()),
            (_, None) => {}
        }
    }

    /// Who had a CPU while its threads waited for one, the longest first.
    pub(super) fn holders(&self) -> Vec<HolderShare> {
        let mut holders: Vec<HolderShare> = self.holders.0.values().map(|one| one.0).collect();
        holders.sort_by_key(|share| (std::cmp::Reverse(share.held), share.task.tid));
        holders.truncate(HOLDERS_TOLD);
        holders
    }

    /// The messages that are weighed: those of the start-up are not among them if there are enough others.
    pub(super) fn weighed(&self) -> Cow<'_, Gathered> {
        let (steady, first) =
            (self.steady.breakdown.messages(), self.start_up.breakdown.messages());
        if first == 0 || steady >= ENOUGH && steady >= first / STEADY {
            return Cow::Borrowed(&self.steady);
        }
        let mut all = self.steady.clone();
        all.merge(&self.start_up);
        Cow::Owned(all)
    }
}

/// Who had a CPU while threads of a row waited for it, and until when that has been counted.
#[derive(Clone, Debug, Default)]
struct Holders(FxHashMap<Tid, (HolderShare, Nanos)>);

impl Holders {
    /// Each moment counts once for each thread that had a CPU, however many threads waited.
    fn waited(&mut self, at: Nanos, wake: &Wake) {
        let since = wake.woken + wake.throttled;
        for holder in std::iter::once(&wake.holder).chain(&wake.others) {
            let Holder { task, comm, held } = *holder;
            let is_full = self.0.len() >= HOLDERS && !self.0.contains_key(&task.tid);
            if task.tid == Tid(0) || held == Nanos(0) || is_full {
                continue;
            }
            let none = HolderShare { task, comm, held: Nanos(0), waits: 0 };
            let (share, until) = self.0.entry(task.tid).or_insert((none, Nanos(0)));
            share.held += held.min(at - since.max(*until));
            share.waits.grow(1);
            *until = at.max(*until);
        }
    }

    fn merge(&mut self, other: &Holders) {
        for (share, _) in other.0.values() {
            let none = HolderShare { held: Nanos(0), waits: 0, ..*share };
            let (sum, _) = self.0.entry(share.task.tid).or_insert((none, Nanos(0)));
            sum.held += share.held;
            sum.waits.grow(share.waits);
        }
    }
}

impl Losses {
    /// Messages came when their readers had left.
    pub(crate) fn abandon(&mut self, messages: u64, departure: Departure) {
        if messages > 0 {
            self.abandoned.grow(messages);
            self.left_by = departure.pid.or(self.left_by);
            self.is_abrupt |= departure.is_abrupt;
        }
    }

    /// What most of the datagrams were thrown away for that this host threw away.
    pub fn datagrams_dropped(&self) -> Option<DropCause> {
        let causes = [
            (self.socket_drops, DropCause::SocketBuffer),
            (self.queue_drops, DropCause::Queue),
            (self.filter_drops, DropCause::Filter),
        ];
        let (count, cause) = causes.into_iter().max_by_key(|(count, _)| *count)?;
        (count > 0).then_some(cause)
    }

    fn add(&mut self, other: &Losses) {
        self.sent.grow(other.sent);
        self.delivered.grow(other.delivered);
        self.unread.grow(other.unread);
        self.swallowed.grow(other.swallowed);
        self.unmatched.grow(other.unmatched);
        self.abandoned.grow(other.abandoned);
        self.left_by = other.left_by.or(self.left_by);
        self.is_abrupt |= other.is_abrupt;
        self.unjoined.grow(other.unjoined);
        self.hidden.grow(other.hidden);
        self.thrown_away.grow(other.thrown_away);
        if let Some(more) = other.told {
            let told = self.told.get_or_insert_default();
            told.sent.grow(more.sent);
            told.due.grow(more.due);
            told.delivered.grow(more.delivered);
        }
        self.skipped.add(other.skipped);
        self.socket_drops.grow(other.socket_drops);
        self.queue_drops.grow(other.queue_drops);
        self.duplicates.grow(other.duplicates);
        self.shared.grow(other.shared);
        self.resent.grow(other.resent);
        other.full_sockets.all().for_each(|(pid, more)| self.full_sockets.count(pid, more));
        self.filter_drops.grow(other.filter_drops);
        let dropped = self.segments_dropped.iter_mut().zip(other.segments_dropped);
        dropped.for_each(|(sum, more)| sum.grow(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_in_which_many_wait_counts_once() {
        let task = TaskId { pid: Pid(9), tid: Tid(9) };
        let wake = |woken| Wake {
            woken: Nanos(woken),
            holder: Holder { task, held: Nanos(1_000 - woken), ..Holder::default() },
            ..Wake::default()
        };
        let mut evidence = Evidence::default();
        for waiting in 0..100 {
            evidence.waited(Nanos(1_000), &wake(waiting));
        }
        let why = evidence.explain();
        assert_eq!((why.holders[0].held, why.holders[0].waits), (Nanos(1_000), 100));
    }
}
