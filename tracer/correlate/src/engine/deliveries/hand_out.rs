//! Deliveries that are handed out, and what they add to their rows.

use super::super::conversations::Conversations;
use super::super::sink::DeliverySink;
use super::super::sockets::Sockets;
use super::{Context, Deliveries};
use crate::join::{LONGEST_WAY, LegState, leg};
use crate::rows::{DeferredDelivery, DeferredFigures, PROCESSES, ProcessRole, Rows, nothing};
use arrayvec::ArrayVec;
use wirelap_events::{
    Delivery, Leg, LegHosts, MAX_LEGS, Nanos, Pid, Saturate, Stage, Stamp, TaskId,
};
use wirelap_figures::{PartialView, ReaderGroup, read_at, sampled_at};
use wirelap_flow::LegKey;

/// Sets a role of a process.
type NoteRole = fn(&mut ProcessRole);

impl Deliveries {
    /// Hands out the deliveries that end with these legs.
    pub(super) fn hand_out_ends(
        &mut self,
        ends: &mut Vec<usize>,
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        if ends.is_empty() {
            return;
        }
        if c.accounts.rows.deferred().is_some() {
            return self.defer_ends(ends, c);
        }
        let mut delivery = self.scratch.take().unwrap_or_else(|| Box::new(nothing()));
        for end in ends.drain(..) {
            delivery.off_cpu.clear();
            if let Some(whole) = self.delivery(end, &mut delivery, &c.accounts.rows) {
                self.note_reader(end, &mut c.accounts.rows);
                let group =
                    self.messages.path(end).next().map(|leg| leg.reader.group).unwrap_or_default();
                self.hand_out(&mut delivery, (whole, group), out, c);
                self.messages.note_handed_out(end);
            }
        }
        self.scratch = Some(delivery);
    }

    /// Notes the deliveries that end with these legs, which are to be added to their rows elsewhere.
    fn defer_ends(&mut self, ends: &mut Vec<usize>, c: &mut Context<'_>) {
        for end in ends.drain(..) {
            if self.defer_end(end, c).is_some() {
                self.note_reader(end, &mut c.accounts.rows);
                self.messages.note_handed_out(end);
            }
        }
    }

    fn defer_end(&self, end: usize, c: &mut Context<'_>) -> Option<()> {
        let path = self.listed_path(end);
        let message = self.messages.message(path.first()?.message)?;
        let group = c.accounts.rows.root(message.facts.row);
        let deferred = c.accounts.rows.deferred()?;
        let mut legs = 0_usize;
        for state in &path {
            if let Some((flow, range, leg)) = state.packets() {
                deferred.packet_leg(flow, range, leg);
            } else if let Some(leg) = state.known() {
                deferred.leg(leg);
            } else {
                continue;
            }
            legs.grow(1);
        }
        deferred.delivery(DeferredDelivery {
            message: message.id,
            group,
            stamp: message.facts.stamp,
            payload_len: message.facts.payload_len,
            topic: message.facts.topic,
            now: c.coverage.now(),
            is_whole: legs == path.len() && path.iter().all(|state| state.whole),
            legs,
        });
        Some(())
    }

    /// Notes that messages of this topic come through, and to whom.
    fn note_reader(&self, end: usize, rows: &mut Rows) {
        let mut path = self.messages.path(end);
        if path.clone().any(|leg| leg.is_guessed)
            && let Some(leg) = self.messages.leg_at(end)
            && let Some(message) = self.messages.message(leg.message)
            && let Some(row) = rows.get_mut(message.facts.row)
        {
            row.uncertain.guessed.grow(1);
        }
        let Some(last) = path.next().filter(|leg| leg.parent().is_some()) else { return };
        let permissions = last.permissions();
        let asks_on = permissions.asked.map(|_| permissions.asked_on);
        let (reader, message) = ((last.direction, last.receiver().pid), last.message);
        let is_unconfirmed = last.is_unconfirmed;
        let Some(message) = self.messages.message(message) else {
            return;
        };
        let (subject, at) = (message.facts.subject, message.at);
        if let Some(row) = rows.get_mut(message.facts.row) {
            row.readers.note(subject, reader, at, asks_on);
            row.readers.note_confirmation(subject, reader.0, is_unconfirmed);
        }
    }

