//! What is gathered about a row while its messages are handed out.

use super::blame::{self, NOTICED, Parts};
use super::breakdown::{Breakdown, Cell};
use super::explanation::{Cause, HolderShare, VerdictKind, Why, WorstMessage};
use super::judge::{HeldUp, Spending, Typical};
use super::numbers::Missing;
use super::rules;
use crate::stats::Distribution;
use rustc_hash::FxHashMap;
use wirelap_events::{
    Circumstances, Comm, Delivery, DropCause, Holder, Hop, Leg, MAX_LEGS, Nanos, Pid, Rest,
    Segment, Stage, TaskId, Tid,
};

/// The slowest messages that are kept.
const WORST: usize = 10;

/// Threads that are remembered for having had a CPU.
const HOLDERS: usize = 1024;

/// What is known about why a row's messages took as long as they did. Of several repetitions, it can be
/// added up.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub(super) breakdown: Breakdown,
    /// By leg and kind; made when first used.
    findings: Vec<Option<Box<Finding>>>,
    holders: FxHashMap<Tid, HolderShare>,
    worst: Vec<WorstMessage>,
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
    /// Read by a broker, and passed on to nobody.
    pub swallowed: u64,
    /// As many messages may have been in the bytes that were not captured or not understood.
    pub hidden: u64,
    /// What the workloads themselves say, where they keep count.
    pub told: Option<Told>,
    /// Numbers of messages that never came out of the publisher.
    pub skipped: Missing,
    /// Packets thrown away because the receiving socket's buffer was full.
    pub socket_drops: u64,
    /// Packets thrown away because a queue of the device was full.
    pub queue_drops: u64,
    /// Delivered, or sent, more than once.
    pub duplicates: u64,
    /// Their payload was in shared memory.
    pub shared: u64,
    /// Segments that TCP sent again.
    pub resent: u64,
}

/// What the workloads say of their messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Messages published.
    pub sent: u64,
    /// Deliveries that are due: as many times as there are subscribers.
    pub due: u64,
    /// Deliveries.
    pub delivered: u64,
}

/// What surrounds a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setting {
    /// The middleware.
    pub middleware: String,
    /// The broker's name.
    pub broker: Option<String>,
    /// The senders send as fast as they can, so that something is always full.
    pub saturating: bool,
    /// Some messages were not watched, on purpose or because events were lost, so that missing ones tell
    /// nothing.
    pub sampled: bool,
    /// Names of processes.
    pub names: FxHashMap<Pid, Comm>,
    /// Which part of the time threads were on a CPU, 0..=1.
    pub busy: FxHashMap<Tid, f64>,
}

/// A kind of cause on a leg.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// Parts of messages that it is the cause of, and that are long enough to be noticed.
    pub parts: u64,
    pub time: Distribution,
    /// By segment.
    pub segments: [u64; Segment::ALL.len()],
    /// Of the part that took longest: how long, whose, and what else was seen.
    pub longest: Nanos,
    pub task: Option<TaskId>,
    /// That thread is the broker's.
    pub at_broker: bool,
    /// Waits to be asked that began before the request came.
    pub late_requests: u64,
    pub holder: Option<Holder>,
    /// How its thread rested.
    pub rest: Option<Rest>,
    pub circumstances: Circumstances,
}

impl Default for Finding {
    fn default() -> Finding {
        Finding {
            parts: 0,
            time: Distribution::new(2),
            segments: [0; Segment::ALL.len()],
            longest: Nanos(0),
            task: None,
            at_broker: false,
            late_requests: 0,
            holder: None,
            rest: None,
            circumstances: Circumstances::default(),
        }
    }
}

impl Finding {
    /// The segment that most of its time is in.
    pub fn segment(&self) -> Segment {
        let times = Segment::ALL.into_iter().zip(self.segments);
        times.max_by_key(|(_, time)| *time).map_or(Segment::Wire, |(segment, _)| segment)
    }

