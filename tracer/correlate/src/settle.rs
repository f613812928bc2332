//! From legs to deliveries handed out.

use crate::correlator::DeliverySink;
use crate::flow::{Flow, Marks, Way};
use crate::join::{GivenUp, LONGEST, LegKey, LegState, Messages};
use crate::marks::overlap;
use crate::off_cpu::Schedules;
use crate::overdue::LATE;
use crate::rows::{PROCESSES, Role};
use crate::stats::read_at;
use crate::why::Upkeep;
use crate::{Correlator, leg};
use arrayvec::ArrayVec;
use wirelap_events::Saturate;
use wirelap_events::{
    Delivery, FanOut, FlowRange, GroupId, Leg, MAX_LEGS, MessageId, Nanos, Pid, Probe, Stage,
    Stamp, TaskId, Transport,
};

/// What a process is seen to do.
type Deed = fn(&mut Role);

impl Correlator {
    /// The conversation has something that waits.
    pub(crate) fn activate(&mut self, way: Way) {
        if let Some(conversation) = self.flows.get_mut(way)
            && !std::mem::replace(&mut conversation.active, true)
        {
            self.active.push(way);
        }
    }

    /// Completes the legs whose time has come, and hands out the deliveries that end with them.
    pub(crate) fn settle(&mut self, out: &mut dyn DeliverySink, all: bool) {
        let mut active = std::mem::take(&mut self.active);
        active.retain(|&way| {
            for way in [way, way.back()] {
                self.settle_flow(way, out, all);
            }
            // One that carries no message is part of its row's bytes, too.
            self.row_of(way);
            let Some(conversation) = self.flows.get_mut(way) else { return false };
            conversation.tell(&mut self.totals);
            let is_waiting = |flow: &Flow| {
                !flow.pending.is_empty() || !flow.assembling.is_empty() || flow.bytes.is_waiting()
            };
            conversation.active = conversation.flows.iter().any(is_waiting);
            conversation.active
        });
        active.append(&mut self.active);
        self.active = active;
    }

    fn settle_flow(&mut self, way: Way, out: &mut dyn DeliverySink, all: bool) {
        let limit = self.now - self.config.patience;
        if let Some(conversation) = self.flows.get_mut(way)
            && conversation.flow(way.side).bytes.is_waiting()
        {
            conversation.reassemble(way.side, &mut self.found, |flow, out| {
                if all { flow.interrupt(out) } else { flow.give_up(limit, out) }
            });
            self.sight_found(self.now, way);
        }
        while let Some(&key) = self.flows.flow(way).and_then(|flow| flow.pending.front()) {
            if let Some(leg) = self.messages.leg(key)
                && !all
                && !self.is_settled(leg)
            {
                break;
            }
            if let Some(flow) = self.flows.flow_mut(way) {
                flow.pending.pop_front();
            }
            self.complete(key, out);
        }
        self.prune(way);
    }

    /// How long slower layers get to report: less when the room for messages runs out, as a message
    /// that is given up tells nothing at all. Events are late by microseconds, not milliseconds.
    pub(crate) fn hold(&self) -> Nanos {
        if self.messages.is_pressed() { Nanos(self.config.hold.0 / 10) } else { self.config.hold }
    }

    /// Whether nothing more is expected of a leg.
    fn is_settled(&self, leg: &LegState) -> bool {
        let hold = self.hold();
        let held = |since: Nanos| since + hold <= self.now;
        let Some(flow) = self.flows.flow(leg.way) else { return true };
        if let Some(read) = flow.marks.read_at(leg.extent) {
            return held(read);
        }
        let is_remote = self.config.packets_only || flow.ends_unseen(leg.extent);
        let patience = if self.lies_unread(flow, leg) { LONGEST } else { self.config.patience };
        leg.at + patience <= self.now
            || (leg.at < self.window.cut && held(self.window.cut))
            || flow.marks.passed_at(leg.extent).is_some_and(|at| held(at.max(leg.at)))
            || (is_remote && held(leg.at) && flow.has_come(leg.extent.end))
    }

    /// Whether a leg's bytes are known not to have been read yet: the socket of a reader that is seen to read is open.
    pub(crate) fn lies_unread(&self, flow: &Flow, leg: &LegState) -> bool {
        self.may_lie_unread(flow, leg)
            && (flow.marks.has_reads() || self.doings.is_off(leg.receiver.pid, self.now))
    }

