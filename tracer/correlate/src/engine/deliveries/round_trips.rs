//! Requests of processes on this host, and the replies that they read, from elsewhere or from here.
//!
//! ```text
//! who answers is elsewhere   how long the round trips took, and how much of that here
//! both ends are here         how long the round trips took; a few of them, each as a delivery of two legs, tell where and why
//! a server hands them on     of the same few, with the two legs between the server and who answers
//! ```

use super::circumstances::fill_in_alone;
use super::handed_on::{ArrivedRequest, HandedOnWay};
use super::{Context, Deliveries};
use crate::join::{Receiver, leg};
use crate::rows::nothing;
use wirelap_events::{
    ByteRange, Delivery, FlowRange, Leg, LegOffCpu, Nanos, Offset, Stage, TaskId,
};
use wirelap_flow::{
    Conversation, Departure, Direction, ExchangePart, Flow, FlowTable, FoundExchange, Marks, Path,
    RequestLookUp, RoundTrip, SentRequest, UnreadReply,
};
use wirelap_limits::deliveries::{LONGEST_START_UP, LONGEST_USUAL_WAY, LONGEST_WAIT_FOR_REPLY};
use wirelap_protocols::{MessageRouting, Protocol};

impl Deliveries {
    /// Takes in the requests and replies that a decoder has just found.
    pub(super) fn note_exchanges(&mut self, at: Nanos, direction: Direction, c: &mut Context<'_>) {
        if c.conversations.found_mut().exchanges.is_empty() {
            return;
        }
        let mut exchanges = std::mem::take(&mut c.conversations.found_mut().exchanges);
        let packets_only = self.config.packets_only;
        let is_brokered = c.conversations.flows().get(direction).is_some_and(is_brokered);
        for found in exchanges.drain(..).filter(|_| !packets_only) {
            let direction = Direction { side: found.side, ..direction };
            let asks = direction.back();
            if found.part != ExchangePart::Request {
                self.handed_on.answered(asks, found.number, at, is_brokered);
            }
            match found.part {
                ExchangePart::Request => {
                    self.note_request(at, direction, (&found, is_brokered), c);
                }
                ExchangePart::Reply => note_reply(at, direction, &found, c),
                ExchangePart::NoReply => {
                    let asks = c.conversations.flows_mut().flow_mut(asks);
                    if let Some(trips) = asks.and_then(|asks| asks.round_trips.as_mut()) {
                        trips.end_unanswered(found.number);
                    }
                }
            }
        }
        c.conversations.found_mut().exchanges = exchanges;
    }

    /// Takes in a request. One that its sender hands on for somebody else is followed where that one's own is.
    fn note_request(
        &mut self,
        at: Nanos,
        direction: Direction,
        (found, is_brokered): (&FoundExchange, bool),
        c: &mut Context<'_>,
    ) {
        let &FoundExchange { number, extent, content, .. } = found;
        let flows = c.conversations.flows();
        let Some(flow) = flows.flow(direction) else { return };
        let (is_here, ends_unseen) = (is_here(flow), ends_unseen(flow));
        let asks_for_itself = asks_for_itself(direction, flows);
        let end =
            |direction, c: &Context<'_>| Some(Receiver::at(&c.conversations.node(direction)?));
        let may_be_handed_on = content.is_some() && (!is_brokered || is_here && !asks_for_itself);
        let hold = self.hold();
        let mut origin = || {
            let of = (content, is_brokered);
            self.handed_on.origin(direction, of, || end(direction, c), (at, hold))
        };
        let origin = if may_be_handed_on { origin() } else { None };
        let mut is_sample = false;
        let Some(flow) = c.conversations.flows_mut().flow_mut(direction) else { return };
        if let Some(origin) = origin {
            if origin.is_sample
                && is_here
                && flow.round_trips.get_or_insert_default().handed_on(number, extent, at)
            {
                self.handed_on.hand_on(direction, number, origin, at);
            }
        } else if ends_unseen || is_here && asks_for_itself {
            let is_chosen = flow.round_trips.get_or_insert_default().asked(number, extent, at);
            is_sample = is_chosen && is_here;
        }
        let may_go_on = content.is_some() && (!is_brokered || is_sample);
        if let Some(to) = may_go_on.then(|| end(direction.back(), c)).flatten() {
            let request = ArrivedRequest::new(direction, number, to, (at, is_sample));
            self.handed_on.asked(content, request, is_brokered);
        }
    }

    /// Adds the ways of requests that were handed on, before the round trips that they are a part of.
    pub(super) fn settle_handed_on(
        &mut self,
        active: &[Direction],
        all: bool,
        c: &mut Context<'_>,
    ) {
        if !self.handed_on.are_followed(c.coverage.now()) {
            return;
        }
        for &direction in active {
            for direction in [direction, direction.back()] {
                let flow = c.conversations.flows().flow(direction);
                let first = flow.and_then(Flow::first_reply);
                if first.is_some_and(|reply| reply.request.is_handed_on) {
                    self.settle_round_trips(direction, all, c);
                }
            }
        }
    }