    fn merge(&mut self, other: &Finding) {
        self.parts += other.parts;
        self.late_requests += other.late_requests;
        self.time.merge(&other.time);
        self.segments.iter_mut().zip(other.segments).for_each(|(sum, more)| *sum += more);
        if other.longest > self.longest {
            (self.longest, self.task) = (other.longest, other.task);
            self.at_broker = other.at_broker;
            (self.holder, self.rest) = (other.holder, other.rest);
            self.circumstances = other.circumstances;
        }
    }
}

/// Puts the parts of one message where they belong.
struct Recorder<'a> {
    evidence: &'a mut Evidence,
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
        self.evidence.breakdown.part(self.one_way, cell, time);
        if let Some(holder) = holder {
            self.evidence.held(holder, time);
        }
        let Cause::Of(kind) = cause else { return };
        self.spending.part(leg, segment, kind, time);
        let is_late = kind == VerdictKind::FetchWait && was_asked_late(self.delivery, leg);
        let finding = self.evidence.finding_mut(leg, kind);
        if is_late {
            finding.late_requests += 1;
        }
        if time >= NOTICED {
            finding.parts += 1;
            finding.time.add(time.0);
        }
        finding.segments[segment as usize] += time.0;
        if time > finding.longest {
            let sends = is_senders(kind, segment);
            finding.at_broker = if sends { leg > 0 } else { leg + 1 < self.delivery.legs.len() };
            let leg = &self.delivery.legs[leg];
            finding.longest = time;
            finding.task = if sends { leg.sender } else { leg.reader };
            finding.holder = holder.copied();
            finding.rest = rest_of(leg, segment);
            finding.circumstances = leg.circumstances;
        }
    }
}

/// Whether the request for a message came after the broker had read it.
fn was_asked_late(delivery: &Delivery, leg: usize) -> bool {
    let before = leg.checked_sub(1).and_then(|before| delivery.legs.get(before));
    let read = before.and_then(|before| before.times.get(Stage::Read));
    let asked = delivery.legs.get(leg).and_then(|leg| leg.circumstances.asked);
    asked.zip(read).is_some_and(|(asked, read)| asked > read)
}

/// How the thread rested that the leg waited for: the longest rest, where there were several.
fn rest_of(leg: &Leg, segment: Segment) -> Option<Rest> {
    let hops = if segment == Segment::BrokerDwell { &leg.before } else { &leg.chain };
    let rested = |hop: &&Hop| hop.left.and_then(|left| hop.woken.since(left)).unwrap_or_default();
    hops.iter().max_by_key(rested).map(|hop| hop.rest)
}

/// Whether it is the sender of the leg whose doing or loss it is.
fn is_senders(kind: VerdictKind, segment: Segment) -> bool {
    match segment {
        Segment::ClientTx | Segment::Write | Segment::SocketTx | Segment::Qdisc => {
            kind != VerdictKind::ReceiveWindow
        }
        Segment::BrokerDwell => true,
        _ => false,
    }
}