    /// The same, whether the reader was ever seen to read or not. Where events of reads were lost, nothing is known.
    pub(crate) fn may_lie_unread(&self, flow: &Flow, leg: &LegState) -> bool {
        let is_open = |id| self.sockets.get(id).is_some_and(|entry| entry.closed.is_none());
        leg.transport == Transport::Tcp
            && !self.config.packets_only
            && self.lost[Probe::Read as usize] == 0
            && !flow.interrupted
            && flow.receiver.is_some_and(is_open)
            && flow.marks.read_at(leg.extent).is_none()
            && flow.marks.passed_at(leg.extent).is_none()
    }

    pub(crate) fn complete(&mut self, key: LegKey, out: &mut dyn DeliverySink) {
        let Some(state) = self.messages.leg(key) else { return };
        let (way, extent, own) = (state.way, state.extent, state.own);
        self.settle_row(key, way);
        let Some(flow) = self.flows.flow(way) else { return };
        let packets_only = self.config.packets_only;
        let (flow_key, from, to) = (flow.key, flow.sender, flow.receiver);
        let mut dropped = 0;
        let messages = &mut self.messages;
        let mut legs = (0..flow.marks.readers(extent).max(1)).map(|reader| {
            let path = flow.marks.path(extent, reader);
            let (mut leg, backwards) = leg::build(flow_key, from, to, &path, messages.spare());
            leg.flow_range = FlowRange { flow: way.id(), range: own };
            dropped.grow(backwards);
            if packets_only {
                leg::end(&mut leg);
            }
            leg
        });
        let first = legs.next();
        // Only a multicast has more than one reader.
        let others: Vec<Box<Leg>> =
            legs.filter(|leg| leg.times.get(Stage::Read).is_some()).collect();
        self.totals.anomalies.grow(dropped);
        if let Some(first) = first {
            self.completed(key, first, others, out);
        }
    }

    /// Everything that will be known of a leg is known: how its `first` reader got it, and those of the
    /// `others` that did.
    #[expect(clippy::vec_box, reason = "legs are large, and their room is kept")]
    pub(crate) fn completed(
        &mut self,
        key: LegKey,
        mut first: Box<Leg>,
        others: Vec<Box<Leg>>,
        out: &mut dyn DeliverySink,
    ) {
        let Some(state) = self.messages.leg(key) else { return };
        let (way, extent, message) = (state.way, state.extent, state.message);
        let (asked, permit, start_up) = (state.asked, state.permit, state.start_up);
        first.circumstances.credit = state.room;
        let siblings = self.siblings(state);
        if let Some(asked) = asked {
            let request = self.flows.flow(way.back()).and_then(|flow| flow.request_at(asked));
            first.circumstances.requested = Some(asked);
            let read = request.and_then(|request| request.read);
            first.circumstances.request_read = read.map(|(at, _)| at);
            first.circumstances.request_resent = read.is_some_and(|(_, resent)| resent);
            first.circumstances.requested_after_loss = request.is_some_and(|r| r.after_loss);
            first.circumstances.request_limits = request.and_then(|request| request.ask);
            first.circumstances.free_since = request.and_then(|request| request.free_since);
            first.circumstances.awaits_commit = request.is_some_and(|r| r.awaits_commit);
            first.circumstances.filled = request.and_then(|request| request.filled);
        }
        first.circumstances.start_up = start_up;
        first.circumstances.permit = permit;
        let missing = self.missing_before(way, self.had_since(key), &first);
        first.circumstances.missing = missing.or(first.circumstances.missing);
        first.circumstances.fan_out = siblings.and_then(|(sender, fan_out)| {
            (first.sender.is_some() && first.sender == sender).then_some(fan_out)
        });
        let Some(flow) = self.flows.flow(way) else { return };
        let is_remote = !self.config.packets_only && flow.ends_unseen(extent);
        let has_sends = flow.has_sends;
        let whole = |leg: &Leg| leg.times.get(Stage::Send).is_some() || !has_sends;
        let is_whole = whole(&first);
        let mut ends = std::mem::take(&mut self.ends);
        self.messages.complete(key, first, is_whole, is_remote, &mut ends);
        self.hand_out_ends(&mut ends, out);
        self.ends = ends;
        let Some(message) = self.messages.message(message) else { return };
        if is_remote && let Some(row) = self.rows.get_mut(message.row) {
            row.to_remote.grow(1);
        }
        let mut delivery = Delivery {
            message: message.id,
            group: message.row,
            stamp: message.stamp,
            payload_len: message.payload_len,
            topic: message.topic,
            ..nothing()
        };
        for leg in others {
            let whole = whole(&leg);
            delivery.legs = ArrayVec::from_iter([*leg]);
            delivery.off_cpu = ArrayVec::new();
            self.hand_out(&mut delivery, whole, out);
        }
    }

