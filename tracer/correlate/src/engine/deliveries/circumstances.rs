//! Circumstances of a leg beside its times: what its sender waited for, what lay before it, and what its ends did meanwhile.

use super::Deliveries;
use crate::join::LegState;
use wirelap_events::{
    EarlierBytes, FanOut, Leg, LinkQueue, MessageRequest, MissingBytes, Nanos, ReaderArrival,
    Stage, TaskId, TxState,
};
use wirelap_flow::{Conversation, Flow, FlowTable, LossGap, Marks};

impl Deliveries {
    /// Fills in what the leg before, its connection and what was allowed on it tell of a leg.
    pub(super) fn fill_in(
        &self,
        state: &LegState,
        leg: &mut Leg,
        conversation: &Conversation,
        flows: &FlowTable,
    ) {
        let side = state.direction.side;
        let (flow, back) = (conversation.flow(side), conversation.flow(side.other()));
        let before = state.parent().and_then(|parent| self.messages.leg_at(parent));
        let had = before.and_then(|before| had_since(before, flows));
        let permissions = state.permissions();
        if let Some(asked) = permissions.asked {
            leg.circumstances.request = request_made_at(back, asked);
        }
        let message = self.messages.message(state.message);
        leg.circumstances.subscription = ReaderArrival {
            ready: permissions.ready,
            sender_was_gone: permissions.sender_was_gone,
            handed_over: permissions.is_handed_over,
            has_expired: message.is_some_and(|message| message.has_expired(&permissions)),
        };
        leg.circumstances.start_up = state.start_up && permissions.ready.is_none();
        leg.circumstances.permission.release = permissions.release;
        if let Some((line, permitted)) = permissions.permit {
            let permits = back.control().permits.as_ref();
            leg.circumstances.permission.credit = permits.map(|permits| {
                permits.credit(line, (had.unwrap_or(permitted), permitted), |end| back.arrived(end))
            });
        }
        if let Some((missing, bytes)) = missing_before([flow, back], had, leg) {
            leg.circumstances.loss.missing = Some((missing.from, missing.there));
            leg.circumstances.loss.missing_by = Some(bytes);
        }
        fill_in_alone(flow, before, leg);
        if let Some((ready, read)) = leg.times.get(Stage::Ready).zip(leg.times.get(Stage::Read)) {
            let at_earlier = flow.messages.at_earlier(state.at, (ready, read));
            leg.circumstances.permission.at_earlier = at_earlier;
        }
        if let Some((before, had)) = before.zip(had) {
            let shut = permissions.shut.and_then(|shut| no_room(shut, had, leg));
            leg.circumstances.socket.behind = behind(flow, had, leg).or(shut);
            if let Some(asked) = permissions.asked {
                let free = leg.circumstances.request.free_since.unwrap_or(asked).min(asked);
                leg.circumstances.request.between =
                    (free - had) - back.control().unanswered_time(had, free, asked);
            }
            leg.circumstances.socket.held_before = held_before(flow, before, had);
            leg.circumstances.permission.requests_unread = unread(back, had, leg);
            let publisher = flows.flow(before.direction);
            leg.circumstances.permission.publisher_unread =
                publisher.and_then(|publisher| unread(publisher, had, leg));
        }
        let siblings = self.siblings(state, flows);
        leg.circumstances.fan_out = siblings.and_then(|(sender, fan_out)| {
            (leg.sender.is_some() && leg.sender == sender).then_some(fan_out)
        });
    }

    /// The place of a leg among those that its message goes on by, and who sent the first of them.
    fn siblings(&self, leg: &LegState, flows: &FlowTable) -> Option<(Option<TaskId>, FanOut)> {
        let (first, position, readers) = self.messages.siblings(leg)?;
        let (sender, sent) = if let Some(sent) = first.leg.sent() {
            sent
        } else {
            let path = flows.flow(first.direction)?.marks.path(first.extent, 0);
            (path.sender, path.send)
        };
        Some((sender, FanOut { position, readers, first_sent: sent? }))
    }
}

/// Fills in what its connection alone tells of a leg.
pub(super) fn fill_in_alone(flow: &Flow, before: Option<&LegState>, leg: &mut Leg) {
    leg.circumstances.permission.throttled = throttled(flow, leg).unwrap_or_default();
    leg.circumstances.socket.held_in_write = held_in_write(flow, leg);
    (leg.circumstances.path.qdisc_queue, leg.circumstances.path.queue) =
        queues_of(flow, before, leg).unwrap_or_default();
}

