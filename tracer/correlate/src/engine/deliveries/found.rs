//! From a decoder's findings to open messages.

use super::circumstances::had_since;
use super::new_leg::new_leg;
use super::noted::{
    note_asked_topics, note_left, note_refusals, note_released, note_row_facts, note_subscriptions,
    note_unread,
};
use super::settle::uncount;
use super::under_way::is_behind;
use super::{Context, Deliveries};
use crate::join::{Joined, LegState, NewLeg, Receiver};
use crate::rows::{Counts, Row};
use wirelap_events::{Nanos, Saturate};
use wirelap_flow::{Direction, FlowTable, Found, LegKey, Part};
use wirelap_protocols::{KeptFor, MessageRouting, Side};
use wirelap_why::{LoopedMessages, Pair, PairKey, TakesAll};

impl Deliveries {
    /// Takes in the messages that the decoder of a conversation has just found.
    pub fn take_found(&mut self, at: Nanos, direction: Direction, c: &mut Context<'_>) {
        note_left(c);
        if c.is_muted(direction) {
            c.note_introduced(direction);
            return c.conversations.found_mut().forget();
        }
        let found = c.conversations.found_mut();
        if !found.fragments.is_empty() || !found.ordered.is_empty() {
            self.carry_found(at, direction, c);
        }
        c.note_introduced(direction);
        self.note_subscribers(at, direction, c);
        self.note_missed(at, direction, c);
        note_unread(direction, c);
        note_row_facts(direction, c);
        note_released(direction, self.config.packets_only, c);
        note_subscriptions(at, direction, c);
        self.note_exchanges(at, direction, c);
        note_asked_topics(direction, c);
        note_refusals(direction, c);
        self.take_messages(at, direction, c);
        self.note_given_places(direction, c);
        self.take_placed(false, c);
    }

    /// Notes that somebody has just subscribed at an end.
    fn note_subscribers(&mut self, at: Nanos, direction: Direction, c: &Context<'_>) {
        for direction in [direction, direction.back()] {
            let flow = c.conversations.flows().flow(direction);
            if flow.is_some_and(|flow| flow.control().subscribed == at)
                && let Some(node) = c.conversations.node(direction.back())
            {
                self.messages.note_subscriber(&node);
                if makes_copies(direction.back(), c.conversations.flows()) {
                    self.messages.note_copying_direction(&node, direction.back());
                }
            }
        }
    }

    fn take_messages(&mut self, at: Nanos, direction: Direction, c: &mut Context<'_>) {
        if c.conversations.found_mut().all.is_empty() {
            return;
        }
        let mut found = std::mem::take(&mut c.conversations.found_mut().all);
        for mut found in found.drain(..) {
            // What was held back by a hole, or kept for recognition, may belong to either side.
            let direction = Direction { side: found.side, ..direction };
            if let Some(flow) = c.conversations.flows_mut().flow_mut(direction) {
                // Before anything that hosts may know in different ways decides over it.
                found.trace.ordinal = flow.messages.number_at(found.extent.start);
            }
            if let Some(found) = self.put_off(at, direction, found) {
                self.take_message(at, direction, &found, c);
            }
        }
        c.conversations.found_mut().all = found;
    }

    /// Notes whose messages may be in bytes that no packet event brought, that could not be decoded, or of which it is not known
    /// yet what they are.
    fn note_missed(&mut self, at: Nanos, direction: Direction, c: &mut Context<'_>) {
        let found = c.conversations.found_mut();
        let (missed, unknown) =
            (std::mem::take(&mut found.gaps.missed), std::mem::take(&mut found.gaps.unknown));
        if (missed, unknown) == ([false; 2], [false; 2]) {
            return;
        }
        for side in [Side::A, Side::B] {
            let receiver = Direction { side: side.other(), ..direction };
            let (missed, unknown) = (missed[side as usize], unknown[side as usize]);
            if !(missed || unknown) {
                continue;
            }
            let Some(node) = c.conversations.node(receiver) else { continue };
            if missed {
                self.messages.note_missed(Receiver::at(&node), at);
            } else {
                self.messages.note_unknown(Receiver::at(&node), at);
            }
        }
    }

    /// Notes since when the receiver of the leg before was allowed to pass the message on.
    pub(super) fn note_release(&mut self, key: LegKey, flows: &FlowTable) {
        let Some(before) = self.messages.before(key) else {
            return;
        };
        let flow = flows.flow(before.direction);
        if let Some(release) = flow.and_then(|flow| flow.control().release_for(before.own().start))
        {
            self.messages.release(key, release);
        }
    }