    /// The legs of a delivery that ends with this one: of more than have room, those at both ends and beside the broker. What is
    /// between them is among proxies, and counts as their time.
    fn listed_path(&self, end: usize) -> ArrayVec<&LegState, MAX_LEGS> {
        let mut all: ArrayVec<&LegState, LONGEST_WAY> =
            self.messages.path(end).take(LONGEST_WAY).collect();
        all.reverse();
        let Some(last) = all.len().checked_sub(1).filter(|_| all.len() > MAX_LEGS) else {
            return all.into_iter().take(MAX_LEGS).collect();
        };
        let to_broker = all.iter().take_while(|leg| leg.reader.toward.is_server()).count();
        let broker = to_broker.clamp(2, last.saturating_sub(1));
        let places = [0, broker.saturating_sub(1), broker, last];
        places.into_iter().filter_map(|place| all.get(place).copied()).collect()
    }

    /// Makes `delivery`, which is large, the one that ends with this leg, without how its threads rested. Returns whether every end of
    /// every leg was seen.
    pub(super) fn delivery(
        &self,
        end: usize,
        delivery: &mut Delivery,
        rows: &Rows,
    ) -> Option<bool> {
        let path = self.listed_path(end);
        let message = self.messages.message(path.first()?.message)?;
        let mut whole = path.iter().all(|state| state.whole);
        let legs = &mut delivery.legs;
        let mut known = 0_usize;
        for state in &path {
            if legs.len() <= known {
                legs.push(leg::nothing(state.flow()));
            }
            if let Some(place) = legs.get_mut(known)
                && state.put(place)
            {
                known.grow(1);
            }
        }
        legs.truncate(known);
        whole &= known == path.len();
        if known == path.len() {
            let proxied = path.iter().enumerate();
            for (place, _) in proxied.filter(|(_, leg)| self.messages.leads_to_unseen_proxy(leg)) {
                leg::take_sender_for_reader(legs, place);
            }
        }
        whole &= leg::cut_each(legs);
        whole &= legs.iter().all(|leg| leg.circumstances.path.hosts.error != LegHosts::UNKNOWN);
        delivery.message = message.id;
        delivery.group = rows.root(message.facts.row);
        delivery.stamp = message.facts.stamp;
        delivery.payload_len = message.facts.payload_len;
        delivery.topic = message.facts.topic;
        delivery.trace = message.facts.trace;
        delivery.clock_error = self.clocks.error_over(legs);
        Some(whole)
    }

    /// Hands out deliveries of a message, each of a leg to a reader of this group, beside the first one.
    #[expect(clippy::vec_box, reason = "legs are large, and their boxes are used again")]
    pub(super) fn hand_out_others(
        &self,
        key: LegKey,
        others: Vec<Box<Leg>>,
        is_whole: impl Fn(&Leg) -> bool,
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        let Some(state) = self.messages.leg(key).filter(|_| !others.is_empty()) else { return };
        let Some(message) = self.messages.message(state.message) else { return };
        let mut delivery = nothing();
        delivery.message = message.id;
        delivery.group = message.facts.row;
        delivery.stamp = message.facts.stamp;
        delivery.payload_len = message.facts.payload_len;
        delivery.topic = message.facts.topic;
        delivery.trace = message.facts.trace;
        for leg in others {
            let whole = is_whole(&leg);
            delivery.legs.clear();
            delivery.legs.push(*leg);
            delivery.off_cpu.clear();
            delivery.clock_error = self.clocks.error_over(&delivery.legs);
            self.hand_out(&mut delivery, (whole, state.reader.group), out, c);
        }
    }

