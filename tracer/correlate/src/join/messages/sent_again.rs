//! Messages that a server sends a client again, because it had sent them to it on an earlier
//! connection.
//!
//! A session outlives its connections: what was not acknowledged on one is sent again on the next, and what came in between is sent
//! there for the first time (MQTT 3.1.1 §4.4, MQTT 5.0 §4.4). The DUP flag should tell them apart (MQTT 5.0 §3.3.1.1), but some servers
//! set it in neither case, others in both.

use super::super::new_leg::{NamedClient, NewLeg};
use super::super::open::{LegState, Message};
use super::Messages;
use super::matching::SEARCHED;
use wirelap_events::Nanos;
use wirelap_flow::Direction;
use wirelap_protocols::MessageRouting;

impl Messages {
    /// True if the client that a leg leads to had got its message from the same server on a connection that was over before. `None`
    /// if that is not known, and what the server says of it is to be believed.
    pub fn is_sent_again(
        &self,
        new: &NewLeg,
        is_over: impl Fn(Direction) -> bool,
        is_read: impl Fn(&LegState) -> bool,
    ) -> Option<bool> {
        let named = new.client.and_then(|client| Some((client, client.since?)));
        let Some((client, since)) = named else { return self.was_got(new, is_over, is_read) };
        let carried = self.carried(new.message.identity, new.way());
        let messages = || {
            let (_, all) = self.index.after(new.message.identity, carried, |_| false);
            all.take(SEARCHED).filter_map(|index| self.open.get(index))
        };
        let mut earlier = messages().take_while(|message| message.at < since);
        let was_sent = earlier.any(|message| {
            self.legs_to(message, new, since).any(|leg| {
                leg.client == Some(client.name)
                    && self.had_arrived(leg, new.at)
                    && is_over(leg.direction)
            })
        });
        if !was_sent && !new.message.repeats {
            return None;
        }
        let may_be_first = messages().any(|message| self.may_be_first(message, new, client, since));
        match (was_sent, may_be_first) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            // Of equal messages some had been sent, and others not; or none is known.
            _ => None,
        }
    }

    /// For a message that its server says it has sent before: true if somebody has got it, false if nobody has, because those whom it was
    /// sent to were gone before they read it, or it had only been chosen for them. `None` if it is not known which message it is.
    fn was_got(
        &self,
        new: &NewLeg,
        is_over: impl Fn(Direction) -> bool,
        is_read: impl Fn(&LegState) -> bool,
    ) -> Option<bool> {
        if !new.message.repeats || !new.is_from_server() {
            return None;
        }
        let was_got = |message: &Message| {
            let to_clients = self.legs_of(message).filter_map(|leg| self.legs.get(leg));
            let mut to_clients = to_clients
                .filter(|leg| !leg.reader.toward.is_server() && leg.sender().is(&new.ends.sender));
            to_clients.any(|leg| {
                leg.was_read() || leg.is_remote || !is_over(leg.direction) || is_read(leg)
            })
        };
        let (_, all) = self.index.after(new.message.identity, None, |_| false);
        let all = all.take(SEARCHED).filter_map(|index| self.open.get(index));
        let here = all.filter(|message| self.came(message, &new.ends.sender).is_some());
        let (mut got, mut waits) = (self.handed_out.has(new.message.identity), false);
        for message in here.filter(|message| message.at <= new.written) {
            let was_got = was_got(message);
            (got, waits) = (got || was_got, waits || !was_got);
        }
        // Of equal messages some had been got, and others not; or none is known.
        (got != waits).then_some(got)
    }

    /// True if a message with the content of a new leg has come to its sender at `since` or later, and was not sent in its direction. `had` is when the
    /// receiver of a leg had its message, if that is known: it may have lain in a socket before, behind its reader's subscription.
    pub fn has_waiting(
        &self,
        new: &NewLeg,
        since: Nanos,
        had: impl Fn(&LegState) -> Option<Nanos>,
    ) -> bool {
        let came_since = |message: &Message| {
            let came = self.came(message, &new.ends.sender);
            came.is_some_and(|(leg, at)| had(&self.legs[leg]).unwrap_or(at) >= since)
        };
        let (_, all) = self.index.after(new.message.identity, None, |_| false);
        let mut all = all.take(SEARCHED).filter_map(|index| self.open.get(index));
        all.any(|message| {
            message.at <= new.written
                && came_since(message)
                && self.leg_on(message, new.way()).is_none()
        })
    }

    /// True if a message waits at the sender of a new leg, and was not sent to its client before: neither by its name nor by a
    /// connection of which no name is known.
    fn may_be_first(
        &self,
        message: &Message,
        new: &NewLeg,
        client: NamedClient,
        since: Nanos,
    ) -> bool {
        let is_here = message.facts.topology == MessageRouting::Brokered
            && message.at <= new.written
            && self.legs_of(message).any(|leg| {
                self.legs.get(leg).is_some_and(|leg| {
                    leg.reader.toward.is_server()
                        && leg.reaches(&new.ends.sender)
                        && !leg.is_repeated()
                })
            });
        is_here
            && !self.legs_to(message, new, since).any(|leg| {
                leg.client.is_none_or(|name| name == client.name) && self.had_arrived(leg, new.at)
            })
    }

    /// The legs of a message from the sender of a new one to clients, on other connections and before `since`.
    fn legs_to(
        &self,
        message: &Message,
        new: &NewLeg,
        since: Nanos,
    ) -> impl Iterator<Item = &LegState> {
        let all = self.legs_of(message).filter_map(|leg| self.legs.get(leg));
        all.filter(move |leg| {
            !leg.reader.toward.is_server()
                && leg.written < since
                && leg.direction.serial != new.direction.serial
                && leg.sender().is(&new.ends.sender)
        })
    }

    /// True if the receiver of a leg had it, or is not seen, or may still tell.
    fn had_arrived(&self, leg: &LegState, now: Nanos) -> bool {
        let may_tell = !leg.leg.is_known() && now < leg.at + self.limits.hold;
        leg.leg.was_read() || leg.is_remote || may_tell
    }
}
