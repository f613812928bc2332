//! Takes events in, hands deliveries out: gives each event to whom it concerns.

use super::accounts::Accounts;
use super::conversations::{Conversations, ReadOutput};
use super::coverage::Coverage;
use super::deliveries::{Context, Deliveries, Observed};
use super::host::HostState;
use super::picture::{Picture, broker_of};
use super::sink::DeliverySink;
use crate::breakdown::{BreakdownQuery, Dimension};
use crate::config::{Config, Label};
use crate::containers::{CgroupRead, ContainerNames};
use crate::ids::Direction;
use crate::rows::{Accountant, DeferredFigures};
use crate::view::Snapshot;
use crate::why::{Evidence, Overdue};
use std::sync::Arc;
use wirelap_events::{
    Body, Comm, Cpu, Event, FlowRange, GroupId, Nanos, NetNs, Pid, SocketId, TopicId, TraceDetail,
    Wake,
};

/// Between two ticks of [`Correlator::take`].
const TICK: Nanos = Nanos::from_millis(5);

/// Between two ticks when the room for messages runs out.
const TICK_PRESSED: Nanos = Nanos::from_millis(1);

/// Joins events to messages.
///
/// Pure: the same events and ticks give the same deliveries and snapshots. Nothing here grows without
/// bound, and what is given up for that is counted.
pub struct Correlator {
    host: HostState,
    conversations: Conversations,
    deliveries: Deliveries,
    accounts: Accounts,
    coverage: Coverage,
    /// What had not arrived when the observation ended.
    overdue_at_end: Option<Vec<(GroupId, Overdue)>>,
    ticked: Nanos,
    detail: TraceDetail,
}

impl Correlator {
    /// Nothing seen yet.
    pub fn new(config: Config) -> Correlator {
        let config = Arc::new(config);
        Correlator {
            host: HostState::new(config.max_threads),
            conversations: Conversations::new(Arc::clone(&config)),
            accounts: Accounts::new(config.labels.clone(), config.breakdown.clone()),
            coverage: Coverage::default(),
            overdue_at_end: None,
            ticked: Nanos(0),
            detail: config.detail,
            deliveries: Deliveries::new(config),
        }
    }

    /// Takes one event in.
    pub fn event(&mut self, event: &Event<'_>) {
        let at = event.at;
        self.accounts.totals.event(&event.body);
        self.conversations.next_event();
        // Sockets come into view, and are closed, while the probes are still being attached.
        if !matches!(&event.body, Body::Socket(_) | Body::Closed(_) | Body::Lost(_)) {
            self.coverage.begin(at);
        }
        self.coverage.advance(at);
        if self.conversations.is_muted(at, &event.body) {
            if let Body::Packet(packet) = &event.body {
                self.conversations.muted_datagram(at, packet, &mut self.accounts.totals);
            }
            return;
        }
        match &event.body {
            Body::Socket(socket) => self.conversations.socket(at, socket, &mut self.accounts),
            Body::Closed(socket) => {
                self.look_before_close(*socket);
                self.conversations.closed(at, *socket);
            }
            Body::Send(send) => {
                let (threads, totals) = (self.host.threads(), &mut self.accounts.totals);
                let assemblies = self.deliveries.assemblies_mut();
                self.conversations.send(at, send, threads, assemblies, totals);
            }
            Body::Written(written) => {
                let direction = self.conversations.written(at, written, &mut self.accounts);
                self.take_found(at, direction);
                if let Some(direction) = direction {
                    self.conversations.weigh(direction, &mut self.accounts);
                }
            }
            Body::Plain(plain) => {
                let direction = self.conversations.plain(at, plain, &mut self.accounts);
                self.take_found(at, direction);
            }
            Body::Read(read) => {
                let mut out = ReadOutput {
                    assemblies: self.deliveries.assemblies_mut(),
                    accounts: &mut self.accounts,
                    coverage: &self.coverage,
                };
                let passed = self.conversations.read(at, read, self.host.threads(), &mut out);
                self.take_found(at, passed);
            }
            Body::Ready(ready) => {
                let totals = &mut self.accounts.totals;
                let passed = self.conversations.ready(at, ready, &self.coverage, totals);
                self.take_found(at, passed);
            }
            Body::Packet(packet) => {
                let (messages, accounts) = (self.deliveries.messages_mut(), &mut self.accounts);
                let direction = self.conversations.packet(at, packet, messages, accounts);
                self.take_found(at, direction);
                // One without bytes adds nothing to what is held.
                if let Some(direction) = direction.filter(|_| packet.payload_len > 0) {
                    self.conversations.weigh(direction, &mut self.accounts);
                }
            }
            Body::Wake(wake) => self.wake(at, event.cpu, wake),
            Body::State(state) => self.host.state(at, state),
            Body::Quota(quota) => self.host.quota(quota),
            Body::Lost(lost) => self.coverage.lose(at, lost),
            Body::Window(open) => self.window(at, *open),
            Body::Retransmit(retransmit) => self.conversations.retransmit(at, retransmit),
            Body::Drop(drop) => self.conversations.dropped(at, drop, &mut self.accounts.rows),
        }
    }

