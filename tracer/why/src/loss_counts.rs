//! Messages by what became of them that should not have.

use super::lag::AwayLoss;
use super::not_got::{MostLeft, NotGot};
use super::numbers::Missing;
use wirelap_events::{DropCause, Pid, Saturate, Total};
use wirelap_flow::{ClosedBy, ClosedConnection};
use wirelap_limits::rules::{TOLERATED_GAPS, TOLERATED_LOSS};
use wirelap_protocols::{DiscardedMessages, PutBack};

/// Why somebody who had got a topic's messages gets no more of them. The order is that of what is said where there are several reasons: the
/// last counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Departure {
    /// The subscriber's connection was closed.
    Closed(ClosedBy),
    /// The subscriber had unsubscribed.
    Unsubscribed,
}

impl Default for Departure {
    fn default() -> Departure {
        Departure::Closed(ClosedBy::default())
    }
}

impl Departure {
    fn of(closed: &ClosedConnection) -> Departure {
        if closed.unsubscribed.is_some() {
            Departure::Unsubscribed
        } else {
            Departure::Closed(closed.by)
        }
    }
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
    /// Read by a broker when the subscriber had left that their topic's messages had come to, and passed on to nobody.
    pub abandoned: AbandonedMessages,
    /// Not got by subscribers when their connections were closed.
    pub left_behind: NotGot<MostLeft>,
    /// Those of them that the broker had not sent.
    pub left_unsent: u64,
    /// Read by a subscriber, and not joined to any message that was sent.
    pub unjoined: u64,
    /// As many messages may have been in the bytes that were not captured or not understood: compressed in an unknown
    /// way, of a version that is not read.
    pub hidden: u64,
    /// Messages that their readers got and throw away, because their transactions were aborted.
    pub thrown_away: u64,
    /// Messages that their sender gave up when it had sent a part of them.
    pub cut_short: u64,
    /// Messages that a server discards, and its queues' limits.
    pub discarded: DiscardedMessages,
    /// Records that no reader was sent.
    pub passed_over: PassedOverRecords,
    /// Messages that a log had no more when their reader asked for them.
    pub not_kept: NotKeptMessages,
    /// Messages that came while their reader was away, and that it was not sent when it came back.
    pub away: MissedAway,
    /// What the workloads themselves say, if they keep count.
    pub told: Option<WorkloadCounts>,
    /// Numbers of messages that never came out of the publisher.
    pub skipped: Missing,
    /// Datagrams that this host threw away.
    pub datagrams: DroppedDatagrams,
    /// Delivered, or sent, more than once.
    pub duplicates: u64,
    /// Duplicates that a server sent a client again.
    pub redelivered: u64,
    /// Duplicates that a publisher sent again with the numbers by which a server stores each once.
    pub stored_once: u64,
    /// Messages that servers put back into their queues.
    pub put_back: PutBackMessages,
    /// Messages that came back to a server that had sent them on.
    pub looped: LoopedMessages,
    /// Messages whose payload was in shared memory.
    pub shared: u64,
    /// Segments that TCP sent again, and those that this host threw away.
    pub segments: LostSegments,
}

/// Messages that a broker read when the subscriber had left that their topic's messages had come to, and passed on to nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbandonedMessages {
    pub messages: u64,
    /// The subscriber that had left, the last time.
    pub left_by: Option<Pid>,
    /// The way in which it had left, the last time.
    pub departure: Departure,
    /// One of these subscribers' connections was closed without the farewell that its protocol has.
    pub is_abrupt: bool,
    /// Those besides that their server keeps in a session of their subscriber.
    pub in_session: u64,
    /// The subscriber whose session that is, the last time.
    pub session_of: Option<Pid>,
}

/// Records that no reader was sent: behind those of a reader that was seen before, and behind those of its own group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedOverRecords {
    /// The number of records of each of the two.
    pub records: [u64; 2],
    /// The process that began to read behind them.
    pub by: Option<Pid>,
}

/// Messages that servers put back into their queues for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutBackCount {
    pub messages: u64,
    /// The process that had got them and did not acknowledge them, the last time.
    pub by: Option<Pid>,
    /// True if other processes did so, too.
    pub has_others: bool,
}

/// Messages that servers put back into their queues, by reason, as in [`PutBack::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutBackMessages([PutBackCount; PutBack::ALL.len()]);

