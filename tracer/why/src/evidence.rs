//! Evidence about a row, gathered while its messages are handed out.

use super::explanation::{HolderShare, TimeSpent, WorstMessage};
use super::gathered::Gathered;
use super::gone::{MAX_SERVERS_TOLD, ServerGone};
use super::holders::Holders;
use super::judge::{DelayCause, Spending, Typical};
use super::kept::KeptTimes;
use super::loss_counts::{Losses, WorkloadCounts};
use super::not_got::{MissedBy, NotGot};
use super::setting::Setting;
use super::shared_name::{MAX_NAMES_TOLD, SharedName};
use super::stuck::StuckConnection;
use super::time_spent::time_spent;
use std::borrow::Cow;
use wirelap_events::{Delivery, DropCause, Nanos, Pid, Saturate, TaskId, Wake};
use wirelap_figures::Distribution;
use wirelap_limits::rules::{MIN_MESSAGES_FOR_VERDICT, STEADY_DIVISOR};

/// The slowest messages that are kept.
const WORST: usize = 10;

/// The evidence for why a row's messages took as long as they did. That of several repetitions can be
/// added up.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Sums of all messages but those of the start-up.
    pub(super) steady: Gathered,
    /// Sums of the first messages of their connections.
    pub(super) start_up: Gathered,
    holders: Holders,
    /// The slowest first.
    worst: Vec<Box<WorstMessage>>,
    typical: Typical,
    /// Messages that something became of.
    pub losses: Losses,
    /// Messages that one subscriber did not get, and others did.
    pub missed: NotGot<MissedBy>,
    /// Servers that went while clients were connected to them, the last ones.
    pub gone: Vec<ServerGone>,
    /// Names that several clients use at the same time, those that were taken over most often first.
    pub shared_names: Vec<SharedName>,
    /// Connections whose bytes do not arrive now.
    pub stuck: Vec<StuckConnection>,
    /// What surrounds it.
    pub setting: Setting,
    /// Times that only the workloads know: publish → send, and read → callback.
    pub(super) outside: Option<[Distribution; 2]>,
    /// Publish → send by the times in the messages themselves.
    pub(super) kept: Option<KeptTimes>,
}

impl Evidence {
    /// Keeps a message that spent its time so, if it is among the worst. Returns what held it up more than those before it.
    pub(super) fn hold_up(
        &mut self,
        spending: &Spending,
        delivery: &Delivery,
        one_way: Nanos,
    ) -> Option<DelayCause> {
        let held_up = self.typical.held_up(spending);
        self.typical.renew(&self.steady.breakdown);
        if self.worst.len() < WORST || self.worst.last().is_some_and(|w| w.one_way < one_way) {
            self.keep(delivery, one_way);
        }
        held_up
    }

    /// Takes over what was gathered of messages elsewhere: nothing was here. What became of messages that were not delivered stays.
    pub fn adopt(&mut self, other: Evidence) {
        let Evidence { steady, start_up, worst, typical, .. } = other;
        (self.steady, self.start_up) = (steady, start_up);
        (self.worst, self.typical) = (worst, typical);
    }

    /// Keeps a message that is among the worst. While more and more messages pile up, almost each of them is.
    fn keep(&mut self, delivery: &Delivery, one_way: Nanos) {
        let place = self.worst.partition_point(|worse| worse.one_way >= one_way);
        if place >= WORST {
            return;
        }
        let least = if self.worst.len() < WORST { None } else { self.worst.pop() };
        let message = match least {
            Some(mut room) => {
                room.delivery.clone_from(delivery);
                room.one_way = one_way;
                room
            }
            None => Box::new(WorstMessage { delivery: delivery.clone(), one_way }),
        };
        self.worst.insert(place, message);
    }

