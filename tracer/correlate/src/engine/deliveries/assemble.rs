//! Messages in fragments: from datagrams taken to deliveries.

use super::super::sink::DeliverySink;
use super::datagrams::{arrival, datagram, led, udp_marks};
use super::{Context, Deliveries};
use crate::join::{Assembly, Carrier, Last, leg};
use arrayvec::ArrayVec;
use wirelap_events::{
    ByteRange, Circumstances, FlowRange, GlobalKey, Leg, LegLosses, LegPath, Nanos, Pid, Saturate,
    Stage,
};
use wirelap_flow::{
    AssemblyId, Direction, FlowTable, Found, LegKey, Marks, Path, ReadBy, begin_and_end,
    identity_of,
};

/// The most deliveries of a message that packets show on its way to a group.
const MAX_GROUP_READERS: u16 = 256;

impl Deliveries {
    /// Takes in the fragments that the decoder of a conversation has just found.
    pub(super) fn carry_found(&mut self, at: Nanos, direction: Direction, c: &mut Context<'_>) {
        let mut carried = std::mem::take(&mut c.conversations.found_mut().fragments);
        let lost = c.coverage.lost();
        for found in carried.drain(..) {
            let direction = Direction { side: found.side, ..direction };
            let Some(flow) = c.conversations.flows_mut().flow_mut(direction) else {
                continue;
            };
            let Marks::Udp(marks) = &mut flow.marks else {
                continue;
            };
            let Some(number) = marks.number_of(found.at) else {
                continue;
            };
            let is_multicast = flow.key.dst.ip().is_multicast();
            let fragments = &found.fragments;
            let id = self.assemblies.carry((direction, number), fragments, is_multicast, at, lost);
            marks.carries(number, id, fragments.first, fragments.count);
            if let Some(sending) = marks.get(number).and_then(|datagram| datagram.sending) {
                self.assemblies.sent(id, (direction, number), sending, c.host.threads());
            }
            if flow.messages.assembling.back() != Some(&id) {
                flow.messages.assembling.push_back(id);
            }
        }
        c.conversations.found_mut().fragments = carried;
        let mut ordered = std::mem::take(&mut c.conversations.found_mut().ordered);
        for (side, origin, first) in ordered.drain(..) {
            let of = (Direction { side, ..direction }, origin);
            self.assemblies.keep_order(of, first, at, c.conversations.unresolved_sockets());
        }
        c.conversations.found_mut().ordered = ordered;
        while let Some(id) = self.assemblies.surplus() {
            c.accounts.totals.evicted.grow(u64::from(self.assemblies.get(id).is_some()));
            self.assemblies.forget(id);
        }
    }

    /// True if a message that was found is one in fragments, whose leg is complete when they were taken.
    pub fn is_assembled(
        &mut self,
        at: Nanos,
        direction: Direction,
        message: Option<GlobalKey>,
        leg: LegKey,
    ) -> bool {
        let id = message.and_then(|message| self.assemblies.find(direction, message));
        let is_open = |id| self.assemblies.get(id).is_some_and(|assembly| assembly.leg.is_none());
        let Some(id) = id.filter(|&id| is_open(id)) else {
            return false;
        };
        self.assemblies.found(id, leg, direction, at);
        true
    }

    /// For a message that was sent before, whether somebody may lack it; `None` for any other.
    pub fn repairs(&self, direction: Direction, found: &Found) -> Option<bool> {
        let message = found.assembly?;
        let known = self.assemblies.find(direction, message).and_then(|id| self.assemblies.get(id));
        // What a reader had of it before anyone looked is not known.
        let began_unseen = known.is_some_and(|known| known.is_late && !known.is_single());
        let elsewhere = known.is_some_and(|known| known.is_found_elsewhere(direction))
            || self.assemblies.is_known_elsewhere(direction, message);
        let nobody_has_it = known.is_some_and(|known| known.readers.is_empty());
        (began_unseen || found.duplicate || elsewhere).then_some(elsewhere || nobody_has_it)
    }

    /// Hands out the messages in fragments that a reader has, and gives up those that nothing more is
    /// expected of.
    pub fn settle_assemblies(
        &mut self,
        out: &mut dyn DeliverySink,
        all: bool,
        c: &mut Context<'_>,
    ) {
        let end = Nanos(u64::MAX);
        let due = if all { end } else { c.coverage.now() - self.hold() };
        let idle = if all { end } else { c.coverage.now() - self.config.patience };
        let cut = c.coverage.pauses().cut().min(due);
        let unresolved = c.conversations.unresolved_since().filter(|_| !all);
        self.assemblies.skip_until(unresolved.unwrap_or(end));
        loop {
            while let Some(id) = self.assemblies.next_due(due) {
                self.hand_out_assembled(id, out, c);
            }
            let Some(id) = self.assemblies.next_idle(idle, cut) else {
                break;
            };
            self.give_up_assembled(id, out, c);
        }
    }