    /// Adds the round trips whose reply was read in this direction, and gives up what has waited for too long.
    pub(super) fn settle_round_trips(
        &mut self,
        direction: Direction,
        all: bool,
        c: &mut Context<'_>,
    ) {
        let flows = c.conversations.flows_mut();
        if flows.flow(direction).is_none_or(|flow| flow.round_trips.is_none()) {
            return;
        }
        for way in [direction, direction.back()] {
            self.clocks.note(way, flows);
        }
        let Some(conversation) = flows.get_mut(direction) else { return };
        let is_closed = conversation.life.is_closed;
        let asks = conversation.flow(direction.side);
        let (is_asked_here, is_asked_elsewhere) = (is_here(asks), ends_unseen(asks));
        look_up(conversation, direction);
        while let Some((reply, read)) = self.next_read_reply(direction, all, c) {
            self.add_round_trip(reply, (direction, read), c);
        }
        let now = c.coverage.now();
        let Some(flow) = c.conversations.flows_mut().flow_mut(direction) else { return };
        let Some(trips) = &mut flow.round_trips else { return };
        if all || trips.is_due(now) {
            // What is still under way at the end may be answered yet.
            let patience =
                if all || is_closed { LONGEST_USUAL_WAY } else { LONGEST_WAIT_FOR_REPLY };
            trips.give_up(now - patience);
        }
        let unanswered = trips.take_unanswered();
        if unanswered == 0 {
            return;
        }
        let Some(row) = c.row_of(direction).and_then(|row| c.accounts.rows.get_mut(row)) else {
            return;
        };
        if is_asked_elsewhere {
            row.partial_mut().requests.unanswered(unanswered);
        } else if is_asked_here {
            row.requests_mut().figures.unanswered(unanswered);
        }
    }

    /// Takes the next reply of this direction that was read, and gives up those before it that were not.
    fn next_read_reply(
        &self,
        direction: Direction,
        all: bool,
        c: &mut Context<'_>,
    ) -> Option<(UnreadReply, Nanos)> {
        let now = c.coverage.now();
        let held = now - self.hold();
        let flow = c.conversations.flows_mut().flow_mut(direction)?;
        loop {
            let first = flow.first_reply()?;
            let (extent, found_at) = (first.extent, first.found_at);
            let read = flow.marks.read_at(extent);
            match read {
                Some(read) if all || read <= held => {}
                None if all || found_at + self.config.patience <= now => {}
                _ => return None,
            }
            let reply = flow.round_trips.as_mut().and_then(|trips| trips.take_reply())?;
            if let Some(read) = read {
                return Some((reply, read));
            }
        }
    }

    /// Adds a request whose reply was read in this direction.
    fn add_round_trip(
        &mut self,
        reply: UnreadReply,
        (direction, read): (Direction, Nanos),
        c: &mut Context<'_>,
    ) {
        let flows = c.conversations.flows();
        let Some(conversation) = flows.get(direction) else { return };
        let flow = conversation.flow(direction.side);
        let trip = round_trip(flow, &reply, read);
        // Where the other end came into view since, the messages themselves are followed.
        let is_shown =
            reply.request.is_here || ends_unseen(conversation.flow(direction.side.other()));
        let Some(trip) = trip.filter(|_| is_shown) else { return };
        let legs = reply.request.leg.map(|request| {
            let path = flow.marks.path(reply.extent, 0);
            Box::new([*request, *leg_of(conversation, direction, reply.extent, path)])
        });
        if reply.request.is_handed_on {
            if let Some(legs) = legs {
                self.handed_on.came_back(direction.back(), reply.number, legs);
            }
            return;
        }
        let way = legs.as_ref().and_then(|_| self.take_way(direction.back(), reply.number, c));
        let Some(row) = c.row_of(direction).and_then(|row| c.accounts.rows.get_mut(row)) else {
            return;
        };
        if !reply.request.is_here {
            return row.partial_mut().requests.answered(trip.time(), trip.away());
        }
        row.requests_mut().figures.answered(trip.time());
        if let Some(legs) = legs {
            add_followed(*legs, way, direction, c);
        }
    }

