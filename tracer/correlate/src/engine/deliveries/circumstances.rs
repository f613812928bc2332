//! What is known of a leg beside its times: what its sender waited for, what lay before it, and what its ends did meanwhile.

use super::{Context, Deliveries};
use crate::flow::FlowTable;
use crate::ids::{Direction, LegKey};
use crate::join::LegState;
use crate::marks::{Marks, Missing};
use wirelap_events::{Credit, EarlierBytes, FanOut, Leg, MissingBytes, Nanos, Stage, TaskId};

impl Deliveries {
    /// Notes in a leg what is known of it beside its times.
    pub(super) fn note_circumstances(&self, key: LegKey, leg: &mut Leg, c: &Context<'_>) {
        let Some(state) = self.messages.leg(key) else {
            return;
        };
        let direction = state.direction;
        let (permissions, start_up) = (state.permissions(), state.start_up);
        let siblings = self.siblings(state, c.conversations.flows());
        if let Some(asked) = permissions.asked {
            let request = c
                .conversations
                .flows()
                .flow(direction.back())
                .and_then(|flow| flow.request_at(asked));
            leg.circumstances.requested = Some(asked);
            let read = request.and_then(|request| request.read);
            leg.circumstances.request_read = read.map(|(at, _)| at);
            leg.circumstances.request_resent = read.is_some_and(|(_, resent)| resent);
            leg.circumstances.requested_after_loss = request.is_some_and(|r| r.after_loss);
            leg.circumstances.request_limits = request.and_then(|request| request.ask);
            leg.circumstances.free_since = request.and_then(|request| request.free_since);
            leg.circumstances.awaits_commit = request.is_some_and(|r| r.awaits_commit);
            leg.circumstances.filled = request.and_then(|request| request.filled);
        }
        leg.circumstances.ready = permissions.ready;
        leg.circumstances.sender_was_gone = permissions.sender_was_gone;
        leg.circumstances.start_up = start_up && permissions.ready.is_none();
        leg.circumstances.release = permissions.release;
        let had = self.had_since(key, c.conversations.flows());
        leg.circumstances.credit =
            permissions.room.and_then(|room| credit(c.conversations.flows(), direction, had, room));
        let missing = missing_before(c.conversations.flows(), direction, had, leg);
        leg.circumstances.behind = behind(c.conversations.flows(), direction, had, leg);
        leg.circumstances.held_before =
            self.held_before(key, direction, had, c.conversations.flows()).unwrap_or_default();
        if let Some((missing, bytes)) = missing {
            leg.circumstances.missing = Some((missing.from, missing.there));
            leg.circumstances.missing_by = Some(bytes);
        }
        leg.circumstances.throttled = throttled(c.conversations.flows(), direction, leg);
        leg.circumstances.requests_unread =
            requests_unread(c.conversations.flows(), direction, had, leg);
        leg.circumstances.publisher_unread = self.publisher_unread(key, c, had, leg);
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

    /// When the sender of a leg had read its message.
    fn had_since(&self, key: LegKey, flows: &FlowTable) -> Option<Nanos> {
        let before = self.messages.path(key.0).nth(1)?;
        // Of a message that the sender has had for long, the marks are gone.
        before.leg.read_at().or_else(|| flows.flow(before.direction)?.marks.read_at(before.extent))
    }

    /// How long the sender of a leg had earlier bytes in its socket before it `had` the message, and since that was sent to it.
    fn held_before(
        &self,
        key: LegKey,
        direction: Direction,
        had: Option<Nanos>,
        flows: &FlowTable,
    ) -> Option<Nanos> {
        let had = had?;
        let before = self.messages.path(key.0).nth(1)?;
        let sent = before.leg.sent()?.1.filter(|&sent| sent < had)?;
        let Marks::Tcp(marks) = &flows.flow(direction)?.marks else { return None };
        Some(marks.behind(sent, had)?.time)
    }

    /// The last interval in which the sender of a leg, a server, did not read who had sent it the message while it `had` the message.
    fn publisher_unread(
        &self,
        key: LegKey,
        c: &Context<'_>,
        had: Option<Nanos>,
        leg: &Leg,
    ) -> Option<(Nanos, Nanos)> {
        let publisher = self.messages.path(key.0).nth(1)?.direction;
        let throttles = c.conversations.flows().flow(publisher)?.throttles.as_ref()?;
        throttles.last_within(had?, leg.times.get(Stage::Send)?)
    }
}

/// For how long the receiver of a leg, a server, did not read its sender while the message was on its way.
fn throttled(flows: &FlowTable, direction: Direction, leg: &Leg) -> Nanos {
    let throttles = flows.flow(direction).and_then(|flow| flow.throttles.as_ref());
    let first = leg.times.seen().next().map(|(_, at)| at);
    let span = first.zip(leg.times.get(Stage::Read));
    throttles.zip(span).map_or(Nanos(0), |(throttles, (from, to))| throttles.within(from, to))
}

/// The last interval in which the sender of a leg, a server, did not read its receiver while it `had` the message.
fn requests_unread(
    flows: &FlowTable,
    direction: Direction,
    had: Option<Nanos>,
    leg: &Leg,
) -> Option<(Nanos, Nanos)> {
    let throttles = flows.flow(direction.back())?.throttles.as_ref()?;
    throttles.last_within(had?, leg.times.get(Stage::Send)?)
}

/// What the sender of a leg had written on the connection before, and had in its socket after it `had` the message.
fn behind(
    flows: &FlowTable,
    direction: Direction,
    had: Option<Nanos>,
    leg: &Leg,
) -> Option<EarlierBytes> {
    let (had, send) = (had?, leg.times.get(Stage::Send)?);
    let Marks::Tcp(marks) = &flows.flow(direction)?.marks else { return None };
    marks.behind(had, send)
}

/// The last acknowledgement by which a leg's receiver `made_room`, on which consumer or channel and when, and what it did since
/// the leg's sender `had` the message.
fn credit(
    flows: &FlowTable,
    direction: Direction,
    had: Option<Nanos>,
    (line, made_room): (u64, Nanos),
) -> Option<Credit> {
    let rooms = flows.flow(direction.back())?.rooms.as_ref()?;
    Some(rooms.credit(line, had.unwrap_or(made_room), made_room))
}

/// When bytes of a leg's connection were missing before its send, and whose: the longest time since some moment, or the last.
fn missing_before(
    flows: &FlowTable,
    direction: Direction,
    since: Option<Nanos>,
    leg: &Leg,
) -> Option<(Missing, MissingBytes)> {
    let send = leg.times.get(Stage::Send)?;
    let since = since.map_or(send, |since| since.min(send));
    let of = |direction: Direction| match &flows.flow(direction)?.marks {
        Marks::Tcp(marks) => marks.missing_between(since, send),
        Marks::Udp(_) => None,
    };
    let whose = |direction: Direction, by_receiver| {
        let missing = of(direction)?;
        Some((missing, MissingBytes { by_receiver, recovery: missing.recovery }))
    };
    let both = [whose(direction, false), whose(direction.back(), true)].into_iter().flatten();
    both.max_by_key(|(missing, _)| missing.overlap(since))
}