impl PutBackMessages {
    /// Messages of one client.
    pub fn of(messages: [u64; PutBack::ALL.len()], by: Option<Pid>) -> PutBackMessages {
        PutBackMessages(messages.map(|messages| PutBackCount { messages, by, has_others: false }))
    }

    /// The reasons for which there were some.
    pub fn all(&self) -> impl Iterator<Item = (PutBack, PutBackCount)> + '_ {
        PutBack::ALL.into_iter().zip(self.0).filter(|(_, count)| count.messages > 0)
    }

    /// Adds another's.
    pub fn add(&mut self, more: &PutBackMessages) {
        for (sum, more) in self.0.iter_mut().zip(more.0).filter(|(_, more)| more.messages > 0) {
            let is_another = sum.messages > 0 && sum.by != more.by;
            sum.messages.grow(more.messages);
            sum.by = more.by.or(sum.by);
            sum.has_others |= more.has_others || is_another;
        }
    }
}

/// Messages that another server handed back to the server that had sent them on, on the same topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopedMessages {
    /// Number of times that one came back.
    pub times: u64,
    /// The server that one came back to, the last time, and the server that handed it back.
    pub between: Option<[Pid; 2]>,
}

/// Messages that a log had no more when their reader asked for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotKeptMessages {
    /// Their number.
    pub messages: u64,
    /// The process that asked for them, the last time.
    pub by: Option<Pid>,
}

/// Messages that came while their reader was away, and that it was not sent when it came back to its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissedAway {
    /// Their number.
    pub messages: u64,
    /// Number of those that had expired by then.
    pub expired: u64,
    /// The process that came back, the last time.
    pub by: Option<Pid>,
}

/// Datagrams that this host threw away, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedDatagrams {
    /// The receiving socket's buffer was full.
    pub by_socket: u64,
    /// The processes whose receive buffers were full.
    pub full_sockets: FullSockets,
    /// A packet filter did it.
    pub by_filter: u64,
    /// A queue of the device was full.
    pub by_queue: u64,
}

/// Segments of TCP that were sent more than once, or thrown away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostSegments {
    /// Segments that TCP sent again.
    pub resent: u64,
    /// Segments that came when their bytes were there already.
    pub twice: u64,
    /// Packets that this host threw away, with bytes that were not there yet, by cause.
    pub dropped: [u64; DropCause::ALL.len()],
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

/// Counts that the workloads keep of their messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadCounts {
    /// Messages published.
    pub sent: u64,
    /// Deliveries that are due: for each message, as many as there are subscribers.
    pub due: u64,
    /// Deliveries.
    pub delivered: u64,
}

impl Losses {
    /// Numbers of messages that are missing on the publisher's way out, while others before and after them
    /// are not, and that nobody got.
    pub(super) fn unsent(&self) -> Option<(u64, u64)> {
        let Missing { missing, whole } = self.skipped;
        (missing.saturating_mul(TOLERATED_GAPS) > whole && self.missing().is_some())
            .then_some((missing, whole))
    }

    /// Number of messages whose delivery was not seen and that were not just hidden from us.
    pub(super) fn surely(&self, unseen: u64) -> u64 {
        let all_came = self.told.is_some_and(|told| told.delivered >= told.due);
        // What is in shared memory on one side of a router has no bytes there that the other side's are joined by.
        let DiscardedMessages { rolled_back, returned, .. } = self.discarded;
        let discarded = [self.thrown_away, rolled_back, returned].iter().total();
        let elsewhere = [self.hidden, self.unjoined, discarded, self.shared].iter().total();
        if all_came { 0 } else { unseen.saturating_sub(elsewhere) }
    }

    /// Deliveries that are missing, of those that are due, by the workloads' own count.
    pub(super) fn missing(&self) -> Option<(u64, u64)> {
        let told = self.told?;
        let missing = told.due.saturating_sub(told.delivered);
        (missing.saturating_mul(TOLERATED_LOSS) > told.due).then_some((missing, told.due))
    }

    /// So many messages came when their reader had left in this way, and wait in its session or not.
    pub fn abandon(&mut self, messages: u64, closed: ClosedConnection, is_in_session: bool) {
        let sum = &mut self.abandoned;
        if is_in_session {
            sum.in_session.grow(messages);
            sum.session_of = closed.pid.or(sum.session_of);
        } else if messages > 0 {
            sum.messages.grow(messages);
            sum.left_by = closed.pid.or(sum.left_by);
            sum.departure = Departure::of(&closed);
            sum.is_abrupt |= closed.is_abrupt && closed.unsubscribed.is_none();
        }
    }

