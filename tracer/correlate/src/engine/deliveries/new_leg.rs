//! A leg as far as it is known when its message was found on a flow.

use super::Context;
use crate::join::{LegReader, MessageFacts, NamedClient, NewLeg, Permissions, Presence, Toward};
use std::sync::Arc;
use wirelap_events::{ByteRange, GroupId, Nanos};
use wirelap_flow::{
    Conversation, Direction, Flow, FlowEnds, Found, FoundPlace, SubscriptionStart, Way,
};
use wirelap_limits::deliveries::{
    LONGEST_START_UP, LONGEST_WAY_TO_QUEUE, MAX_START_UP_MESSAGES, MIN_START_UP_MESSAGES,
    SILENCE_BEFORE_START_UP,
};
use wirelap_protocols::MessageRouting;

/// The leg of a message that was found in a direction between these ends; `None` if its conversation is not known.
pub fn new_leg(
    at: Nanos,
    direction: Direction,
    found: &Found,
    row: GroupId,
    ends: Arc<FlowEnds>,
    c: &Context<'_>,
) -> Option<NewLeg> {
    let conversation = c.conversations.flows().get(direction)?;
    let protocol = conversation.protocol()?;
    let topology = protocol.topology();
    let own = found.extent;
    let flow = conversation.flow(direction.side);
    let written = flow.marks.written_at(own);
    let back = conversation.flow(direction.back().side);
    let asked = back.control().request_on(found.reader.line).map(|request| request.at);
    let asked = asked.or_else(|| asked_before(conversation, direction, c));
    let permits = back.control().permits.as_ref();
    let line = found.reader.line;
    // One that is still on its way did not permit this.
    let last = permits.and_then(|permits| permits.last_of(line, |end| back.arrived(end)));
    let permit = last.map(|last| (line, last));
    // The broker may have kept it for any time.
    let may_wait = asked.is_some() || permit.is_some();
    let is_behind = found.topic.subject != 0 && (may_wait || flow.marks.has_more(own));
    let way = Way { direction, subscription: found.reader.subscription };
    let next_number = || c.accounts.lag.next((way.id(), found.topic.subject));
    let toward = toward(direction, topology, c)?;
    Some(NewLeg {
        direction,
        extent: ByteRange { end: found.usable_at.unwrap_or(own.end), ..own },
        own,
        at,
        written: written.map_or(at, |written| written.min(at)),
        next_number: is_behind.then(next_number).flatten(),
        transport: flow.key.transport,
        permissions: Permissions {
            asked,
            asked_on: line,
            permit,
            shut: flow.reader_pauses.shut_before(written.map_or(at, |written| written.min(at))),
            has_expired: found.has_expired,
            past: found.past,
            ..Permissions::default()
        },
        queue_was_empty: queue_was_empty(found, back),
        present: presence((conversation, direction), found, asked.is_some(), c),
        ends,
        leads_elsewhere: flow.leads_elsewhere(),
        reader: LegReader {
            toward,
            subscription: found.reader.subscription,
            group: found.reader.group,
        },
        client: if toward == Toward::Client { client(conversation, direction, c) } else { None },
        may_copy: conversation.makes_copies(direction.side),
        message: MessageFacts {
            identity: found.identity,
            content: found.content,
            stamp: found.stamp,
            payload_len: found.payload_len,
            topic: found.topic.id,
            trace: found.trace,
            subject: found.topic.subject,
            row,
            topology,
            repeats: found.duplicate,
            is_logged: protocol.is_log(),
            is_queued: protocol.keeps_messages() && !protocol.is_log(),
            withheld: found.withheld,
            past: found.past,
            kept_for: found.kept_for,
        },
        passed_on: found.passed_on,
        opening: conversation.life.opening,
        start_up: is_start_up(at, direction, c),
        wire_payload: found.wire_payload,
        place: found.place.known(),
        follows_after: found.follows_after,
        is_by_place: matches!(found.place, FoundPlace::Only(_)),
    })
}

/// Time at which the receiver of a message had asked for it, if that was before the observation began: a server that passes on what it gets by its
/// subscribers' intervals only answers their requests.
fn asked_before(
    conversation: &Conversation,
    direction: Direction,
    c: &Context<'_>,
) -> Option<Nanos> {
    let is_answer = conversation.life.opened.is_none()
        && conversation.protocol()?.passes_on_later()
        && c.conversations.flows().server(direction) == Some(direction.side);
    c.coverage.since().filter(|_| is_answer)
}