    /// Gives up the least of the open messages if there are as many as there may be.
    fn evict_least_if_full(&mut self, c: &mut Context<'_>) {
        if self.messages.is_full()
            && let Some(least) = self.messages.least()
        {
            self.evict(least, c.coverage.pauses(), c.accounts);
        }
    }

    /// Joins a message that was found in a direction to those that are open, and counts it.
    #[expect(
        clippy::too_many_lines,
        reason = "what a message is known by, in the order in which it is asked"
    )]
    pub(super) fn take_message(
        &mut self,
        at: Nanos,
        direction: Direction,
        found: &Found,
        c: &mut Context<'_>,
    ) {
        let Some(row) = c.row_of(direction).filter(|&row| !c.accounts.rows.is_muted(row)) else {
            return;
        };
        c.note_joined(at, direction, row);
        if let Some(is_needed) = self.repairs(direction, found) {
            if let Some(row) = c.accounts.rows.get_mut(row) {
                row.counts.duplicates.grow(u64::from(!is_needed));
            }
            if let Some(conversation) = c.conversations.flows_mut().get_mut(direction) {
                conversation.ledger.again(direction.side, Part::Repeats, found.payload_len);
            }
            return;
        }
        let is_warmup = found.stamp.is_some_and(|stamp| stamp.warmup);
        if is_warmup
            && let Some(flow) = c.conversations.flows_mut().flow_mut(direction)
            && let Some(trips) = &mut flow.round_trips
        {
            trips.mark_warm_up(found.extent.end);
        }
        let Some(ends) = c.conversations.ends_of(direction) else { return };
        let Some(mut new) = new_leg(at, direction, found, row, ends, c) else {
            return;
        };
        let way: PairKey = (new.way().id(), new.message.subject);
        super::passed_on::note_answer_end(&new, c.conversations.flows_mut());
        if found.framed
            && found.stamp.is_none()
            && new.message.topology != MessageRouting::PeerToPeer
        {
            count_unknown(&new, c.may_be_cut(row, at), c);
            return;
        }
        self.messages.settle_identity(&mut new, &|| takes_all(way, c));
        if let Some(count) = self.left_out(found, &new, c.conversations.flows()) {
            if let Some(row) = c.accounts.rows.get_mut(row) {
                count(&mut row.counts).grow(1);
                row.evidence.losses.redelivered.grow(u64::from(!found.retained));
            }
            return;
        }
        let flows = c.conversations.flows();
        // Between two alone, nobody passes it on.
        let may_go_on = new.message.topology != MessageRouting::PeerToPeer;
        let read = || flows.flow(direction)?.marks.read_at(found.extent);
        let read = if may_go_on { read() } else { None };
        if self.messages.is_past(&new, read) {
            if new.message.topology == MessageRouting::Brokered && new.is_handed_on() {
                return;
            }
            if !is_warmup {
                c.note_sent(direction, row, new.message.topic, true);
            }
            if let Some(row) = c.accounts.rows.get_mut(row) {
                row.counts.of_sent(is_warmup).grow(1);
            }
            return;
        }
        self.evict_least_if_full(c);
        let flows = c.conversations.flows();
        let left = || flows.flow(direction)?.marks.left_at(found.extent);
        let (key, joined) = self.messages.join(&new, left, read, &|| takes_all(way, c));
        if new.message.topology != MessageRouting::Brokered {
            let is_new = joined == Joined::New;
            let behind = is_new && is_behind(direction, at, c.conversations.flows());
            self.messages.note_copying(&new, key, behind);
        }
        self.unite_rows(&new, key, c);
        if !self.is_assembled(at, direction, found.assembly, key)
            && let Some(flow) = c.conversations.flows_mut().flow_mut(direction)
        {
            flow.messages.add(key, at);
        }
        let was_sent = found.assembly.is_some_and(|name| self.assemblies.was_sent(direction, name));
        self.note_place(found, key, c.conversations.flows_mut());
        self.note_lag(&new, key, joined, c);
        self.note_forwarded(key, joined, c.conversations.flows_mut());
        self.note_passed_in_window(key, joined, c);
        self.enter(&new, key, joined, c.conversations.flows_mut());
        self.note_answer(&new, key, c.conversations.flows_mut());
        self.note_release(key, c.conversations.flows());
        if joined == Joined::New && !was_sent && !found.duplicate && !is_warmup {
            c.note_sent(direction, row, new.message.topic, true);
            self.note_kept(found, direction, row, c);
        }
        if let Some((row, stamp)) = self.messages.take_merged() {
            uncount(row, stamp, &mut c.accounts.rows);
            if !stamp.is_some_and(|stamp| stamp.warmup) {
                c.note_sent(direction, row, new.message.topic, false);
            }
        }
        let read_late = self.messages.take_read_late();
        let between = new.ends.receiver.pid.zip(new.ends.sender.pid).map(|(to, by)| [to, by]);
        let is_looped = joined != Joined::Again && self.messages.is_looped(&new, key);
        let Some(row) = c.accounts.rows.get_mut(row) else {
            return;
        };
        row.evidence.losses.unmatched.shrink(read_late);
        if is_looped {
            row.evidence.losses.looped.add(LoopedMessages { times: 1, between });
        }
        let is_from_log = new.message.is_logged && joined == Joined::Orphan;
        row.noted.read_from_log.grow(u64::from(is_from_log));
        let starts = matches!(joined, Joined::New | Joined::Orphan);
        let is_nameless = found.topic.is_nameless || (found.duplicate && is_unknown(found, &new));
        row.uncertain
            .nameless
            .grow(u64::from(is_nameless && starts && self.messages.is_passed_on(&new)));
        row.noted.shared.grow(u64::from(found.shared && starts));
        row.noted.framed.grow(u64::from(found.framed));
        // A new one that was sent before is to somebody else, who joined late.
        if joined != Joined::New || !was_sent {
            count_joined(found, joined, row);
        }
        // A log knows what it has by numbers that its publishers give.
        let is_stored_once = joined == Joined::Again
            && new.message.is_logged
            && new.message.identity.exact
            && found.stamp.is_none()
            && new.reader.toward.is_server();
        row.evidence.losses.stored_once.grow(u64::from(is_stored_once));
    }

    /// Makes one row of those that a message shows to be one: of a proxy and its server, of the servers of a cluster that hand on the
    /// same messages, and of the ports and protocols of one broker.
    fn unite_rows(&mut self, new: &NewLeg, key: LegKey, c: &mut Context<'_>) {
        // The row that a server was found in first is that of all its addresses.
        let united = self.messages.take_united().map(|[one, other]| (other, one));
        let relayed = self.messages.relayed(key, new);
        let replicated = || self.messages.replicated(key, new);
        // One that serves at several ports, where those that it gets messages from and sends them to have connected.
        let is_at_its_ports = |&(to, from): &(Direction, Direction)| {
            let server = |direction: Direction| c.conversations.flows().server(direction);
            server(to) == Some(to.side) && server(from) == Some(from.side.other())
        };
        let passed_on = || self.messages.passed_on(key, new).filter(is_at_its_ports);
        let one = relayed.or_else(replicated).or_else(passed_on);
        for (part, whole) in united.into_iter().chain(one) {
            if let (Some(part), Some(whole)) = (c.row_of(part), c.row_of(whole)) {
                c.accounts.rows.join(part, whole);
            }
        }
    }

    /// Tells the ledger which leg a message is on, and whether its payload was carried there before.
    fn enter(&self, new: &NewLeg, key: LegKey, joined: Joined, flows: &mut FlowTable) {
        let side = new.direction.side;
        // From who passes it on there is a leg before, seen or not.
        let least = if is_from_broker(new) || joined == Joined::Orphan { 2 } else { 1 };
        let leg = self.messages.depth(key.0).max(least);
        let Some(conversation) = flows.get_mut(new.direction) else {
            return;
        };
        let ledger = &mut conversation.ledger;
        match joined {
            Joined::New | Joined::Leg | Joined::Orphan | Joined::Earlier => {}
            Joined::Copy => ledger.again(side, Part::Copies, new.wire_payload),
            Joined::Again => ledger.again(side, Part::Repeats, new.wire_payload),
        }
        ledger.message(side, leg);
    }

    /// The counter of a message that is not followed; `None` for one that is.
    ///
    /// A broker marks what it had stored as retained, and a publisher what it wants stored: that is a
    /// message as any other. Where the broker hands the publisher's mark on, what has come there
    /// since its reader subscribed is sent for the first time. What a publisher
    /// repeats is followed too, as it cannot be told whether the
    /// broker had it, and passes it on; what a broker repeats on a new connection is not. Brokers differ in what they
    /// mark as repeated, so what its client was sent before decides where that is known; the mark alone says nothing of a message of
    /// which it is not known which one it is, nor where nobody has got what was sent before.
    fn left_out(
        &self,
        found: &Found,
        new: &NewLeg,
        flows: &FlowTable,
    ) -> Option<fn(&mut Counts) -> &mut u64> {
        // Where a server may be in between, only it says so.
        let is_stored = is_from_broker(new) || new.message.topology == MessageRouting::Either;
        let had = |leg: &LegState| had_since(leg, flows);
        let is_marked = || {
            let since = found.publishers_mark.map(|number| subscribed_since(number, new, flows));
            since.is_none_or(|since| !self.messages.has_waiting(new, since, had))
        };
        if found.retained && is_stored && is_marked() {
            return Some(|counts| &mut counts.retained);
        }
        let is_over = |direction: Direction| {
            let conversation = flows.get(direction);
            conversation.is_none_or(|one| one.life.is_closed || one.life.closed_by.is_some())
        };
        let is_known = || self.messages.repeated(new.message.identity, new.way()).is_some();
        let is_said = || found.duplicate && !is_unknown(found, new);
        // What is there when its socket is closed is read no more.
        let is_read = |leg: &LegState| {
            let flow = flows.flow(leg.direction);
            flow.is_some_and(|flow| flow.marks.read_at(leg.extent).is_some())
        };
        let is_again = || {
            let known = self.messages.is_sent_again(new, is_over, is_read);
            known.unwrap_or_else(is_said) && !is_known()
        };
        if !new.reader.toward.is_server() && is_again() {
            return Some(|counts| &mut counts.duplicates);
        }
        None
    }
}