impl Evidence {
    /// Takes in a message that was matched from first send to last read. Returns what held it up more than those
    /// before it.
    pub(crate) fn delivery(&mut self, delivery: &Delivery, one_way: Nanos) -> Option<HeldUp> {
        let beside_upkeep = delivery.legs.iter().any(|leg| leg.circumstances.beside_upkeep);
        self.breakdown.message(one_way, beside_upkeep);
        let spending = Spending::default();
        let mut parts = Recorder { evidence: self, delivery, one_way, spending };
        blame::blame(delivery, &mut parts);
        let spending = parts.spending;
        let held_up = self.typical.held_up(&spending);
        self.typical.renew(&self.breakdown);
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

    fn held(&mut self, holder: &Holder, time: Nanos) {
        let tid = holder.task.tid;
        if self.holders.len() >= HOLDERS && !self.holders.contains_key(&tid) {
            return;
        }
        let share = self.holders.entry(tid).or_insert(HolderShare {
            task: holder.task,
            comm: holder.comm,
            held: Nanos(0),
            waits: 0,
        });
        share.held = share.held + time.min(holder.held);
        share.waits += 1;
    }

    fn finding_mut(&mut self, leg: usize, kind: VerdictKind) -> &mut Finding {
        let index = leg.min(MAX_LEGS - 1) * VerdictKind::ALL.len() + kind as usize;
        if self.findings.len() <= index {
            self.findings.resize(MAX_LEGS * VerdictKind::ALL.len(), None);
        }
        self.findings[index].get_or_insert_default()
    }

    pub(super) fn finding(&self, leg: usize, kind: VerdictKind) -> Option<&Finding> {
        self.findings.get(leg * VerdictKind::ALL.len() + kind as usize)?.as_deref()
    }

    /// The threads that are named for something.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = TaskId> {
        self.findings.iter().flatten().filter_map(|finding| finding.task)
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = &HolderShare> {
        self.holders.values()
    }

    /// What a message near the median waits between its send call and the device, on its first leg, in
    /// nanoseconds.
    pub(super) fn pushed_back(&self) -> f64 {
        const WAITS: [Segment; 3] = [Segment::Write, Segment::SocketTx, Segment::Qdisc];
        let middle = self.breakdown.middle();
        let cells = self.breakdown.cells().iter().enumerate();
        let waits = cells.filter(|(_, cell)| cell.leg == 0 && WAITS.contains(&cell.segment));
        waits.map(|(slot, _)| middle.mean(slot)).sum()
    }

    /// A packet of the row was thrown away.
    pub(crate) fn dropped(&mut self, cause: DropCause) {
        match cause {
            DropCause::SocketBuffer => self.losses.socket_drops += 1,
            DropCause::Queue => self.losses.queue_drops += 1,
            DropCause::NoSocket | DropCause::Other => {}
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
    pub fn tell(&mut self, told: Told) {
        self.losses.add(&Losses { told: Some(told), ..Losses::default() });
    }

    /// Adds a repetition's.
    pub fn merge(&mut self, other: &Evidence) {
        self.breakdown.merge(&other.breakdown);
        for leg in 0..MAX_LEGS {
            for kind in VerdictKind::ALL {
                if let Some(finding) = other.finding(leg, kind) {
                    self.finding_mut(leg, kind).merge(finding);
                }
            }
        }
        for share in other.holders.values() {
            let sum = self.holders.entry(share.task.tid).or_insert(HolderShare {
                held: Nanos(0),
                waits: 0,
                ..*share
            });
            sum.held = sum.held + share.held;
            sum.waits += share.waits;
        }
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

    /// What is to be said of it.
    pub fn explain(&self) -> Why {
        let mut holders: Vec<HolderShare> = self.holders.values().copied().collect();
        holders.sort_by_key(|share| (std::cmp::Reverse(share.held), share.task.tid));
        holders.truncate(10);
        Why {
            messages: self.breakdown.messages(),
            verdicts: rules::verdicts(self),
            typical: rules::typical(&self.breakdown),
            tails: rules::tails(&self.breakdown),
            worst: self.worst.clone(),
            holders,
        }
    }
}

impl Losses {
    fn add(&mut self, other: &Losses) {
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.unread += other.unread;
        self.swallowed += other.swallowed;
        self.hidden += other.hidden;
        if let Some(more) = other.told {
            let told = self.told.get_or_insert_default();
            told.sent += more.sent;
            told.due += more.due;
            told.delivered += more.delivered;
        }
        self.skipped.add(other.skipped);
        self.socket_drops += other.socket_drops;
        self.queue_drops += other.queue_drops;
        self.duplicates += other.duplicates;
        self.shared += other.shared;
        self.resent += other.resent;
    }
}

impl Setting {
    fn add(&mut self, other: &Setting) {
        if self.middleware.is_empty() {
            self.middleware.clone_from(&other.middleware);
            self.broker.clone_from(&other.broker);
        }
        self.saturating |= other.saturating;
        self.sampled |= other.sampled;
        self.names.extend(&other.names);
        self.busy.extend(&other.busy);
    }
}
