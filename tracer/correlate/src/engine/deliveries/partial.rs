//! Messages that this host shows in part: whoever sent or read them is on another host, or left out by a filter.

use super::super::sink::DeliverySink;
use super::hand_out::{note_roles, tell_topic};
use super::{Context, Deliveries};
use crate::join::{LegState, Messages};
use crate::rows::nothing;
use wirelap_events::{Delivery, Leg, Nanos, Stage, StageTimes, Transport};
use wirelap_figures::{PartialView, sampled_at};
use wirelap_flow::{Flow, LegKey, Marks};

impl Deliveries {
    /// Adds what a leg shows by itself: how it came in from elsewhere, or went out to there.
    pub(super) fn note_ends(&self, key: LegKey, is_remote: bool, leg: &Leg, c: &mut Context<'_>) {
        if self.config.packets_only {
            return;
        }
        let Some(state) = self.messages.leg(key) else { return };
        let Some(message) = self.messages.message(state.message) else { return };
        let comes_in = leg.from.is_none() && leg.to.is_some();
        if state.is_repeated() || message.facts.is_warmup() || !(comes_in || is_remote) {
            return;
        }
        let is_stream = state.transport == Transport::Tcp;
        if let Some(row) = c.accounts.rows.get_mut(message.facts.row) {
            if comes_in {
                row.partial_mut().came_in(leg);
            }
            if is_remote {
                row.partial_mut().went_out(leg, is_stream);
            }
        }
    }

    /// Hands out the messages that end at readers which are not seen, and whose way is known since a leg is complete.
    pub(super) fn hand_out_partial(
        &mut self,
        key: LegKey,
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        if self.config.packets_only {
            return;
        }
        let mut ends = std::mem::take(&mut self.ends);
        self.messages.partial_ends(key, &mut ends);
        for end in ends.drain(..) {
            let mut delivery = nothing();
            let Some(last) = self.messages.path(end).next() else { continue };
            let goes_to_server = last.reader.toward.is_server();
            if self.delivery(end, &mut delivery, &c.accounts.rows).is_some() {
                let view = if delivery.legs.len() > 1 || self.messages.comes_from_server(end) {
                    PartialView::Broker
                } else {
                    PartialView::Sender
                };
                Deliveries::add_partial(&mut delivery, view, goes_to_server, c);
                tell_topic(&delivery, out, c.conversations);
                out.aside(&delivery);
            }
        }
        self.ends = ends;
    }

    /// Adds the messages of one that is given up whose readers are seen here, and whose sender is not.
    pub(super) fn note_from_elsewhere(&self, message: usize, c: &mut Context<'_>) {
        for end in self.messages.left_of(message) {
            let is_it = |leg: &LegState| leg.was_read() && Messages::comes_from_elsewhere(leg);
            if !self.messages.path(end).next().is_some_and(is_it)
                || !self.messages.was_delivered(end)
            {
                continue;
            }
            let mut delivery = nothing();
            if self.delivery(end, &mut delivery, &c.accounts.rows).is_some() {
                Deliveries::add_partial(&mut delivery, PartialView::Receiver, false, c);
            }
        }
    }

    /// Adds a message to its row's partial figures.
    pub(super) fn add_partial(
        delivery: &mut Delivery,
        view: PartialView,
        goes_to_server: bool,
        c: &mut Context<'_>,
    ) {
        if delivery.stamp.is_some_and(|stamp| stamp.warmup) {
            return;
        }
        let mut seen = delivery.clone();
        keep_own_stages(&mut seen);
        let now = c.coverage.now();
        let Some(row) = c.accounts.rows.get_mut(delivery.group) else { return };
        let window = row.pauses(c.coverage.pauses()).windows().at(sampled_at(&seen));
        let Some(time) = row.partial_mut().add(now, view, &seen, window) else { return };
        c.host.schedules().fill(&mut seen);
        row.partial.evidence.delivery(&seen, time);
        delivery.off_cpu.clone_from(&seen.off_cpu);
        // Of a leg that a broker sends, and of which nothing else is known, it is no publisher.
        let is_alone = seen.legs.len() == 1 && !goes_to_server;
        if view != PartialView::Broker || !is_alone {
            note_roles(delivery, &mut c.accounts.rows, c.conversations.sockets());
        }
    }

    /// True if a leg to a reader that is not seen waits for the acknowledgement of its last byte.
    pub(super) fn awaits_acknowledgement(&self, flow: &Flow, leg: &LegState, now: Nanos) -> bool {
        let Marks::Tcp(marks) = &flow.marks else { return false };
        !self.config.packets_only
            && marks.hears()
            && !marks.was_heard(leg.extent.last())
            && leg.at + self.config.patience > now
            && !self.messages.is_pressed()
    }
}

/// Leaves out what was seen of a message beyond this host's part of its way: a filter may show packets of another namespace.
fn keep_own_stages(delivery: &mut Delivery) {
    delivery.clock_error = Nanos(0);
    if let Some(first) = delivery.legs.first_mut().filter(|leg| leg.from.is_none()) {
        clear(&mut first.times, |stage| stage < Stage::Rx);
    }
    if let Some(last) = delivery.legs.last_mut().filter(|leg| leg.to.is_none()) {
        clear(&mut last.times, |stage| stage > Stage::Xmit);
        last.chain.clear();
    }
}

fn clear(times: &mut StageTimes, is_elsewhere: impl Fn(Stage) -> bool) {
    let all = *times;
    all.seen().filter(|(stage, _)| is_elsewhere(*stage)).for_each(|(stage, _)| times.clear(stage));
}