/// A message whose content is not known passes a broker: it cannot be found again on its other leg. After a pause, its first packet
/// may have been sent in that.
fn count_unknown(new: &NewLeg, may_be_cut: bool, c: &mut Context<'_>) {
    let Some(row) = c.accounts.rows.get_mut(new.message.row) else {
        return;
    };
    if !new.is_handed_on() {
        row.counts.sent.grow(1);
        c.note_sent(new.direction, new.message.row, new.message.topic, true);
    } else if !new.reader.toward.is_server() {
        row.counts.delivered.grow(1);
        row.counts.of_unfollowed(may_be_cut).grow(1);
        let between = (new.direction, &*new.ends);
        c.accounts.note_unfollowed(
            (new.message.row, new.message.topic),
            between,
            new.reader.group,
            new.message.payload_len,
        );
    }
}

/// True if equal messages in a direction and in others are copies that nobody in between makes.
fn makes_copies(direction: Direction, flows: &FlowTable) -> bool {
    flows.get(direction).is_some_and(|conversation| {
        let protocol = conversation.protocol();
        conversation.makes_copies(direction.side)
            && protocol.is_some_and(|protocol| protocol.topology() != MessageRouting::Brokered)
    })
}

/// True if who gets messages of a topic on a way gets all of them, as far as is known.
fn takes_all(way: PairKey, c: &Context<'_>) -> TakesAll {
    c.accounts.lag.pair(way).map_or(TakesAll::Perhaps, Pair::takes_all)
}