    /// The threads that are named for something.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> {
        let all = self.steady.all().chain(self.start_up.all());
        all.filter_map(|finding| finding.longest.task)
    }

    /// A thread of the row's processes waited for a CPU until `at`.
    pub fn waited(&mut self, at: Nanos, wake: &Wake) {
        self.holders.waited(at, wake);
    }

    /// TCP's bytes were thrown away on this host; they come again.
    pub fn segment_dropped(&mut self, cause: DropCause) {
        self.losses.segments.dropped[cause as usize].grow(1);
    }

    /// TCP's bytes came twice.
    pub fn segment_twice(&mut self) {
        self.losses.segments.twice.grow(1);
    }

    /// A datagram of the row, on its way to `reader`, was thrown away.
    pub fn dropped(&mut self, cause: DropCause, reader: Option<Pid>) {
        match cause {
            DropCause::SocketBuffer => {
                self.losses.datagrams.by_socket.grow(1);
                if let Some(reader) = reader {
                    self.losses.datagrams.full_sockets.count(reader, 1);
                }
            }
            DropCause::Queue => self.losses.datagrams.by_queue.grow(1),
            DropCause::Filter => self.losses.datagrams.by_filter.grow(1),
            DropCause::NoSocket | DropCause::Duplicate | DropCause::Other | DropCause::TooBig => {}
        }
    }

    /// Adds the times that the workloads tell of a message: from its publication to its send, and from
    /// its read until it was handed to the application.
    pub fn outside(&mut self, before: Nanos, after: Nanos) {
        let [tx, rx] =
            self.outside.get_or_insert_with(|| [Distribution::new(2), Distribution::new(2)]);
        tx.add(before.0);
        rx.add(after.0);
    }

    /// The times for which publishers keep messages, by the times in the messages themselves.
    pub fn kept(&mut self) -> &mut KeptTimes {
        self.kept.get_or_insert_with(KeptTimes::new)
    }

    /// Adds what the workloads of a repetition say.
    pub fn tell(&mut self, told: WorkloadCounts) {
        self.losses.add(&Losses { told: Some(told), ..Losses::default() });
    }

    /// A server of it went while clients were connected.
    pub fn lose_server(&mut self, gone: ServerGone) {
        if self.gone.len() >= MAX_SERVERS_TOLD {
            self.gone.remove(0);
        }
        self.gone.push(gone);
    }

    /// Several clients use a name at the same time.
    pub fn share_name(&mut self, name: SharedName) {
        self.shared_names.push(name);
        self.shared_names.sort_by_key(|one| std::cmp::Reverse(one.times));
        self.shared_names.truncate(MAX_NAMES_TOLD);
    }

    /// Adds a repetition's.
    pub fn merge(&mut self, other: &Evidence) {
        self.steady.merge(&other.steady);
        self.start_up.merge(&other.start_up);
        self.holders.merge(&other.holders);
        other.worst.iter().for_each(|worse| self.keep(&worse.delivery, worse.one_way));
        self.losses.add(&other.losses);
        self.missed.add(other.missed.clone());
        self.stuck.extend_from_slice(&other.stuck);
        other.gone.iter().for_each(|gone| self.lose_server(gone.clone()));
        other.shared_names.iter().for_each(|name| self.share_name(name.clone()));
        self.setting.add(&other.setting);
        match (&mut self.outside, &other.outside) {
            (Some([tx, rx]), Some([other_tx, other_rx])) => {
                tx.merge(other_tx);
                rx.merge(other_rx);
            }
            (None, Some(other)) => self.outside = Some(other.clone()),
            (_, None) => {}
        }
        if let Some(kept) = &other.kept {
            self.kept().merge(kept);
        }
    }

    /// The slowest messages, the slowest first.
    pub(super) fn worst(&self) -> Vec<WorstMessage> {
        self.worst.iter().map(|message| (**message).clone()).collect()
    }

    /// The threads that had a CPU while the row's threads waited for one, the longest first.
    pub(super) fn holders(&self) -> Vec<HolderShare> {
        self.holders.longest()
    }

    /// The time of all messages by leg, segment and cause, those of the start-up included.
    pub fn time_spent(&self) -> TimeSpent {
        let mut all = self.steady.breakdown.clone();
        all.merge(&self.start_up.breakdown);
        time_spent(&all)
    }

    /// The messages that are weighed: those of the start-up are not among them if there are enough others.
    pub(super) fn weighed(&self) -> Cow<'_, Gathered> {
        let (steady, first) =
            (self.steady.breakdown.messages(), self.start_up.breakdown.messages());
        if first == 0 || steady >= MIN_MESSAGES_FOR_VERDICT && steady >= first / STEADY_DIVISOR {
            return Cow::Borrowed(&self.steady);
        }
        let mut all = self.steady.clone();
        all.merge(&self.start_up);
        Cow::Owned(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Holder, Tid};

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