    /// The place of a leg among those that its message goes on by, and who sent the first of them.
    fn siblings(&self, leg: &LegState) -> Option<(Option<TaskId>, FanOut)> {
        let (first, position, readers) = self.messages.siblings(leg)?;
        let (sender, sent) = if let Some(leg) = &first.leg {
            (leg.sender, leg.times.get(Stage::Send))
        } else {
            let path = self.flows.flow(first.way)?.marks.path(first.extent, 0);
            (path.sender, path.send)
        };
        Some((sender, FanOut { position, readers, first_sent: sent? }))
    }

    /// When the sender of a leg had read its message.
    fn had_since(&self, key: LegKey) -> Option<Nanos> {
        let before = self.messages.path(key.0).nth(1)?;
        self.flows.flow(before.way)?.marks.read_at(before.extent)
    }

    /// When bytes of a leg's connection were missing before its send: the longest time since some moment, or the last.
    fn missing_before(&self, way: Way, since: Option<Nanos>, leg: &Leg) -> Option<(Nanos, Nanos)> {
        let send = leg.times.get(Stage::Send)?;
        let since = since.map_or(send, |since| since.min(send));
        let of = |way: Way| match &self.flows.flow(way)?.marks {
            Marks::Tcp(marks) => marks.missing_between(since, send),
            Marks::Udp(_) => None,
        };
        let both = [of(way), of(way.back())].into_iter().flatten();
        both.max_by_key(|&missing| overlap(missing, since))
    }

    /// Hands out the deliveries that end with these legs.
    fn hand_out_ends(&mut self, ends: &mut Vec<usize>, out: &mut dyn DeliverySink) {
        for end in ends.drain(..) {
            let mut delivery = nothing();
            if let Some(whole) = self.delivery(end, &mut delivery) {
                self.note_reached(end);
                self.hand_out(&mut delivery, whole, out);
            }
        }
    }

    /// Notes that messages of this topic come through, and to whom. One who asks for messages by their place gets them in
    /// order, and none is lost that way.
    fn note_reached(&mut self, end: usize) {
        let mut path = self.messages.path(end);
        let Some(last) = path.next().filter(|leg| leg.asked.is_none() && leg.parent.is_some())
        else {
            return;
        };
        let (reader, message) = ((last.way, last.receiver.pid), last.message);
        let Some(message) = self.messages.message(message) else { return };
        let (subject, at) = (message.subject, message.at);
        if let Some(row) = self.rows.get_mut(message.row) {
            row.reached.note(subject, reader, at);
        }
    }

    /// Fills in the delivery that ends with this leg: a large one, and so in place. Whether every end of every leg was seen.
    fn delivery(&self, end: usize, delivery: &mut Delivery) -> Option<bool> {
        let mut path: ArrayVec<&LegState, MAX_LEGS> =
            self.messages.path(end).take(MAX_LEGS).collect();
        path.reverse();
        let message = self.messages.message(path.first()?.message)?;
        let mut whole = path.iter().all(|state| state.whole);
        let legs = &mut delivery.legs;
        for leg in path.iter().filter_map(|state| state.leg.as_deref()) {
            legs.push(leg.clone());
        }
        whole &= legs.len() == path.len();
        for after in 1..legs.len() {
            let Some((_, begins)) = legs[after].times.seen().next() else { continue };
            whole &= leg::cut_after(&mut legs[after.saturating_sub(1)], begins);
        }
        delivery.message = message.id;
        delivery.group = self.rows.root(message.row);
        delivery.stamp = message.stamp;
        delivery.payload_len = message.payload_len;
        delivery.topic = message.topic;
        Some(whole)
    }

    /// Hands out one delivery; `whole` says that every end of every leg was seen.
    pub(crate) fn hand_out(
        &mut self,
        delivery: &mut Delivery,
        whole: bool,
        out: &mut dyn DeliverySink,
    ) {
        if delivery.stamp.is_some_and(|stamp: Stamp| stamp.warmup) {
            if let Some(row) = self.rows.get_mut(delivery.group) {
                row.warmed_up.grow(u64::from(read_at(delivery).is_some()));
            }
            return out.aside(delivery);
        }
        let Some(read) = read_at(delivery) else { return };
        let one_way = delivery.one_way().filter(|_| whole);
        let now = self.now;
        let Some(row) = self.rows.get_mut(delivery.group) else { return };
        row.counts.delivered.grow(1);
        row.stats.delivered(now, read, delivery.payload_len, one_way);
        let Some(one_way) = one_way else {
            row.counts.uncovered.grow(1);
            return out.aside(delivery);
        };
        row.counts.matched.grow(1);
        row.stats.matched(delivery, one_way);
        let mut upkeep = Upkeep::default();
        for leg in &mut delivery.legs {
            let on_leg = row.had_upkeep(leg);
            leg.circumstances.beside_upkeep = on_leg.beside;
            upkeep.beside |= on_leg.beside;
            upkeep.before |= on_leg.before;
        }
        let schedules = Schedules { threads: &self.threads, processes: &self.processes };
        schedules.fill(delivery);
        let held_up = row.evidence.delivery(delivery, one_way, upkeep);
        if delivery.legs[0].times.get(Stage::Send).is_none() && !self.config.packets_only {
            row.without_send.grow(1);
        }
        self.note_roles(delivery);
        out.judged(delivery, held_up);
    }