    /// What most of the datagrams were thrown away for that this host threw away.
    pub fn datagrams_dropped(&self) -> Option<DropCause> {
        let (cause, count) =
            self.datagrams.by_cause().into_iter().max_by_key(|(_, count)| *count)?;
        (count > 0).then_some(cause)
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Losses) {
        self.sent.grow(other.sent);
        self.delivered.grow(other.delivered);
        self.unread.grow(other.unread);
        self.swallowed.grow(other.swallowed);
        self.unmatched.grow(other.unmatched);
        self.abandoned.add(&other.abandoned);
        self.left_behind.add(other.left_behind);
        self.left_unsent.grow(other.left_unsent);
        self.unjoined.grow(other.unjoined);
        self.hidden.grow(other.hidden);
        self.thrown_away.grow(other.thrown_away);
        self.cut_short.grow(other.cut_short);
        self.discarded.add(&other.discarded);
        self.passed_over.add(&other.passed_over);
        self.not_kept.add(other.not_kept);
        self.away.add(other.away);
        if let Some(more) = other.told {
            let told = self.told.get_or_insert_default();
            told.sent.grow(more.sent);
            told.due.grow(more.due);
            told.delivered.grow(more.delivered);
        }
        self.skipped.add(other.skipped);
        self.datagrams.add(&other.datagrams);
        self.duplicates.grow(other.duplicates);
        self.redelivered.grow(other.redelivered);
        self.stored_once.grow(other.stored_once);
        self.put_back.add(&other.put_back);
        self.looped.add(other.looped);
        self.shared.grow(other.shared);
        self.segments.add(&other.segments);
    }
}

impl AbandonedMessages {
    fn add(&mut self, other: &AbandonedMessages) {
        self.messages.grow(other.messages);
        self.left_by = other.left_by.or(self.left_by);
        self.departure = self.departure.max(other.departure);
        self.is_abrupt |= other.is_abrupt;
        self.in_session.grow(other.in_session);
        self.session_of = other.session_of.or(self.session_of);
    }
}

impl PassedOverRecords {
    /// Adds records that a reader began behind, and that reader.
    pub fn add(&mut self, more: &PassedOverRecords) {
        if more.records != [0; 2] {
            self.records.iter_mut().zip(more.records).for_each(|(sum, more)| sum.grow(more));
            self.by = more.by.or(self.by);
        }
    }
}

impl LoopedMessages {
    /// Adds those of another row, or one more.
    pub fn add(&mut self, more: LoopedMessages) {
        self.times.grow(more.times);
        self.between = more.between.or(self.between);
    }
}

impl NotKeptMessages {
    /// Adds those of a reader.
    pub fn add(&mut self, more: NotKeptMessages) {
        self.messages.grow(more.messages);
        self.by = more.by.or(self.by);
    }
}

impl MissedAway {
    /// Adds those of a reader.
    pub fn add(&mut self, more: MissedAway) {
        self.messages.grow(more.messages);
        self.expired.grow(more.expired);
        self.by = more.by.or(self.by);
    }

    /// Takes off those that a reader was sent later.
    pub fn take_off(&mut self, late: AwayLoss) {
        self.messages.shrink(late.messages);
        self.expired.shrink(late.expired);
    }
}

impl DroppedDatagrams {
    /// The number of datagrams by cause.
    pub fn by_cause(&self) -> [(DropCause, u64); 3] {
        [
            (DropCause::SocketBuffer, self.by_socket),
            (DropCause::Filter, self.by_filter),
            (DropCause::Queue, self.by_queue),
        ]
    }

    fn add(&mut self, other: &DroppedDatagrams) {
        self.by_socket.grow(other.by_socket);
        self.by_queue.grow(other.by_queue);
        self.by_filter.grow(other.by_filter);
        other.full_sockets.all().for_each(|(pid, more)| self.full_sockets.count(pid, more));
    }
}

impl LostSegments {
    fn add(&mut self, other: &LostSegments) {
        self.resent.grow(other.resent);
        self.twice.grow(other.twice);
        self.dropped.iter_mut().zip(other.dropped).for_each(|(sum, more)| sum.grow(more));
    }
}