    /// What a subscriber lacks when its connection is closed is counted then.
    fn look_before_close(&mut self, socket: SocketId) {
        let sent = self.conversations.sockets().get(socket).and_then(|socket| socket.tx);
        let is_behind = |direction: Direction| {
            let behind = &self.accounts.behind;
            behind.is_behind(direction.id()) || behind.is_behind(direction.back().id())
        };
        if sent.is_some_and(is_behind) {
            let (deliveries, mut context) = self.split();
            deliveries.look_before_close(&mut context);
        }
    }

    /// A thread runs again.
    fn wake(&mut self, at: Nanos, cpu: Cpu, wake: &Wake) {
        self.host.wake(at, cpu, wake);
        self.conversations.sockets_mut().named(wake.holder.task.tid, wake.holder.comm);
        self.accounts.waited(at, wake);
    }

    /// Observation pauses, or goes on.
    fn window(&mut self, at: Nanos, open: bool) {
        if !open {
            self.coverage.close(at);
            self.accounts.lag.interrupt();
            self.accounts.rows.iter_mut().for_each(|row| row.close_window(at));
            return;
        }
        let since = self.coverage.since();
        let period = self.coverage.pauses().period(since, at);
        if self.coverage.open(at) {
            self.conversations.resume();
            self.accounts.rows.iter_mut().for_each(|row| row.open_window(&period, since));
        }
    }

    /// Takes in what decoders may have found in a direction.
    fn take_found(&mut self, at: Nanos, direction: Option<Direction>) {
        let Some(direction) = direction else { return };
        let (deliveries, mut context) = self.split();
        deliveries.take_found(at, direction, &mut context);
    }

    /// Takes one event in, and ticks by the events' own clock. For a source that hands over many at
    /// once: a batch that spans longer than the messages in it can be kept would lose them otherwise.
    pub fn take(&mut self, event: &Event<'_>, out: &mut dyn DeliverySink) {
        let due = if self.deliveries.is_pressed() { TICK_PRESSED } else { TICK };
        if event.at >= self.ticked + due {
            self.tick(event.at, out);
        }
        self.event(event);
    }

    /// Makes room for the messages of one more event: gives up messages that are only remembered for their copies, or left from
    /// before the last pause. Returns false where that is not enough: one that is still on its way would have to be given up.
    pub fn make_room(&mut self) -> bool {
        self.deliveries.make_room(self.coverage.pauses(), &mut self.accounts)
    }

    /// Whether messages that were found between two times are still on their way.
    pub fn are_waited_for(&self, from: Nanos, to: Nanos) -> bool {
        self.deliveries.are_waited_for(from, to)
    }

    /// Hands out what is complete. `now` is the time up to which the caller has taken in all events:
    /// its clock, read before the poll that emptied the ring buffer. Call it every few milliseconds.
    pub fn tick(&mut self, now: Nanos, out: &mut dyn DeliverySink) {
        self.coverage.advance(now);
        self.ticked = self.coverage.now();
        self.settle(out, false);
        self.conversations.sweep(self.ticked, &mut self.accounts);
        self.see_arrivals();
    }