    /// Hands out what readers have, and have not been handed out.
    fn hand_out_assembled(
        &mut self,
        id: AssemblyId,
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        let Some(assembly) = self.assemblies.get(id) else {
            return;
        };
        let direction = assembly.direction;
        let is_taken = assembly.readers.iter().any(|reader| reader.got.is_some());
        if !is_taken {
            // Nobody here is seen to take anything: it ends at another host, or is known by its packets.
            let extent = assembly.leg.and_then(|leg| Some(self.messages.leg(leg)?.extent));
            let is_remote = extent.is_some_and(|extent| {
                self.config.packets_only
                    || c.conversations
                        .flows()
                        .flow(direction)
                        .is_some_and(|flow| flow.ends_unseen(extent))
            });
            if is_remote && assembly.readers.is_empty() {
                self.end_assembled(id, out, c);
            }
            return;
        }
        let Some(key) = self.leg_of(id, c) else {
            return;
        };
        self.settle_row(key, direction, c);
        let legs = self.legs_of(id, key, c);
        self.hand_out_copies(id, key, legs, out, c);
        // Other readers of a group may still lack something.
        let is_group = c
            .conversations
            .flows()
            .flow(direction)
            .is_some_and(|flow| flow.key.dst.ip().is_multicast());
        if !is_group && self.assemblies.is_over(id) {
            self.assemblies.forget(id);
        }
    }

    /// Hands out the deliveries that end with these legs.
    #[expect(clippy::vec_box, reason = "legs are large, and their boxes are used again")]
    fn hand_out_copies(
        &mut self,
        id: AssemblyId,
        key: LegKey,
        mut legs: Vec<Box<Leg>>,
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        let Some(assembly) = self.assemblies.get_mut(id) else {
            return;
        };
        let was_told = std::mem::replace(&mut assembly.told, true);
        if legs.is_empty() {
            return;
        }
        if !was_told {
            let first = legs.remove(0);
            return self.completed(key, (first, legs), out, c);
        }
        let leg = self.messages.leg(key);
        if leg.and_then(|leg| self.messages.message(leg.message)).is_none() {
            // It was given up before another of its readers had it.
            c.accounts.totals.evicted.grow(legs.len() as u64);
            return;
        }
        let is_whole = |leg: &Leg| leg.times.get(Stage::Send).is_some();
        self.hand_out_others(key, legs, is_whole, out, c);
    }

    /// A leg for each reader that has the message and was not told of.
    #[expect(clippy::vec_box, reason = "legs are large, and their boxes are used again")]
    fn legs_of(&mut self, id: AssemblyId, key: LegKey, c: &mut Context<'_>) -> Vec<Box<Leg>> {
        let mut legs = Vec::new();
        let own = self.assemblies.get(id).and_then(|assembly| own_reader(assembly, c));
        let Some(assembly) = self.assemblies.get_mut(id) else {
            return legs;
        };
        let mut got: Vec<(Last, Last, bool)> = Vec::new();
        for reader in &mut assembly.readers {
            if let Some(with) = reader.got.filter(|_| !reader.told) {
                reader.told = true;
                if own.is_none() || reader.pid != own {
                    got.push((reader.last.unwrap_or(with), with, reader.is_unsure));
                }
            }
        }
        let Some(assembly) = self.assemblies.get(id) else {
            return legs;
        };
        let Some(flow) = c.conversations.flows().flow(assembly.direction) else {
            return legs;
        };
        let Some(extent) = self.messages.leg(key).map(|leg| leg.extent) else {
            return legs;
        };
        let mut missing = ArrayVec::<(Nanos, Nanos), 8>::new();
        for (last, with, is_unsure) in got {
            let spare = self.messages.spare();
            let mut path = self.path_of(assembly, last, with, c.conversations.flows());
            path.circumstances.path.hosts = self.clocks.of_path(flow, &path);
            if let (Some(lost), Some(there)) = (path.lost, path.rx.or(path.read)) {
                // More than that are readers of one group, which lack the same.
                let _ = missing.try_push((lost, there));
            }
            let (from, to) = (flow.sender, Some(with.socket));
            let (mut leg, backwards) = leg::build(flow.key, from, to, &path, spare);
            leg.flow_range = FlowRange { flow: assembly.direction.id(), range: extent };
            if is_unsure || assembly.is_late {
                // It was delivered; how long it took is not known.
                leg.times.clear(Stage::Publish);
                leg.times.clear(Stage::Send);
            }
            c.accounts.totals.anomalies.grow(backwards);
            legs.push(leg);
        }
        for (lost, there) in missing {
            self.assemblies.note_missing(id, lost, there);
        }
        legs
    }

