//! Legs of which everything is known, and the deliveries that end with them.

use super::super::kept::KeptLeg;
use super::super::open::Message;
use super::Messages;
use wirelap_events::{Leg, Saturate, Stage, Transport};
use wirelap_flow::LegKey;
use wirelap_protocols::MessageRouting;

impl Messages {
    /// Everything that will be known of a leg is known, and is kept in as little room as it needs.
    pub fn keep(&mut self, key: LegKey, leg: Box<Leg>) -> Option<KeptLeg> {
        let state = self.leg(key)?;
        let (kept, spare) = KeptLeg::of(leg, &state.ends, state.flow_range());
        self.forget(spare);
        Some(kept)
    }

    /// Everything that will be known of a leg is known. Adds each leg that now ends a complete delivery to `deliver`.
    pub fn complete(
        &mut self,
        key: LegKey,
        leg: KeptLeg,
        whole: bool,
        is_remote: bool,
        deliver: &mut Vec<usize>,
    ) {
        let (mut index, _) = key;
        let has_read = leg.was_read();
        let state = &mut self.legs[index];
        let message = state.message;
        state.leg = leg;
        state.whole = whole;
        state.is_remote = is_remote;
        self.open[message].open.shrink(1);
        self.waiting.shrink(1);
        if let Some(original) = self.legs[index].links.again.get() {
            if !has_read || !self.replace(original, index) {
                return self.note_finished(message);
            }
            index = original;
        }
        let place = message;
        let message = &self.open[message];
        if message.is_orphan {
            return self.note_finished(place);
        }
        let first = deliver.len();
        if self.legs[index].links.has_child {
            deliver.extend(self.legs_of(message).filter(|&leg| self.is_ready(message, leg)));
        } else if self.is_ready(message, index) {
            deliver.push(index);
        }
        for &leg in &deliver[first..] {
            self.legs[leg].emitted = true;
        }
        self.note_finished(place);
    }

    /// Takes note whether a message has legs that no delivery was handed out with.
    pub(super) fn note_finished(&mut self, message: usize) {
        let is_left = self.left_of(message).next().is_some();
        self.unfinished.set(message, is_left);
    }

    /// The legs that end at readers which are not seen here, of whose way everything is known since the leg `key` is, and that
    /// were not handed out.
    pub fn partial_ends(&mut self, key: LegKey, ends: &mut Vec<usize>) {
        let Some(leg) = self.leg(key) else { return };
        let (message, is_remote, has_child) = (leg.message, leg.is_remote, leg.links.has_child);
        let place = message;
        let Some(message) = self.open.get(message) else { return };
        let is_end = |&leg: &usize| {
            let state = &self.legs[leg];
            state.is_remote
                && !state.links.has_child
                && !self.waits_in_unseen_proxy(state)
                && !state.emitted
                && !state.is_repeated()
                && self.path(leg).all(|leg| leg.leg.is_known())
        };
        if is_remote {
            ends.extend(Some(key.0).filter(is_end));
        } else if has_child {
            ends.extend(self.legs_of(message).filter(is_end));
        }
        for &leg in ends.iter() {
            self.legs[leg].emitted = true;
        }
        self.note_finished(place);
    }

    /// True if a leg leads from a broker to a client.
    pub fn comes_from_server(&self, leg: usize) -> bool {
        self.legs.get(leg).is_some_and(|leg| {
            let topology = self.open.get(leg.message).map(|message| message.facts.topology);
            !leg.reader.toward.is_server() && topology == Some(MessageRouting::Brokered)
        })
    }

    /// The copy was read and the original was not: its stages from the queue on are the message's. Where a
    /// datagram was lost, the time from when it left first until the copy did is loss.
    fn replace(&mut self, original: usize, copy: usize) -> bool {
        let Some(mut leg) = self.legs[copy].known().map(Box::new) else { return false };
        let whole = self.legs[copy].whole;
        let state = &mut self.legs[original];
        let Some(first) = state.known() else { return false };
        if state.emitted || first.times.get(Stage::Read).is_some() {
            return false;
        }
        if state.transport == Transport::Udp {
            let left = first.times.get(Stage::Queue).or(first.times.get(Stage::Xmit));
            leg.times.clear(Stage::Lost);
            if let Some(left) = left {
                leg.times.set(Stage::Lost, left);
            }
            for stage in [Stage::Publish, Stage::Send, Stage::Sent] {
                leg.times.clear(stage);
                if let Some(at) = first.times.get(stage) {
                    leg.times.set(stage, at);
                }
            }
            leg.before.clone_from(&first.before);
            leg.circumstances.loss.resent = true;
            // It is as whole as its first transmission.
            state.whole = whole && first.times.get(Stage::Send).is_some();
        } else if let Some(send) = first.times.get(Stage::Send) {
            leg.times.set(Stage::Send, send);
            state.whole |= whole;
        }
        leg.sender = first.sender.or(leg.sender);
        let spare = state.keep(leg);
        self.forget(spare);
        true
    }

    fn is_ready(&self, message: &Message, index: usize) -> bool {
        let leg = &self.legs[index];
        !leg.emitted
            && !leg.is_repeated()
            && leg.was_read()
            && !self.goes_on(message, leg)
            && self.path(index).all(|leg| leg.leg.is_known())
    }
}