/// True if the topic of a message is a number of which it is not known what it stands for, and its content did not tell either.
fn is_unknown(found: &Found, new: &NewLeg) -> bool {
    let has_topic = new.message.content.is_none_or(|content| content.subject.is_some());
    !has_topic && new.message.identity == found.identity
}

/// Time before which the server of a message could not send it to its reader for a subscription with this number; 0 if that is not known, or where
/// the server may have kept it for a session that the reader has gone on with.
fn subscribed_since(number: u32, new: &NewLeg, flows: &FlowTable) -> Nanos {
    let since = || {
        let control = flows.flow(new.direction.back())?.control();
        let may_be_older = control.resumes && new.message.kept_for != KeptFor::Nobody;
        let start = control.subscriptions.as_ref()?.start(number);
        Some(start.filter(|_| !may_be_older)?.begun)
    };
    since().unwrap_or_default()
}

fn is_from_broker(new: &NewLeg) -> bool {
    new.message.topology == MessageRouting::Brokered && !new.reader.toward.is_server()
}

/// Counts a message that is sent for the first time, or again.
fn count_joined(found: &Found, joined: Joined, row: &mut Row) {
    let is_warmup = found.stamp.is_some_and(|stamp| stamp.warmup);
    match joined {
        Joined::New if !found.duplicate => {
            row.counts.of_sent(is_warmup).grow(1);
            let stamp = found.stamp.filter(|s| !s.warmup && !s.reply && s.stream == 0);
            if let Some(stamp) = stamp {
                row.numbers.see(stamp.seq);
            }
        }
        Joined::New | Joined::Again => row.counts.duplicates.grow(1),
        Joined::Leg | Joined::Copy | Joined::Orphan | Joined::Earlier => {}
    }
}