/// The request of a leg's receiver, which it made at `made` in this flow.
fn request_made_at(flow: &Flow, made: Nanos) -> MessageRequest {
    let request = flow.control().request_at(made);
    let read = request.and_then(|request| request.read);
    MessageRequest {
        made: Some(made),
        by: request.and_then(|request| request.by),
        read: read.map(|(at, _)| at),
        there: request.and_then(|request| request.there),
        free_since: request.and_then(|request| request.free_since),
        between: Nanos(0),
        resent: read.is_some_and(|(_, resent)| resent),
        after_loss: request.is_some_and(|request| request.after_loss),
        limits: request.and_then(|request| request.ask),
        filled: request.and_then(|request| request.filled),
        awaits_commit: request.is_some_and(|request| request.awaits_commit),
    }
}

/// The bytes that the sender of a leg had in its socket before it, since it `had` the message, where the leg's receiver had no room between
/// two times and only packets are seen: then nothing else shows what the socket holds.
fn no_room((from, until): (Nanos, Nanos), had: Nanos, leg: &Leg) -> Option<EarlierBytes> {
    let tx = TxState::default();
    let is_seen = leg.sender.is_none() && from <= had && had < until;
    is_seen.then(|| EarlierBytes { since: had, time: until - had, tx, send_len: 0, no_room: true })
}

/// Time at which the sender of a leg had read its message, on the leg `before`.
pub(super) fn had_since(before: &LegState, flows: &FlowTable) -> Option<Nanos> {
    // Of a message that the sender has had for long, the marks are gone.
    before.leg.read_at().or_else(|| flows.flow(before.direction)?.marks.read_at(before.extent))
}

/// The earlier bytes that the sender of a leg of this flow had in its socket before it `had` the message, and since that was sent to it on
/// the leg `before`.
fn held_before(flow: &Flow, before: &LegState, had: Nanos) -> Option<EarlierBytes> {
    let Marks::Tcp(marks) = &flow.marks else { return None };
    let sent = before.leg.sent()?.1.filter(|&sent| sent < had)?;
    marks.behind(sent, had)
}

/// The bytes that the sender of a leg of this flow had in its socket while it wrote the message in
/// several calls.
fn held_in_write(flow: &Flow, leg: &Leg) -> Option<EarlierBytes> {
    let (send, sent) = (leg.times.get(Stage::Send)?, leg.times.get(Stage::Sent)?);
    let Marks::Tcp(marks) = &flow.marks else { return None };
    marks.behind(send, sent)
}

/// The queues that bytes of a leg's flow were in, before a device and on the path, while the message was at the leg's sender, on its
/// way there (on the leg `before`), or on its way from there.
fn queues_of(
    flow: &Flow,
    before: Option<&LegState>,
    leg: &Leg,
) -> Option<(Option<LinkQueue>, Option<LinkQueue>)> {
    let Marks::Tcp(marks) = &flow.marks else { return None };
    if !marks.has_queues() {
        return None;
    }
    let before = before.and_then(|before| before.leg.sent()?.1);
    let from = before.or(leg.times.seen().next().map(|(_, at)| at))?;
    let on_the_way = leg.times.seen().take_while(|&(stage, _)| stage <= Stage::Rx);
    let (_, to) = on_the_way.last()?;
    Some(marks.queues_between(from, to))
}

/// For how long the receiver of a leg, a server, did not read its sender while the message was on its way in this flow.
fn throttled(flow: &Flow, leg: &Leg) -> Option<Nanos> {
    let throttles = flow.reader_pauses.throttles.as_ref()?;
    let (_, from) = leg.times.seen().next()?;
    Some(throttles.within(from, leg.times.get(Stage::Read)?))
}

/// The last interval in which a server did not read this flow while it `had` the message of a leg that it sends.
fn unread(flow: &Flow, had: Nanos, leg: &Leg) -> Option<(Nanos, Nanos)> {
    flow.reader_pauses.throttles.as_ref()?.last_within(had, leg.times.get(Stage::Send)?)
}

/// The bytes that the sender of a leg of this flow had written on the connection before, and had in its socket after it `had`
/// the message.
fn behind(flow: &Flow, had: Nanos, leg: &Leg) -> Option<EarlierBytes> {
    let Marks::Tcp(marks) = &flow.marks else { return None };
    marks.behind(had, leg.times.get(Stage::Send)?)
}

/// The time in which bytes of a leg's connection were missing before its send, and whose they were: the longest since some moment, or
/// the last. The leg is in `flow`, and `back` is what its receiver sends.
fn missing_before(
    [flow, back]: [&Flow; 2],
    since: Option<Nanos>,
    leg: &Leg,
) -> Option<(LossGap, MissingBytes)> {
    let send = leg.times.get(Stage::Send)?;
    let since = since.map_or(send, |since| since.min(send));
    let whose = |flow: &Flow, by_receiver| {
        let Marks::Tcp(marks) = &flow.marks else { return None };
        let missing = marks.missing_between(since, send)?;
        Some((missing, MissingBytes { by_receiver, recovery: missing.recovery }))
    };
    let both = [whose(flow, false), whose(back, true)].into_iter().flatten();
    both.max_by_key(|(missing, _)| missing.overlap(since))
}