/// Since when the receiver of a message is there: its subscription, where the message tells which one it is for, or else its
/// connection, or what it took over from another member of its group. Who asks for messages may subscribe anew each time, and what
/// waits for that waits for being asked for.
fn presence(
    (conversation, direction): (&Conversation, Direction),
    found: &Found,
    is_asked_for: bool,
    c: &Context<'_>,
) -> Option<Presence> {
    let has_returned =
        conversation.life.opened.is_some_and(|at| c.conversations.has_returned(direction, at));
    let back = conversation.flow(direction.back().side);
    let taken_over = found.reader.taken_over.and_then(|ago| back.control().request_before(ago));
    if let Some(request) = taken_over {
        return Some(Presence {
            since: request.at,
            ready: request.at,
            has_returned: false,
            is_handed_over: true,
        });
    }
    let start = subscription_start(found, back).filter(|_| !is_asked_for);
    if let Some(SubscriptionStart { begun, .. }) = start {
        return Some(Presence { since: begun, ready: begun, has_returned, is_handed_over: false });
    }
    let opened = conversation.life.opened?;
    let ready = back.control().set_up.max(opened);
    Some(Presence { since: opened, ready, has_returned, is_handed_over: false })
}

/// The start of the subscription that a message is for. `back` is the flow of its reader.
fn subscription_start(found: &Found, back: &Flow) -> Option<SubscriptionStart> {
    back.control().subscriptions.as_ref()?.start(found.reader.subscription)
}

/// Time at which the queue that a message is delivered from held no message; 0 if that is not known, or if the message was elsewhere at
/// that time: in another queue, or with another consumer.
fn queue_was_empty(found: &Found, back: &Flow) -> Nanos {
    let may_come_from_elsewhere = found.was_rerouted || found.duplicate;
    let start = subscription_start(found, back).filter(|_| !may_come_from_elsewhere);
    // The answer says what was so when the server took the request, and what was on its way in the server then comes later.
    start.map_or(Nanos(0), |start| start.was_empty - LONGEST_WAY_TO_QUEUE)
}

/// The client that gets what is sent in this direction, if its name is its own.
fn client(
    conversation: &Conversation,
    direction: Direction,
    c: &Context<'_>,
) -> Option<NamedClient> {
    conversation.protocol().filter(|protocol| protocol.names_clients_uniquely())?;
    let back = direction.back();
    let name = c.accounts.clients.of(back.id())?;
    // Who gives no name gets one from the server.
    c.conversations.client_name(name).filter(|name| !name.is_empty())?;
    let ready = conversation.flow(back.side).control().set_up;
    Some(NamedClient { name, since: conversation.life.opened.map(|at| at.max(ready)) })
}

/// The part that the receiver of a direction has.
fn toward(direction: Direction, topology: MessageRouting, c: &Context<'_>) -> Option<Toward> {
    let flows = c.conversations.flows();
    Some(if topology != MessageRouting::Brokered {
        Toward::Client
    } else if flows.get(direction)?.joins_servers() {
        Toward::Peer
    } else if flows.server(direction)? != direction.side {
        Toward::Server
    } else {
        Toward::Client
    })
}

/// True if a message found at `at` is one of the first of its connection.
fn is_start_up(at: Nanos, direction: Direction, c: &Context<'_>) -> bool {
    let Some(conversation) = c.conversations.flows().get(direction) else {
        return false;
    };
    let flow = conversation.flow(direction.side);
    // What carried no message since the observation began starts anew, whenever it was opened; datagrams have no opening.
    let first = flow.messages.first_at.unwrap_or(at);
    let is_new = first > c.coverage.since().unwrap_or_default() + SILENCE_BEFORE_START_UP;
    let began = conversation.life.opened.or(is_new.then_some(first));
    let is_early =
        |began| at < began + LONGEST_START_UP && flow.messages.count < MAX_START_UP_MESSAGES;
    began.is_some_and(|began| is_early(began) || flow.messages.count < MIN_START_UP_MESSAGES)
}
