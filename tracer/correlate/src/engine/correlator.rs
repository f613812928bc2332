//! Takes events in, hands deliveries out: gives each event to whom it concerns.

mod figures;
mod muting;
mod news;
mod questions;

use super::accounts::Accounts;
use super::conversations::{Conversations, ReadOutput};
use super::coverage::Coverage;
use super::deliveries::{Context, Deliveries};
use super::host::HostState;
use super::sink::DeliverySink;
use std::sync::Arc;
use wirelap_events::{Body, Cpu, Event, GroupId, Nanos, SocketId, TraceDetail, Wake};
use wirelap_flow::{Config, Direction};
use wirelap_why::Overdue;

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
    /// Messages that had not arrived when the observation ended; `None` before.
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
            Body::Ended(end) => self.conversations.ended(at, *end),
            Body::Lost(lost) => self.coverage.lose(at, lost),
            Body::Window(open) => self.window(at, *open),
            Body::Waiting(since) => self.wait(*since),
            Body::Retransmit(retransmit) => self.conversations.retransmit(at, retransmit),
            Body::Drop(drop) => self.conversations.dropped(at, drop, &mut self.accounts.rows),
        }
    }

    /// Counts what a subscriber lacks before its connection is closed.
    fn look_before_close(&mut self, socket: SocketId) {
        let sent = self.conversations.sockets().get(socket).and_then(|socket| socket.tx);
        let is_behind = |direction: Direction| {
            let shortfalls = &self.accounts.shortfalls;
            shortfalls.is_behind(direction.id()) || shortfalls.is_behind(direction.back().id())
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
        if self.coverage.open(at) {
            self.conversations.resume();
            let pauses = self.coverage.pauses();
            self.accounts.rows.iter_mut().for_each(|row| row.open_window(at, pauses));
        }
    }

    /// The present window is open only for its messages.
    fn wait(&mut self, since: Nanos) {
        self.coverage.wait(since);
        self.accounts.rows.iter_mut().for_each(|row| row.wait(since));
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
}