    /// Hands out one delivery, which is read in this group; `whole` says that every end of every leg was seen.
    pub(super) fn hand_out(
        &self,
        delivery: &mut Delivery,
        (whole, group): (bool, ReaderGroup),
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        let now = c.coverage.now();
        if let Some(deferred) = c.accounts.rows.deferred() {
            return defer(delivery, whole, now, deferred);
        }
        tell_topic(delivery, out, c.conversations);
        if delivery.stamp.is_some_and(|stamp: Stamp| stamp.warmup) {
            if let Some(row) = c.accounts.rows.get_mut(delivery.group) {
                row.warmed_up.grow(u64::from(read_at(delivery).is_some()));
            }
            return out.aside(delivery);
        }
        let Some(read) = read_at(delivery) else {
            return;
        };
        if c.accounts.rows.is_muted(delivery.group) {
            return;
        }
        let is_partial = !self.config.packets_only && begins_elsewhere(delivery);
        let one_way = delivery.one_way().filter(|_| whole && !is_partial);
        c.note_delivered(delivery, group, one_way);
        let Some(row) = c.accounts.rows.get_mut(delivery.group) else {
            return;
        };
        let window = row.pauses(c.coverage.pauses()).windows().at(sampled_at(delivery));
        row.delivered(delivery, (read, window), one_way, now);
        if is_partial {
            Deliveries::add_partial(delivery, PartialView::Receiver, false, c);
            return out.aside(delivery);
        }
        let Some(one_way) = one_way else {
            let may_be_cut = row.may_be_cut(c.coverage.pauses(), read);
            row.counts.of_unfollowed(may_be_cut).grow(1);
            return out.aside(delivery);
        };
        let schedules = c.host.schedules();
        let held_up = row.matched(delivery, one_way, |delivery| schedules.fill(delivery));
        if delivery.legs[0].times.get(Stage::Send).is_none() && !self.config.packets_only {
            row.uncertain.without_send.grow(1);
        }
        note_roles(delivery, &mut c.accounts.rows, c.conversations.sockets());
        out.judged(delivery, held_up);
    }
}

/// Tells the name of a message's topic to a sink that needs it.
pub(super) fn tell_topic(
    delivery: &Delivery,
    out: &mut dyn DeliverySink,
    conversations: &Conversations,
) {
    let Some(topic) = delivery.topic.filter(|&topic| out.needs_topic(topic)) else { return };
    if let Some(name) = conversations.public_topic(topic) {
        out.topic(topic, name);
    } else if let Some(name) = conversations.topic(topic) {
        out.secret_topic(topic, name);
    }
}

/// Notes a delivery that is to be added to its row elsewhere.
fn defer(delivery: &mut Delivery, is_whole: bool, now: Nanos, deferred: &mut DeferredFigures) {
    let legs = delivery.legs.len();
    delivery.legs.drain(..).for_each(|leg| deferred.leg(leg));
    deferred.delivery(DeferredDelivery {
        message: delivery.message,
        group: delivery.group,
        stamp: delivery.stamp,
        payload_len: delivery.payload_len,
        topic: delivery.topic,
        now,
        is_whole,
        legs,
    });
}

/// Notes what the processes of a delivery are seen to do.
pub fn note_roles(delivery: &Delivery, rows: &mut Rows, sockets: &Sockets) {
    let pid = |task: Option<TaskId>, socket| {
        task.map(|task| task.pid).filter(|&pid| pid != Pid(0)).or(sockets.pid(socket))
    };
    let mut roles: ArrayVec<(Pid, NoteRole), { 2 * MAX_LEGS }> = ArrayVec::new();
    for (index, leg) in delivery.legs.iter().enumerate() {
        let is_last = index.saturating_add(1) == delivery.legs.len();
        if let Some(pid) = pid(leg.sender, leg.from) {
            roles.push((
                pid,
                if index == 0 { |r| r.publishes = true } else { |r| r.forwards = true },
            ));
        }
        if let Some(pid) = pid(leg.reader, leg.to) {
            roles
                .push((pid, if is_last { |r| r.subscribes = true } else { |r| r.forwards = true }));
        }
    }
    let Some(row) = rows.get_mut(delivery.group) else {
        return;
    };
    for (pid, note) in roles {
        if row.roles.len() < PROCESSES || row.roles.contains_key(&pid) {
            note(row.roles.entry(pid).or_default());
        }
    }
}

/// True if a delivery begins at a sender of which this host shows nothing: no call, and no packet that leaves.
fn begins_elsewhere(delivery: &Delivery) -> bool {
    delivery.legs.first().is_some_and(|leg| {
        let begins = leg.times.seen().next();
        leg.from.is_none()
            && leg.to.is_some()
            && leg.sender.is_none()
            && begins.is_some_and(|(stage, _)| stage >= Stage::Rx)
    })
}