    /// Hands out everything that is still open, as far as it is known. For the end of a run.
    pub fn finish(&mut self, out: &mut dyn DeliverySink) {
        let overdue = self.deliveries.overdue(self.coverage.now(), self.observed());
        self.overdue_at_end = Some(overdue);
        self.see_arrivals();
        for conversation in self.conversations.flows_mut().iter_mut() {
            conversation.give_up_guesses();
            self.accounts.totals.hide(conversation.take_hidden());
        }
        self.settle(out, true);
    }

    /// Hands out what is complete, or everything, and gives up what has waited for too long.
    fn settle(&mut self, out: &mut dyn DeliverySink, all: bool) {
        let mut reads = ReadOutput {
            assemblies: self.deliveries.assemblies_mut(),
            accounts: &mut self.accounts,
            coverage: &self.coverage,
        };
        self.conversations.solve(all, &mut reads);
        let (deliveries, mut context) = self.split();
        deliveries.look_for_lag(all, &mut context);
        deliveries.settle(out, all, &mut context);
        deliveries.settle_assemblies(out, all, &mut context);
        deliveries.expire(all, out, &mut context);
    }

    /// From now on what deliveries add to the figures of their rows is only noted, so that it can be added on another thread: by an
    /// [`Accountant`], which takes all that [`Correlator::take_deferred`] hands out and is given back to
    /// [`Correlator::adopt_figures`]. Meanwhile nobody is told of single deliveries, and snapshots lack them. Returns whether that can be
    /// done: only for captures of other programs, of which nothing but packets is known, and where no rows by topic and the like are asked
    /// for.
    pub fn defer_figures(&mut self) -> bool {
        let can_wait = self.deliveries.packets_only() && self.accounts.breakdown.is_none();
        self.accounts.rows.defer(can_wait);
        can_wait
    }

    /// How much was noted.
    pub fn deferred(&mut self) -> usize {
        self.accounts.rows.deferred().map_or(0, |deferred| deferred.len())
    }

    /// Takes what was noted. `spare`, an empty batch, is used in its place.
    pub fn take_deferred(&mut self, spare: DeferredFigures) -> DeferredFigures {
        match self.accounts.rows.deferred() {
            Some(deferred) => std::mem::replace(deferred, spare),
            None => spare,
        }
    }

    /// Ends [`Correlator::defer_figures`]: takes over what was added up, which must be all that was noted.
    pub fn adopt_figures(&mut self, accountant: Accountant) {
        self.accounts.rows.defer(false);
        self.accounts.rows.adopt(accountant);
    }

    /// The deliveries, and what they are made from.
    fn split(&mut self) -> (&mut Deliveries, Context<'_>) {
        let context = Context {
            conversations: &mut self.conversations,
            accounts: &mut self.accounts,
            host: &self.host,
            coverage: &self.coverage,
        };
        (&mut self.deliveries, context)
    }

    fn observed(&self) -> Observed<'_> {
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

    /// Everything known at `now`. The caller adds what only it can know: the tracer's own cost, and the
    /// processes' CPU time and memory.
    pub fn snapshot(&self, now: Nanos) -> Snapshot {
        self.picture().snapshot(now)
    }