    fn note_roles(&mut self, delivery: &Delivery) {
        let pid = |task: Option<TaskId>, socket| {
            task.map(|task| task.pid).filter(|&pid| pid != Pid(0)).or(self.sockets.pid(socket))
        };
        let mut roles: ArrayVec<(Pid, Deed), { 2 * MAX_LEGS }> = ArrayVec::new();
        for (index, leg) in delivery.legs.iter().enumerate() {
            let is_last = index.saturating_add(1) == delivery.legs.len();
            if let Some(pid) = pid(leg.sender, leg.from) {
                roles.push((
                    pid,
                    if index == 0 { |r| r.publishes = true } else { |r| r.forwards = true },
                ));
            }
            if let Some(pid) = pid(leg.reader, leg.to) {
                roles.push((
                    pid,
                    if is_last { |r| r.subscribes = true } else { |r| r.forwards = true },
                ));
            }
        }
        let Some(row) = self.rows.get_mut(delivery.group) else { return };
        for (pid, note) in roles {
            if row.roles.len() < PROCESSES || row.roles.contains_key(&pid) {
                note(row.roles.entry(pid).or_default());
            }
        }
    }

    /// Gives up the messages whose time has come.
    pub(crate) fn expire(&mut self, all: bool, out: &mut dyn DeliverySink) {
        let next = |messages: &mut Messages, now| {
            if all { messages.least() } else { messages.expired(now) }
        };
        while let Some(index) = next(&mut self.messages, self.now) {
            if out.takes_given_up() {
                self.tell_given_up(index, all, out);
            }
            let gone = self.messages.give_up(index);
            self.count_leftover(&gone);
            let Some(row) = self.rows.get_mut(gone.row) else { continue };
            let is_known = row.reached.covers(gone.subject, gone.at);
            let departure = row.reached.before(gone.subject, gone.at);
            let departure = departure.and_then(|reader| self.departures.of(reader));
            let losses = &mut row.evidence.losses;
            // What is still under way at the end is not lost, unless nobody is there any more.
            let is_lost = !all || gone.at + LATE <= self.now;
            if !is_known && let Some(departure) = departure.filter(|_| is_lost) {
                losses.abandon(gone.left.swallowed, departure);
            } else if !all && is_known {
                losses.swallowed.grow(gone.left.swallowed);
            } else if !all {
                losses.unmatched.grow(gone.left.swallowed);
            }
            losses.unread.grow(if all { 0 } else { gone.left.lost });
        }
    }

    /// Tells what is known of a message that was not handed out.
    fn tell_given_up(&self, message: usize, at_end: bool, out: &mut dyn DeliverySink) {
        for end in self.messages.left_of(message) {
            let mut so_far = nothing();
            let is_known = self.delivery(end, &mut so_far).is_some();
            if !is_known || so_far.legs.len() != self.messages.depth(end) {
                continue;
            }
            if self.messages.was_delivered(end) {
                out.aside(&so_far);
            } else {
                out.undelivered(&so_far, at_end);
            }
        }
    }

    pub(crate) fn count_leftover(&mut self, gone: &GivenUp) {
        if let Some(row) = self.rows.get_mut(gone.row) {
            row.counts.delivered.grow(gone.left.unjoined);
            row.evidence.losses.unjoined.grow(gone.left.unjoined);
            row.counts.uncovered.grow(gone.left.unjoined.saturating_add(gone.left.unread));
        }
    }
}

/// To be filled in.
pub(crate) fn nothing() -> Delivery {
    Delivery {
        message: MessageId::default(),
        group: GroupId::default(),
        stamp: None,
        payload_len: 0,
        topic: None,
        legs: ArrayVec::new(),
        off_cpu: ArrayVec::new(),
    }
}
