//! From legs to deliveries handed out.

use super::super::sink::DeliverySink;
use super::circumstances::had_since;
use super::{Context, Deliveries, Observed};
use crate::join::kept::{KeptLeg, PacketLeg};
use crate::join::{LegState, Receiver, leg};
use crate::rows::Rows;
use wirelap_events::{
    FlowRange, GroupId, Leg, Nanos, Probe, ReplicaWait, Saturate, Stage, Stamp, TraceDetail,
    Transport,
};
use wirelap_flow::{Direction, Flow, FlowTable, LegKey, begin_and_end};
use wirelap_limits::deliveries::{
    LONGEST_FORWARDING, LONGEST_SUBSCRIPTION_INTERVAL, LONGEST_UNREAD,
};
use wirelap_protocols::Protocol;

impl Deliveries {
    /// Completes the legs whose time has come, and hands out the deliveries that end with them.
    pub fn settle(&mut self, out: &mut dyn DeliverySink, all: bool, c: &mut Context<'_>) {
        for reader in c.accounts.take_unknown_readers() {
            self.messages.note_missed(Receiver::Process(reader), c.coverage.now());
        }
        self.take_placed(all, c);
        let mut active = c.conversations.take_active();
        self.settle_handed_on(&active, all, c);
        active.retain(|&direction| {
            for direction in [direction, direction.back()] {
                self.settle_flow(direction, out, all, c);
            }
            // One that carries no message is part of its row's bytes, too.
            c.row_of(direction);
            let Some(conversation) = c.conversations.flows_mut().get_mut(direction) else {
                return false;
            };
            c.accounts.totals.hide(conversation.take_hidden());
            let is_waiting = |flow: &Flow| {
                !flow.messages.pending.is_empty()
                    || !flow.messages.assembling.is_empty()
                    || flow.bytes.is_waiting()
                    || flow.round_trips.as_ref().is_some_and(|trips| trips.is_waiting())
            };
            conversation.active =
                conversation.flows.iter().any(is_waiting) || conversation.awaits_streams();
            conversation.active
        });
        c.conversations.put_back(active);
    }

    /// Completes the legs of a row's messages with what is known of them now, and hands out the deliveries that end with them.
    pub fn settle_of(&mut self, row: GroupId, out: &mut dyn DeliverySink, c: &mut Context<'_>) {
        let rows = &c.accounts.rows;
        let is_its = |of: Option<(GroupId, u64)>| of.is_some_and(|(of, _)| rows.root(of) == row);
        let its = c.conversations.flows().iter().filter(|(_, one)| is_its(one.row));
        for direction in its.map(|(direction, _)| direction).collect::<Vec<_>>() {
            for direction in [direction, direction.back()] {
                self.settle_flow(direction, out, true, c);
            }
        }
    }

