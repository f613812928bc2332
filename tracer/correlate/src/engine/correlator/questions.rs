//! Questions of the caller: the picture of the moment, names, and what waits.

use super::super::deliveries::Observed;
use super::super::picture::{Picture, broker_of};
use super::Correlator;
use crate::view::Snapshot;
use wirelap_events::{Comm, FlowRange, GroupId, Nanos, Pid, SocketId, TopicId};
use wirelap_figures::LocalRequestTimes;
use wirelap_why::Evidence;

impl Correlator {
    /// Everything known at `now`. The caller adds what only it can know: the tracer's own cost, and the
    /// processes' CPU time and memory.
    pub fn snapshot(&self, now: Nanos) -> Snapshot {
        self.picture().snapshot(now)
    }

    /// Why each row's messages took as long as they did, by the row's name. For adding up repetitions.
    pub fn evidence(&self) -> Vec<(String, Evidence)> {
        self.picture().evidence()
    }

    /// The times of each row's requests whose both ends are on this host, by the row's name. For adding up repetitions.
    pub fn requests(&self) -> Vec<(String, LocalRequestTimes)> {
        let rows = self.accounts.rows.iter().filter_map(|(_, row)| {
            let requests = row.requests.as_ref()?;
            Some((row.name.middleware.clone(), requests.figures.times()))
        });
        rows.collect()
    }

    /// The processes that have messages which ought to have arrived by `now`: what they do is worth a look
    /// ([`wirelap_events::Body::State`]).
    pub fn holding(&self, now: Nanos) -> Vec<Pid> {
        self.deliveries.holding(now, self.observed())
    }

    /// The open sockets of TCP conversations in protocols that are not decoded, which is certain: their bytes are only counted. At
    /// least so many bytes have passed. Their calls and their packets' payload need not be observed any more.
    pub fn only_counted(&self, least: u64) -> Vec<SocketId> {
        self.conversations.only_counted(least)
    }

    /// Number of messages that were found between two times and are still on their way, unless these are
    /// few.
    pub fn waited_for(&self, from: Nanos, to: Nanos) -> u64 {
        self.deliveries.waited_for(from, to)
    }

    /// The name of a topic, if [`Config::topics`] keeps them.
    pub fn topic(&self, id: TopicId) -> Option<&[u8]> {
        self.conversations.topic(id)
    }

    /// As [`Correlator::topic`], for what is written to a file: not the name of one that was encrypted.
    pub fn public_topic(&self, id: TopicId) -> Option<&[u8]> {
        self.conversations.public_topic(id)
    }

    /// The bytes that the last event's packet carries, if it was a packet with bytes of a conversation that messages may
    /// be found in. Legs tell theirs, so that it is known which packets carried a message.
    pub fn carried(&self) -> Option<FlowRange> {
        self.conversations.carried()
    }

    /// The middleware and the broker of a row's messages, as they are called in a snapshot.
    pub fn row_name(&self, group: GroupId) -> Option<(&str, Option<String>)> {
        let row = self.accounts.rows.get(group)?;
        Some((&row.name.middleware, broker_of(row, self.conversations.sockets())))
    }

    /// A process's name, if one of its sockets or threads told it.
    pub fn process_name(&self, pid: Pid) -> Option<Comm> {
        self.conversations.sockets().comm(pid)
    }

    /// A socket's owner.
    pub fn owner(&self, socket: SocketId) -> Option<Pid> {
        self.conversations.sockets().pid(Some(socket))
    }

    /// The parts that deliveries are made from, to be looked at.
    pub(super) fn observed(&self) -> Observed<'_> {
        Observed {
            conversations: &self.conversations,
            rows: &self.accounts.rows,
            host: &self.host,
            coverage: &self.coverage,
        }
    }

    fn picture(&self) -> Picture<'_> {
        Picture {
            deliveries: &self.deliveries,
            accounts: &self.accounts,
            seen: self.observed(),
            overdue_at_end: self.overdue_at_end.as_deref(),
            detail: self.detail,
        }
    }
}
