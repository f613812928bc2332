//! Requests of processes on this host, and the replies from elsewhere that they read.

use super::{Context, Deliveries};
use wirelap_events::{ByteRange, Nanos, Offset};
use wirelap_flow::{Departure, Direction, Flow, FoundExchange, Marks, RoundTrip, UnreadReply};
use wirelap_limits::deliveries::{LONGEST_USUAL_WAY, LONGEST_WAIT_FOR_REPLY};

impl Deliveries {
    /// Takes in the requests and replies that a decoder has just found.
    pub(super) fn note_exchanges(&self, at: Nanos, direction: Direction, c: &mut Context<'_>) {
        if c.conversations.found_mut().exchanges.is_empty() {
            return;
        }
        let mut exchanges = std::mem::take(&mut c.conversations.found_mut().exchanges);
        for found in exchanges.drain(..).filter(|_| !self.config.packets_only) {
            note_exchange(at, Direction { side: found.side, ..direction }, &found, c);
        }
        c.conversations.found_mut().exchanges = exchanges;
    }

    /// Adds the round trips whose reply was read in this direction, and gives up what has waited for too long.
    pub(super) fn settle_round_trips(&self, direction: Direction, all: bool, c: &mut Context<'_>) {
        let Some(conversation) = c.conversations.flows_mut().get_mut(direction) else { return };
        let is_closed = conversation.life.is_closed;
        let [asks_unseen, is_asked_unseen] =
            [direction, direction.back()].map(|way| ends_unseen(conversation.flow(way.side)));
        let flow = conversation.flow_mut(direction.side);
        if flow.round_trips.is_none() {
            return;
        }
        look_up(flow);
        let now = c.coverage.now();
        let held = now - self.hold();
        let mut done = Vec::new();
        while let Some(reply) = flow.first_reply().copied() {
            let read = flow.marks.read_at(reply.extent);
            match read {
                Some(read) if all || read <= held => done.extend(round_trip(flow, &reply, read)),
                None if all || reply.found_at + self.config.patience <= now => {}
                _ => break,
            }
            if let Some(trips) = &mut flow.round_trips {
                trips.pop_reply();
            }
        }
        let mut unanswered = 0;
        if let Some(trips) = &mut flow.round_trips {
            if all || trips.is_due(now) {
                // What is still under way at the end may be answered yet.
                let patience =
                    if all || is_closed { LONGEST_USUAL_WAY } else { LONGEST_WAIT_FOR_REPLY };
                trips.give_up(now - patience);
            }
            unanswered = trips.take_unanswered();
        }
        // Where the other end came into view since, the messages themselves are followed.
        if !asks_unseen {
            unanswered = 0;
        }
        if !is_asked_unseen {
            done.clear();
        }
        if done.is_empty() && unanswered == 0 {
            return;
        }
        let Some(row) = c.row_of(direction).and_then(|row| c.accounts.rows.get_mut(row)) else {
            return;
        };
        let requests = &mut row.partial_mut().requests;
        for trip in &done {
            requests.answered(trip.time(), trip.away());
        }
        requests.unanswered(unanswered);
    }
}

/// True if somebody on this host sends in this direction, to a receiver that is not seen.
fn ends_unseen(flow: &Flow) -> bool {
    matches!(flow.marks, Marks::Tcp(_)) && flow.sender.is_some() && flow.receiver.is_none()
}

fn note_exchange(at: Nanos, direction: Direction, found: &FoundExchange, c: &mut Context<'_>) {
    let asks = if found.is_reply { direction.back() } else { direction };
    let flows = c.conversations.flows_mut();
    let Some(flow) = flows.flow_mut(asks).filter(|flow| ends_unseen(flow)) else { return };
    if !found.is_reply {
        let trips = flow.round_trips.get_or_insert_default();
        return trips.asked(found.number, found.extent, at);
    }
    look_up(flow);
    let departure = flow.round_trips.as_mut().and_then(|trips| trips.take_request(found.number));
    if let Some(departure) = departure
        && let Some(flow) = flows.flow_mut(direction)
    {
        let reply = UnreadReply { extent: found.extent, found_at: at, departure };
        flow.round_trips.get_or_insert_default().add_reply(reply);
    }
}

/// Looks up when requests left, as far as they have.
fn look_up(flow: &mut Flow) {
    let Flow { round_trips: Some(trips), marks, bytes, .. } = flow else { return };
    let come = bytes.next().unwrap_or(Offset(0));
    trips.look_up(come, |extent| departure(marks, extent));
}

fn departure(marks: &Marks, extent: ByteRange) -> Option<Departure> {
    let path = marks.path(extent, 0);
    let left = path.lost.or(path.xmit);
    path.send.zip(left).map(|(sent, left)| Departure { sent, left: left.max(sent) })
}

fn round_trip(flow: &Flow, reply: &UnreadReply, read: Nanos) -> Option<RoundTrip> {
    let departure = reply.departure;
    let came = flow.marks.path(reply.extent, 0).rx;
    let came = came.filter(|&came| came >= departure.left && came <= read);
    (read >= departure.sent).then_some(RoundTrip { departure, came, read })
}