    /// Why each row's messages took as long as they did, by the row's name. For adding up repetitions.
    pub fn evidence(&self) -> Vec<(String, Evidence)> {
        self.picture().evidence()
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

    /// Mutes a row: a pause of this row alone, in which its figures stay as they are. What has arrived is handed out; what is on its way is
    /// given up, and counted as cut by a pause. Its conversations are not looked at until [`Correlator::unmute`], and neither are new
    /// ones of the row. The caller may observe less of the sockets of [`Correlator::muted_sockets`]. Returns whether there is such a row
    /// that was not muted.
    pub fn mute(&mut self, group: GroupId, out: &mut dyn DeliverySink) -> bool {
        let (deliveries, mut context) = self.split();
        let row = context.accounts.rows.root(group);
        if !context.accounts.rows.is_muted(row) {
            deliveries.settle_of(row, out, &mut context);
        }
        // What was found in the last event was found before that.
        let (at, pauses) = (self.coverage.now() + Nanos(1), self.coverage.pauses());
        let is_new = self.accounts.rows.mute(group, at, pauses);
        if is_new {
            self.conversations.mute(&self.accounts.rows, false);
            let (deliveries, mut context) = self.split();
            deliveries.give_up_muted(&mut context);
            let rows = &self.accounts.rows;
            self.accounts.lag.forget(|group| rows.is_muted(group));
        }
        is_new
    }

    /// Ends the muting of a row. Events from `at` on count, from which everything is observed of its sockets; its streams are joined again
    /// in mid-stream. Returns whether it was muted.
    pub fn unmute(&mut self, group: GroupId, at: Nanos) -> bool {
        let (pauses, since) = (self.coverage.pauses(), self.coverage.since());
        let was_muted = self.accounts.rows.unmute(group, at, pauses, since);
        if was_muted {
            self.conversations.unmute(&self.accounts.rows, at);
        }
        was_muted
    }

    /// The open sockets of muted rows, those of conversations too that came into view since: these are not looked at any more from now
    /// on. `except`: the sockets of this row are left out, which [`Correlator::unmute`] will be asked for.
    pub fn muted_sockets(&mut self, except: Option<GroupId>) -> Vec<SocketId> {
        if !self.accounts.rows.has_muted() {
            return Vec::new();
        }
        let rows = &self.accounts.rows;
        let all = self.conversations.mute(rows, true);
        match except {
            None => all,
            Some(_) => self.conversations.muted_sockets(rows, except),
        }
    }

    /// Asks for other rows of [`Snapshot::breakdown`], or others of them. Rows by something else count from now on.
    pub fn ask_breakdown(&mut self, query: BreakdownQuery) {
        if query.by.contains(&Dimension::Topic) {
            self.conversations.keep_topics();
        }
        self.accounts.ask(query, self.coverage.now());
    }

    /// At most so many of the processes that came into view since the last calls, with the network namespace of a socket of each. The
    /// caller may read where they run.
    pub fn newcomers(&mut self, most: usize) -> Vec<(Pid, NetNs)> {
        self.see_arrivals();
        self.host.places_mut().take_newcomers(most)
    }

    /// What came of reading a process's cgroup, and the names that files give its container and network namespace. Returns whether that
    /// tells something new.
    pub fn locate(&mut self, pid: Pid, read: &CgroupRead, names: &ContainerNames) -> bool {
        self.host.places_mut().put(pid, read, names)
    }

    /// The caller is in this network namespace.
    pub fn note_own_namespace(&mut self, own: NetNs) {
        self.host.places_mut().note_own_namespace(own);
    }

    fn see_arrivals(&mut self) {
        for (pid, netns) in self.conversations.sockets_mut().take_arrived() {
            self.host.places_mut().arrive(pid, netns);
        }
    }

    /// Names a row from now on.
    pub fn add_label(&mut self, label: Label) {
        self.accounts.rows.add_label(label);
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

    /// What a row's messages travel with: the middleware and the broker, as they are called in a snapshot.
    pub fn row_name(&self, group: GroupId) -> Option<(&str, Option<String>)> {
        let row = self.accounts.rows.get(group)?;
        Some((&row.middleware, broker_of(row, self.conversations.sockets())))
    }

    /// What a process is called, for one of which [`Correlator::process_name`] knows no name.
    pub fn call(&mut self, pid: Pid, comm: Comm) {
        self.conversations.sockets_mut().call(pid, comm);
    }

    /// A process's name, if one of its sockets or threads told it.
    pub fn process_name(&self, pid: Pid) -> Option<Comm> {
        self.conversations.sockets().comm(pid)
    }

    /// A socket's owner.
    pub fn owner(&self, socket: SocketId) -> Option<Pid> {
        self.conversations.sockets().pid(Some(socket))
    }
}