    /// The path of a message in fragments to a reader, as far as it was seen. Its first byte left with its first datagram.
    /// Loss is the time from the first send of the fragment that came last to the departure of the copy that came. The
    /// message was got with its own last fragment, or later, with that of another message that the reader lacked.
    fn path_of<'f>(
        &self,
        assembly: &Assembly,
        last: Last,
        with: Last,
        flows: &'f FlowTable,
    ) -> Path<'f> {
        let begins = assembly.carriers.first();
        let leaves = assembly.first_with(last.fragment);
        let first = begins.and_then(|carrier| datagram(flows, *carrier));
        let departs = leaves.and_then(|carrier| datagram(flows, *carrier));
        let arrives = arrival(flows, last);
        let Last { direction, number, fragment, .. } = last;
        let came = datagram(flows, Carrier { direction, number, first: fragment, count: 1 });
        let ends = arrival(flows, with);
        let sending = first.and_then(|datagram| datagram.sending);
        let resent =
            leaves.is_some_and(|c| (c.direction, c.number) != (last.direction, last.number));
        let read = ends.and_then(|arrival| arrival.read);
        Path {
            publish: assembly.kept_since,
            send: sending.and_then(|sending| sending.entered),
            sent: departs.and_then(|datagram| datagram.sending?.entered),
            lost: departs.filter(|_| resent).and_then(|datagram| datagram.queued.or(datagram.xmit)),
            queue: came.and_then(|datagram| datagram.queued),
            xmit: came.and_then(|datagram| datagram.xmit),
            rx: arrives.and_then(|arrival| arrival.rx),
            ready: ends.and_then(|arrival| arrival.ready),
            read: read.map(|(at, _)| at),
            sender: sending.map(|sending| sending.task),
            reader: read.map(|(_, task)| ReadBy { task, socket: Some(with.socket) }),
            reading: ends.map_or(&[], |arrival| arrival.led),
            sending: begins.map_or(&[], |carrier| led(flows, *carrier)),
            circumstances: Circumstances {
                path: LegPath {
                    deferred: arrives.is_some_and(|arrival| arrival.deferred.is_some()),
                    deferred_since: arrives
                        .and_then(|arrival| arrival.deferred)
                        .unwrap_or_default(),
                    ..LegPath::default()
                },
                loss: LegLosses {
                    resent,
                    behind: with != last,
                    missing: self.assemblies.missing(assembly),
                    ..LegLosses::default()
                },
                ..Circumstances::default()
            },
        }
    }

    /// The leg of a message in fragments. One whose name is known is a message even if its head was never
    /// seen: a fragment of it was lost before the first hook, or its bytes were not captured.
    fn leg_of(&mut self, id: AssemblyId, c: &mut Context<'_>) -> Option<LegKey> {
        let assembly = self.assemblies.get(id)?;
        if assembly.leg.is_some() || assembly.is_late || !assembly.is_global {
            return assembly.leg;
        }
        let (direction, began, message) = (assembly.direction, assembly.began, assembly.message);
        let payload_len = assembly.payload_len;
        let extent = self.extent_of(id, c.conversations.flows())?;
        let identity = identity_of(message);
        let found = Found::new(direction.side, extent, identity, payload_len);
        self.take_message(began, direction, &Found { assembly: Some(message), ..found }, c);
        self.assemblies.get(id)?.leg
    }

    /// From the first to the last of the bytes that a message took in its first direction.
    fn extent_of(&self, id: AssemblyId, flows: &FlowTable) -> Option<ByteRange> {
        let assembly = self.assemblies.get(id)?;
        let marks = udp_marks(flows, assembly.direction)?;
        let on_direction =
            assembly.carriers.iter().filter(|carrier| carrier.direction == assembly.direction);
        let ranges = on_direction.filter_map(|carrier| Some(marks.get(carrier.number)?.range));
        ranges.reduce(|a, b| ByteRange { start: a.start.min(b.start), end: a.end.max(b.end) })
    }

    /// Completes the leg of a message in fragments as it is.
    fn end_assembled(&mut self, id: AssemblyId, out: &mut dyn DeliverySink, c: &mut Context<'_>) {
        if let Some(key) = self.assemblies.get(id).and_then(|assembly| assembly.leg) {
            let others = self.legs_to_group(id, key, c);
            self.complete(key, out, c);
            self.hand_out_others(key, others, |_| true, out, c);
        }
        self.assemblies.forget(id);
    }

    /// Legs to all but the first reader of a message that packets show on its way to a group. Who got it they do not show.
    #[expect(clippy::vec_box, reason = "legs are large, and their boxes are used again")]
    fn legs_to_group(&mut self, id: AssemblyId, key: LegKey, c: &mut Context<'_>) -> Vec<Box<Leg>> {
        let mut legs = Vec::new();
        let Some(assembly) = self.assemblies.get(id) else { return legs };
        let (direction, readers) = (assembly.direction, assembly.group_readers.max(1));
        let Some(extent) = self.messages.leg(key).map(|leg| leg.extent) else { return legs };
        let row = c.row_of(direction);
        let Some(flow) = c.conversations.flows().flow(direction) else { return legs };
        if !self.config.packets_only || !flow.key.dst.ip().is_multicast() {
            return legs;
        }
        let mut path = flow.marks.path(extent, 0);
        path.circumstances.path.hosts = self.clocks.of_path(flow, &path);
        for _ in 1..readers.min(MAX_GROUP_READERS) {
            let spare = self.messages.spare();
            let (mut leg, _) = leg::build(flow.key, None, None, &path, spare);
            leg.flow_range = FlowRange { flow: direction.id(), range: extent };
            begin_and_end(&mut leg.times, flow.marks.began_at(extent));
            legs.push(leg);
        }
        if let Some(row) = row.and_then(|row| c.accounts.rows.get_mut(row)) {
            row.uncertain.to_unseen_readers.grow(readers.into());
        }
        legs
    }

    /// Nothing more is expected of a message: what readers lack was lost, unless it was events that were.
    fn give_up_assembled(
        &mut self,
        id: AssemblyId,
        out: &mut dyn DeliverySink,
        c: &mut Context<'_>,
    ) {
        let key = self.leg_of(id, c);
        if self.assemblies.get_all(id) {
            self.hand_out_assembled(id, out, c);
        }
        let Some(assembly) = self.assemblies.get(id) else {
            return;
        };
        let (direction, told) = (assembly.direction, assembly.told);
        let lacking = self.assemblies.lacking(id) as u64;
        if let Some(key) = key.filter(|_| !told) {
            self.settle_row(key, direction, c);
            let unread = self.unread_leg(id, key, c.conversations.flows());
            if let Some(unread) = unread {
                self.completed(key, (unread, Vec::new()), out, c);
            }
        } else if told
            && let Some(row) = c.row_of(direction)
            && let Some(row) = c.accounts.rows.get_mut(row)
        {
            row.counts.never_read.grow(lacking);
            row.evidence.losses.unread.grow(lacking);
        }
        self.assemblies.forget(id);
    }

    /// As far as a message came that no reader has.
    fn unread_leg(&self, id: AssemblyId, key: LegKey, flows: &FlowTable) -> Option<Box<Leg>> {
        let extent = self.messages.leg(key)?.extent;
        let assembly = self.assemblies.get(id)?;
        let flow = flows.flow(assembly.direction)?;
        let first = assembly.carriers.first();
        let datagram = first.and_then(|carrier| datagram(flows, *carrier));
        let sending = datagram.and_then(|datagram| datagram.sending);
        let path = Path {
            publish: assembly.kept_since,
            send: sending.and_then(|sending| sending.entered),
            sender: sending.map(|sending| sending.task),
            ..Path::default()
        };
        let (mut leg, _) = leg::build(flow.key, flow.sender, flow.receiver, &path, None);
        leg.flow_range = FlowRange { flow: assembly.direction.id(), range: extent };
        Some(leg)
    }
}

/// The process that sends a message to its group, and gets a copy that it leaves unread. It may be known only when that was taken.
fn own_reader(assembly: &Assembly, c: &Context<'_>) -> Option<Pid> {
    let flow = c.conversations.flows().flow(assembly.direction)?;
    let is_group = flow.key.dst.ip().is_multicast();
    if is_group { c.conversations.sockets().pid(flow.sender) } else { None }
}