    /// Takes the way of a request, which was answered, behind who handed it on, if that is known. Nobody waits for what else was handed on for it.
    fn take_way(
        &mut self,
        asks: Direction,
        number: u64,
        c: &mut Context<'_>,
    ) -> Option<HandedOnWay> {
        let (way, open) = self.handed_on.take_way(asks, number);
        for (direction, number) in open {
            let flow = c.conversations.flows_mut().flow_mut(direction);
            if let Some(trips) = flow.and_then(|flow| flow.round_trips.as_mut()) {
                trips.drop_handed_on(number);
            }
        }
        way
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

/// Takes in a reply, if its request is followed.
fn note_reply(at: Nanos, direction: Direction, found: &FoundExchange, c: &mut Context<'_>) {
    let asks = direction.back();
    let Some(conversation) = c.conversations.flows_mut().get_mut(asks) else { return };
    let trips = conversation.flow(asks.side).round_trips.as_ref();
    if !trips.is_some_and(|trips| trips.is_waiting()) {
        return;
    }
    look_up(conversation, asks);
    let trips = conversation.flow_mut(asks.side).round_trips.as_mut();
    if let Some(request) = trips.and_then(|trips| trips.take_request(found.number)) {
        let (number, extent) = (found.number, found.extent);
        let reply = UnreadReply { number, extent, found_at: at, request };
        conversation.flow_mut(direction.side).round_trips.get_or_insert_default().add_reply(reply);
    }
}

/// True if a server passes on what the conversation's clients say.
fn is_brokered(conversation: &Conversation) -> bool {
    let topology = conversation.protocol().map(Protocol::topology);
    topology == Some(MessageRouting::Brokered)
}

/// True if who sends in a direction does not ask for others. What a broker asks of its clients is their handling of its messages,
/// and a router passes on what others ask.
fn asks_for_itself(direction: Direction, flows: &FlowTable) -> bool {
    let Some(conversation) = flows.get(direction) else { return false };
    if flows.server(direction) != Some(direction.side) {
        return true;
    }
    conversation.protocol().is_some()
        && !is_brokered(conversation)
        && conversation.party(direction.side).is_none_or(|party| !party.is_router)
}

/// Looks up the requests that have left in a direction, or were read where both ends are here.
fn look_up(conversation: &mut Conversation, direction: Direction) {
    let Some(mut trips) = conversation.flow_mut(direction.side).round_trips.take() else { return };
    let seen = &*conversation;
    let flow = seen.flow(direction.side);
    let come = flow.bytes.next().unwrap_or(Offset(0));
    let is_here = is_here(flow);
    trips.look_up(|extent, is_sample| {
        if extent.end > come || is_here && flow.marks.read_at(extent).is_none() {
            return RequestLookUp::NotYet;
        }
        let path = flow.marks.path(extent, 0);
        let Some(departure) = departure(&path, is_here) else { return RequestLookUp::Unseen };
        let leg = (is_here && is_sample).then(|| leg_of(seen, direction, extent, path));
        RequestLookUp::Sent(SentRequest { departure, is_here, leg, is_handed_on: false })
    });
    conversation.flow_mut(direction.side).round_trips = Some(trips);
}

/// The times at which a request left. Where both ends are here, it need not be seen to leave.
fn departure(path: &Path<'_>, is_here: bool) -> Option<Departure> {
    let left = path.lost.or(path.xmit).or(path.send.filter(|_| is_here));
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

/// Adds a request and its reply, which was read in this direction, to what tells why requests of their row take so long, with their way behind
/// the server that hands them on.
fn add_followed(
    [request, reply]: [Leg; 2],
    way: Option<HandedOnWay>,
    direction: Direction,
    c: &mut Context<'_>,
) {
    let Some(row) = c.row_of(direction) else { return };
    let mut delivery = nothing();
    delivery.group = row;
    delivery.legs.extend([request, reply]);
    note_server(&mut delivery.legs, direction.back(), c);
    if !leg::cut_each(&mut delivery.legs) {
        return;
    }
    let Some(time) = delivery.one_way() else { return };
    if let Some(row) = c.accounts.rows.get_mut(row) {
        row.requests_mut().figures.followed(&delivery, time);
    }
    if let Some(way) = way.filter(|way| is_between(way.as_slice(), &delivery.legs)) {
        let reply = delivery.legs.pop();
        delivery.legs.extend((*way).into_iter().chain(reply));
        leg::cut_each(&mut delivery.legs);
    }
    c.host.schedules().fill(&mut delivery);
    leave_out_servers_between(&mut delivery);
    if let Some(row) = c.accounts.rows.get_mut(row) {
        row.requests_mut().evidence.delivery(&delivery, time);
    }
}

/// Forgets the threads that led to a send, where another server of the cluster had read what is sent: when it came to them is not followed.
fn leave_out_servers_between(delivery: &mut Delivery) {
    let pid = |task: Option<TaskId>| task.map(|task| task.pid);
    let mut had = None;
    for (leg, rests) in delivery.legs.iter_mut().zip(&mut delivery.off_cpu) {
        if had.zip(pid(leg.sender)).is_some_and(|(had, sends)| had != sends) {
            leg.before.clear();
            let LegOffCpu { dwell, sender, before, handoff_before, .. } = LegOffCpu::NONE;
            *rests = LegOffCpu { dwell, sender, before, handoff_before, ..*rests };
        }
        had = pid(leg.reader);
    }
}

/// True if the legs of a way begin one after the other, after the request and before the reply.
fn is_between(way: &[Leg], legs: &[Leg]) -> bool {
    let [request, reply] = legs else { return false };
    let all = std::iter::once(request).chain(way).chain([reply]);
    all.map(|leg| leg.times.seen().next().map(|(_, at)| at)).is_sorted_by(|before, after| {
        before.zip(*after).is_some_and(|(before, after)| before <= after)
    })
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
