//! Requests of processes on this host, and the replies that they read, from elsewhere or from here.
//!
//! ```text
//! who answers is elsewhere   how long the round trips took, and how much of that here
//! both ends are here         a few requests, each with its reply a delivery of two legs: why it took so long
//! ```

use super::circumstances::fill_in_alone;
use super::{Context, Deliveries};
use crate::join::leg;
use crate::rows::nothing;
use wirelap_events::{ByteRange, FlowRange, Leg, Nanos, Offset, Stage};
use wirelap_flow::{
    Conversation, Departure, Direction, Flow, FoundExchange, Marks, Path, RequestLookUp, RoundTrip,
    SentRequest, UnreadReply,
};
use wirelap_limits::deliveries::{LONGEST_START_UP, LONGEST_USUAL_WAY, LONGEST_WAIT_FOR_REPLY};

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
        let flows = c.conversations.flows_mut();
        if flows.flow(direction).is_none_or(|flow| flow.round_trips.is_none()) {
            return;
        }
        for way in [direction, direction.back()] {
            self.clocks.note(way, flows);
        }
        let Some(conversation) = flows.get_mut(direction) else { return };
        let is_closed = conversation.life.is_closed;
        let [asks_unseen, is_asked_unseen] =
            [direction, direction.back()].map(|way| ends_unseen(conversation.flow(way.side)));
        look_up(conversation, direction);
        let now = c.coverage.now();
        let held = now - self.hold();
        let (mut done, mut followed) = (Vec::new(), Vec::new());
        let flow = conversation.flow_mut(direction.side);
        while let Some((extent, found_at)) =
            flow.first_reply().map(|reply| (reply.extent, reply.found_at))
        {
            let read = flow.marks.read_at(extent);
            match read {
                Some(read) if all || read <= held => {}
                None if all || found_at + self.config.patience <= now => {}
                _ => break,
            }
            let reply = flow.round_trips.as_mut().and_then(|trips| trips.take_reply());
            let Some((reply, read)) = reply.zip(read) else { continue };
            if let Some(request) = reply.request.leg {
                followed.push((request, extent));
            } else {
                done.extend(round_trip(flow, &reply, read));
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
        for (request, extent) in followed {
            add_followed(*request, (direction, extent), c);
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

/// True if both ends of a direction are on this host.
fn is_here(flow: &Flow) -> bool {
    matches!(flow.marks, Marks::Tcp(_)) && flow.sender.is_some() && flow.receiver.is_some()
}

fn note_exchange(at: Nanos, direction: Direction, found: &FoundExchange, c: &mut Context<'_>) {
    let asks = if found.is_reply { direction.back() } else { direction };
    let flows = c.conversations.flows_mut();
    // What a server asks of its clients is their handling of its messages.
    let is_of_client = flows.server(asks).is_some_and(|server| server != asks.side);
    let Some(conversation) = flows.get_mut(asks) else { return };
    let flow = conversation.flow_mut(asks.side);
    let is_followed = is_here(flow) && is_of_client;
    if !is_followed && !ends_unseen(flow) {
        return;
    }
    if !found.is_reply {
        let trips = flow.round_trips.get_or_insert_default();
        if !is_followed || trips.takes_sample(at) {
            trips.asked(found.number, found.extent, at);
        }
        return;
    }
    if !flow.round_trips.as_ref().is_some_and(|trips| trips.is_waiting()) {
        return;
    }
    look_up(conversation, asks);
    let trips = conversation.flow_mut(asks.side).round_trips.as_mut();
    if let Some(request) = trips.and_then(|trips| trips.take_request(found.number)) {
        let reply = UnreadReply { extent: found.extent, found_at: at, request };
        conversation.flow_mut(direction.side).round_trips.get_or_insert_default().add_reply(reply);
    }
}

/// Looks up the requests that have left in a direction, or were read where both ends are here.
fn look_up(conversation: &mut Conversation, direction: Direction) {
    let Some(mut trips) = conversation.flow_mut(direction.side).round_trips.take() else { return };
    let seen = &*conversation;
    let flow = seen.flow(direction.side);
    let come = flow.bytes.next().unwrap_or(Offset(0));
    let is_here = is_here(flow);
    trips.look_up(|extent| {
        if extent.end > come || is_here && flow.marks.read_at(extent).is_none() {
            return RequestLookUp::NotYet;
        }
        let path = flow.marks.path(extent, 0);
        let Some(departure) = departure(&path) else { return RequestLookUp::Unseen };
        let leg = is_here.then(|| leg_of(seen, direction, extent, path));
        RequestLookUp::Sent(SentRequest { departure, leg })
    });
    conversation.flow_mut(direction.side).round_trips = Some(trips);
}

fn departure(path: &Path<'_>) -> Option<Departure> {
    let left = path.lost.or(path.xmit);
    path.send.zip(left).map(|(sent, left)| Departure { sent, left: left.max(sent) })
}

fn round_trip(flow: &Flow, reply: &UnreadReply, read: Nanos) -> Option<RoundTrip> {
    let departure = reply.request.departure;
    let came = flow.marks.path(reply.extent, 0).rx;
    let came = came.filter(|&came| came >= departure.left && came <= read);
    (read >= departure.sent).then_some(RoundTrip { departure, came, read })
}

/// The leg of a request or a reply whose ends are on this host.
fn leg_of(
    conversation: &Conversation,
    direction: Direction,
    extent: ByteRange,
    mut path: Path<'_>,
) -> Box<Leg> {
    let flow = conversation.flow(direction.side);
    path.circumstances.path.hosts = flow.hosts;
    let (mut leg, _) = leg::build(flow.key, flow.sender, flow.receiver, &path, None);
    leg.flow_range = FlowRange { flow: direction.id(), range: extent };
    let opened = conversation.life.opened.zip(path.send);
    leg.circumstances.start_up =
        opened.is_some_and(|(opened, sent)| sent < opened + LONGEST_START_UP);
    fill_in_alone(flow, None, &mut leg);
    leg
}

/// Adds a request and its reply, which was read, to what tells why requests of their row take so long.
fn add_followed(request: Leg, (direction, extent): (Direction, ByteRange), c: &mut Context<'_>) {
    let Some(row) = c.row_of(direction) else { return };
    let Some(conversation) = c.conversations.flows().get(direction) else { return };
    let path = conversation.flow(direction.side).marks.path(extent, 0);
    let reply = leg_of(conversation, direction, extent, path);
    let mut delivery = nothing();
    delivery.group = row;
    delivery.legs.push(request);
    delivery.legs.push(*reply);
    note_server(&mut delivery.legs, direction.back(), c);
    if !leg::cut_each(&mut delivery.legs) {
        return;
    }
    let Some(time) = delivery.one_way() else { return };
    c.host.schedules().fill(&mut delivery);
    if let Some(row) = c.accounts.rows.get_mut(row) {
        let requests = row.requests.get_or_insert_default();
        requests.delivery(&delivery, time);
    }
}

/// Adds what the server of a request and its reply is known to wait for. The request went in this direction.
fn note_server(legs: &mut [Leg], direction: Direction, c: &Context<'_>) {
    let [request, reply] = legs else { return };
    let conversations = &c.conversations;
    request.circumstances.permission.answers_in_turn = conversations.answers_in_turn(direction);
    let time = |leg: &Leg, stage| leg.times.get(stage);
    let (Some(server), Some(read)) = (request.reader, time(request, Stage::Read)) else { return };
    let awaited = |from: Option<Nanos>, to: Option<Nanos>| {
        conversations.replica_awaited(server.pid, from?, to?)
    };
    request.circumstances.permission.replica = awaited(time(request, Stage::Ready), Some(read));
    reply.circumstances.permission.replica = awaited(Some(read), time(reply, Stage::Send));
}