    fn settle_flow(
        &mut self,
        direction: Direction,
        out: &mut dyn DeliverySink,
        all: bool,
        c: &mut Context<'_>,
    ) {
        let now = c.coverage.now();
        let limit = (!all).then_some(now - self.config.patience);
        if c.conversations.give_up_holes(direction, limit, now - LONGEST_UNREAD) {
            self.take_found(now, direction, c);
        }
        let first = |c: &Context<'_>| {
            c.conversations.flows().flow(direction)?.messages.pending.front().copied()
        };
        while let Some(key) = first(c) {
            if let Some(leg) = self.messages.leg(key)
                && !all
                && !self.is_settled(leg, c.observed())
            {
                break;
            }
            if let Some(flow) = c.conversations.flows_mut().flow_mut(direction) {
                flow.messages.pending.pop_front();
            }
            if let Some(leg) = self.messages.leg(key)
                && self.may_be_passed_on_until(leg, c.observed()).is_some_and(|until| until <= now)
            {
                self.messages.note_sink(key);
            }
            self.complete(key, out, c);
        }
        self.settle_round_trips(direction, all, c);
        self.prune(direction, now, c.conversations.flows_mut());
    }

    /// Time that slower layers get to report: less when the room for messages runs out, as a
    /// message that is given up tells nothing at all. Events are late by microseconds, not
    /// milliseconds.
    pub(super) fn hold(&self) -> Nanos {
        if self.messages.is_pressed() { Nanos(self.config.hold.0 / 10) } else { self.config.hold }
    }

    /// True if nothing more is expected of a leg.
    fn is_settled(&self, leg: &LegState, seen: Observed<'_>) -> bool {
        let (hold, cut) = (self.hold(), seen.coverage.pauses().cut());
        let held = |since: Nanos| since + hold <= seen.coverage.now();
        let until = || self.may_be_passed_on_until(leg, seen);
        if leg.at >= cut
            && !self.messages.is_pressed()
            && until().is_some_and(|until| until > seen.coverage.now())
        {
            return false;
        }
        let Some(flow) = seen.conversations.flows().flow(leg.direction) else {
            return true;
        };
        if let Some(read) = flow.marks.read_at(leg.extent) {
            return held(read);
        }
        let is_remote = self.config.packets_only || flow.ends_unseen(leg.extent);
        let patience =
            if self.lies_unread(flow, leg, seen) { LONGEST_UNREAD } else { self.config.patience };
        leg.at + patience <= seen.coverage.now()
            || (leg.at < cut && held(cut))
            || flow.marks.passed_at(leg.extent).is_some_and(|at| held(at.max(leg.at)))
            || (is_remote
                && held(leg.at)
                && flow.has_arrived(leg.extent.end)
                && !self.awaits_acknowledgement(flow, leg, seen.coverage.now()))
    }

    /// The time until which a leg's message may be passed on, where it leads to a server that may do so later, to a proxy that may keep it, or to
    /// who others have subscribed at, and of which it is not known whether it does.
    fn may_be_passed_on_until(&self, leg: &LegState, seen: Observed<'_>) -> Option<Nanos> {
        let flows = seen.conversations.flows();
        let protocol = || flows.get(leg.direction)?.protocol();
        if leg.links.has_child {
            return None;
        }
        let is_later = || {
            leg.parent().is_none()
                && protocol().is_some_and(Protocol::passes_on_later)
                && flows.server(leg.direction) != Some(leg.direction.side)
                && self.messages.is_undecided(leg.receiver())
        };
        if self.messages.may_be_at_proxy(leg) || is_later() {
            return Some(leg.at + LONGEST_SUBSCRIPTION_INTERVAL);
        }
        self.messages.may_be_at_forwarder(leg).then(|| leg.at + LONGEST_FORWARDING)
    }

    /// True if a leg's bytes are known not to have been read yet: the socket of a reader that is seen to read is open.
    pub(super) fn lies_unread(&self, flow: &Flow, leg: &LegState, seen: Observed<'_>) -> bool {
        self.may_lie_unread(flow, leg, seen)
            && (flow.marks.has_reads()
                || seen.host.states().is_off(leg.receiver().pid, seen.coverage.now()))
    }

    /// True if a leg's bytes may lie unread, whether its reader was ever seen to read or not. Where events of reads were
    /// lost, nothing is known.
    pub(super) fn may_lie_unread(&self, flow: &Flow, leg: &LegState, seen: Observed<'_>) -> bool {
        let is_open =
            |id| seen.conversations.sockets().get(id).is_some_and(|entry| entry.closed.is_none());
        leg.transport == Transport::Tcp
            && !self.config.packets_only
            && seen.coverage.lost_by(Probe::Read) == 0
            && !flow.interrupted
            && flow.receiver.is_some_and(is_open)
            && flow.marks.read_at(leg.extent).is_none()
            && flow.marks.passed_at(leg.extent).is_none()
    }

    /// Hands out the deliveries that end with a leg of which everything is known.
    pub(super) fn complete(
        &mut self,
        key: LegKey,
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        self.settle_turn(key, c);
        let Some(state) = self.messages.leg(key) else {
            return;
        };
        let (direction, extent, own) = (state.direction, state.extent, state.own());
        self.settle_row(key, direction, c);
        self.clocks.note(direction, c.conversations.flows_mut());
        if let Some(leg) = self.packets_alone(key, c.conversations.flows()) {
            return self.finish(key, KeptLeg::Packets(leg), (true, false), out, c);
        }
        let Some(conversation) = c.conversations.flows().get(direction) else {
            return;
        };
        let (flow, is_subflow) = (conversation.flow(direction.side), conversation.is_subflow);
        let packets_only = self.config.packets_only;
        let (flow_key, from, to) = (flow.key, flow.sender, flow.receiver);
        let mut dropped = 0;
        let (messages, clocks) = (&mut self.messages, &self.clocks);
        let mut legs = (0..flow.marks.readers(extent).max(1)).map(|reader| {
            let mut path = flow.marks.path(extent, reader);
            path.circumstances.path.hosts = clocks.of_path(flow, &path);
            let (mut leg, backwards) = leg::build(flow_key, from, to, &path, messages.spare());
            leg.flow_range = FlowRange { flow: direction.id(), range: own };
            dropped.grow(backwards);
            if packets_only {
                begin_and_end(&mut leg.times, flow.marks.began_at(extent));
            } else if is_subflow {
                begin_and_end(&mut leg.times, None);
            }
            leg
        });
        let first = legs.next();
        // Only a multicast has more than one reader.
        let others: Vec<Box<Leg>> =
            legs.filter(|leg| leg.times.get(Stage::Read).is_some()).collect();
        c.accounts.totals.anomalies.grow(dropped);
        if let Some(first) = first {
            self.completed(key, (first, others), out, c);
        }
    }

    /// Everything that will be known of a leg is known: how its `first` reader got it, and those of the
    /// `others` that did.
    #[expect(clippy::vec_box, reason = "legs are large, and their boxes are used again")]
    pub(super) fn completed(
        &mut self,
        key: LegKey,
        (mut first, mut others): (Box<Leg>, Vec<Box<Leg>>),
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        if self.config.detail != TraceDetail::Full {
            let all = others.iter_mut().chain([&mut first]);
            all.for_each(|leg| leg.circumstances.reader_unobserved = true);
        }
        let Some(state) = self.messages.leg(key) else { return };
        let (direction, message) = (state.direction, state.message);
        let Some(conversation) = c.conversations.flows().get(direction) else { return };
        self.fill_in(state, &mut first, conversation, c.conversations.flows());
        first.circumstances.permission.answers_in_turn = c.conversations.answers_in_turn(direction);
        first.circumstances.permission.replica = self.replica_awaited(state, &first, c);
        let (flow, is_subflow) = (conversation.flow(direction.side), conversation.is_subflow);
        let is_remote = !self.config.packets_only && flow.ends_unseen(state.extent);
        let ends_here =
            is_remote && !state.links.has_child && !self.messages.waits_in_unseen_proxy(state);
        let has_sends = flow.has_sends;
        let whole = |leg: &Leg| leg.times.get(Stage::Send).is_some() || !has_sends;
        let is_whole = whole(&first);
        self.note_ends(key, ends_here, &first, c);
        let Some(kept) = self.messages.keep(key, first) else { return };
        self.finish(key, kept, (is_whole, is_remote), out, c);
        self.hand_out_partial(key, out, c);
        let Some(message) = self.messages.message(message) else {
            return;
        };
        if ends_here && let Some(row) = c.accounts.rows.get_mut(message.facts.row) {
            row.uncertain.to_unseen_readers.grow(1);
        }
        if is_subflow && let Some(row) = c.accounts.rows.get_mut(message.facts.row) {
            row.noted.in_subflows.grow(1);
        }
        self.hand_out_others(key, others, whole, out, c);
    }

    /// The server whose copy was awaited while a message lay at the server that it came to, or that passes it on.
    fn replica_awaited(&self, state: &LegState, leg: &Leg, c: &Context<'_>) -> Option<ReplicaWait> {
        if leg.circumstances.permission.answers_in_turn {
            let (ready, read) = leg.times.get(Stage::Ready).zip(leg.times.get(Stage::Read))?;
            return c.conversations.replica_awaited(leg.reader?.pid, ready, read);
        }
        let before = state.parent().and_then(|parent| self.messages.leg_at(parent))?;
        let had = had_since(before, c.conversations.flows())?;
        c.conversations.replica_awaited(leg.sender?.pid, had, leg.times.get(Stage::Send)?)
    }

    /// A leg of a capture of which nothing is known but its packets, if it is one: almost all are.
    fn packets_alone(&self, key: LegKey, flows: &FlowTable) -> Option<PacketLeg> {
        let state = self.messages.leg(key).filter(|state| !state.has_permissions())?;
        let flow = flows.flow(state.direction)?;
        let has_ends = flow.sender.is_some() || flow.receiver.is_some() || flow.has_sends;
        let is_alone = self.config.packets_only && self.config.detail == TraceDetail::Full;
        if !is_alone
            || has_ends
            || flow.reader_pauses.throttles.is_some()
            || !state.is_between(&flow.key)
        {
            return None;
        }
        let seen = flow.marks.packets_alone(state.extent)?;
        Some(PacketLeg::alone(seen, self.clocks.of_packets(flow, &seen), state.start_up))
    }

    /// A leg is complete, which is whole and leads elsewhere or not: hands out the deliveries that end with it.
    fn finish(
        &mut self,
        key: LegKey,
        leg: KeptLeg,
        (is_whole, is_remote): (bool, bool),
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        if let Some((row, stamp)) = self.messages.lose_origin(key)
            && let Some(state) = self.messages.leg(key)
        {
            let (direction, message) = (state.direction, state.message);
            uncount(row, stamp, &mut c.accounts.rows);
            if !stamp.is_some_and(|stamp| stamp.warmup) {
                let topic = self.messages.message(message).and_then(|message| message.facts.topic);
                c.note_sent(direction, row, topic, false);
            }
        }
        let mut ends = std::mem::take(&mut self.ends);
        self.messages.complete(key, leg, is_whole, is_remote, &mut ends);
        self.hand_out_ends(&mut ends, out, c);
        self.ends = ends;
    }

    /// A conversation's first message may be found before it is known whose sockets carry it. It
    /// belongs to the row that the conversation is in when the message is complete.
    pub(super) fn settle_row(&mut self, key: LegKey, direction: Direction, c: &mut Context<'_>) {
        let Some(row) = c.row_of(direction) else { return };
        let Some((before, stamp)) = self.messages.move_to(key, row) else {
            return;
        };
        let rows = &mut c.accounts.rows;
        // What was counted there is counted here by now.
        if rows.root(before) == row {
            return;
        }
        uncount(before, stamp, rows);
        let is_warmup = stamp.is_some_and(|stamp| stamp.warmup);
        let message = self.messages.leg(key).map(|leg| leg.message);
        let topic = message.and_then(|message| self.messages.message(message)?.facts.topic);
        if !is_warmup {
            c.note_sent(direction, before, topic, false);
            c.note_sent(direction, row, topic, true);
        }
        let rows = &mut c.accounts.rows;
        if let Some(now) = rows.get_mut(row) {
            now.counts.of_sent(is_warmup).grow(1);
        }
    }
}

/// A message was counted as sent in a row, and does not begin there.
pub(super) fn uncount(row: GroupId, stamp: Option<Stamp>, rows: &mut Rows) {
    if let Some(row) = rows.get_mut(row) {
        let count = row.counts.of_sent(stamp.is_some_and(|stamp| stamp.warmup));
        *count = count.saturating_sub(1);
    }
}
