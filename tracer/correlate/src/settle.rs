//! From messages found to deliveries handed out.

use crate::correlator::DeliverySink;
use crate::flow::{Conversation, Found, Marks, Node, State, Way};
use crate::join::{Joined, LegKey, LegState, Sighting};
use crate::stats::read_at;
use crate::{Correlator, leg};
use arrayvec::ArrayVec;
use wirelap_events::{Delivery, GroupId, Leg, MAX_LEGS, Nanos, Offset, Pid, Stage, Stamp};
use wirelap_protocols::Topology;

/// How long a sweep is put off.
const SWEEP: Nanos = Nanos::from_millis(1_000);

/// A delivery on its way out.
struct Ready {
    delivery: Delivery,
    /// Every end of every leg was seen.
    whole: bool,
}

impl Correlator {
    /// Takes in the messages that the decoder of a conversation has just found.
    pub(crate) fn sight_found(&mut self, at: Nanos, way: Way) {
        if self.found.is_empty() {
            return;
        }
        let mut found = std::mem::take(&mut self.found);
        for found in found.drain(..) {
            // What was held back by a hole, or kept for recognition, may belong to either side.
            self.sight(at, Way { side: found.side, ..way }, found);
        }
        self.found = found;
    }

    fn sight(&mut self, at: Nanos, way: Way, found: Found) {
        let Some(row) = self.row_of(way) else { return };
        let is_warmup = found.stamp.is_some_and(|stamp| stamp.warmup);
        if found.copy {
            if let Some(row) = self.rows.get_mut(row) {
                row.counts.duplicates += 1;
            }
            return;
        }
        let Some(sighting) = self.sighting(at, way, &found, row) else { return };
        if self.messages.is_full()
            && let Some((row, was_open, left)) = self.messages.expire(self.now, true)
        {
            self.totals.evicted += u64::from(was_open);
            self.count_leftover(row, left);
        }
        let (key, joined) = self.messages.sight(sighting);
        if let Some(flow) = self.flows.flow_mut(way) {
            flow.pending.push_back(key);
        }
        let Some(row) = self.rows.get_mut(row) else { return };
        match joined {
            Joined::New if is_warmup => row.counts.warmup += 1,
            Joined::New => row.counts.sent += 1,
            Joined::Again => row.counts.duplicates += 1,
            Joined::Leg | Joined::Orphan => {}
        }
    }

    fn sighting(&self, at: Nanos, way: Way, found: &Found, row: GroupId) -> Option<Sighting> {
        let conversation = self.flows.get(way)?;
        let key = conversation.flow(way.side).key;
        let topology = conversation.protocol()?.topology();
        let node = |pid, addr| Node { pid, addr, scope: key.scope };
        Some(Sighting {
            way,
            extent: found.extent,
            at,
            sender: node(self.sender_of(way), key.src),
            receiver: node(self.receiver_of(way), key.dst),
            to_server: topology == Topology::Brokered && self.flows.server(way)? != way.side,
            topology,
            identity: found.identity,
            stamp: found.stamp,
            payload_len: found.payload_len,
            row,
        })
    }

    /// The row of a conversation, once its protocol is known.
    pub(crate) fn row_of(&mut self, way: Way) -> Option<GroupId> {
        let conversation = self.flows.get(way)?;
        let protocol = conversation.protocol()?;
        let state = self.sockets.learned + self.rows.labels() as u64;
        if let Some((row, known)) = conversation.row
            && known == state
        {
            return Some(row);
        }
        let key = conversation.flows[0].key;
        let pids = [self.sender_of(way), self.receiver_of(way)];
        let pids: ArrayVec<Pid, 2> = pids.into_iter().flatten().collect();
        let server = self.server_address(way)?;
        let row = self.rows.row_of(protocol, key, server, &pids);
        let serves = self.flows.server(way).map(|side| Way { side, ..way });
        let server_pid = serves.and_then(|way| self.sender_of(way));
        if let Some(row) = self.rows.get_mut(row) {
            row.server = row.server.or(server_pid);
        }
        self.flows.get_mut(way)?.row = Some((row, state));
        Some(row)
    }

    /// The conversation has something that waits.
    pub(crate) fn activate(&mut self, way: Way) {
        if let Some(conversation) = self.flows.get_mut(way)
            && !std::mem::replace(&mut conversation.active, true)
        {
            self.active.push(way);
        }
    }

    /// Completes the legs whose time has come, and hands out the deliveries that end with them.
    pub(crate) fn settle(&mut self, out: &mut dyn DeliverySink, all: bool) {
        let mut active = std::mem::take(&mut self.active);
        active.retain(|&way| {
            for way in [way, way.back()] {
                self.settle_flow(way, out, all);
            }
            let Some(conversation) = self.flows.get_mut(way) else { return false };
            let is_waiting =
                |flow: &crate::flow::Flow| !flow.pending.is_empty() || flow.bytes.is_waiting();
            conversation.active = conversation.flows.iter().any(is_waiting);
            conversation.active
        });
        active.append(&mut self.active);
        self.active = active;
    }

    fn settle_flow(&mut self, way: Way, out: &mut dyn DeliverySink, all: bool) {
        let limit = self.now - self.config.patience;
        if let Some(conversation) = self.flows.get_mut(way)
            && conversation.flow(way.side).bytes.is_waiting()
        {
            conversation.reassemble(way.side, &mut self.found, |flow, out| {
                if all { flow.interrupt(out) } else { flow.give_up(limit, out) }
            });
            self.sight_found(self.now, way);
        }
        while let Some(&key) = self.flows.flow(way).and_then(|flow| flow.pending.front()) {
            if let Some(leg) = self.messages.leg(key)
                && !all
                && !self.is_settled(leg)
            {
                break;
            }
            if let Some(flow) = self.flows.flow_mut(way) {
                flow.pending.pop_front();
            }
            self.complete(key, out);
        }
        self.prune(way);
    }

    /// Whether nothing more is expected of a leg.
    fn is_settled(&self, leg: &LegState) -> bool {
        let hold = self.config.hold;
        let held = |since: Nanos| since + hold <= self.now;
        let Some(flow) = self.flows.flow(leg.way) else { return true };
        if let Some(read) = flow.marks.read_at(leg.extent) {
            return held(read);
        }
        let is_remote = flow.receiver.is_none() && !flow.marks.was_received(leg.extent);
        leg.at + self.config.patience <= self.now
            || (leg.at < self.window.cut && held(self.window.cut))
            || flow.marks.passed_at(leg.extent).is_some_and(|at| held(at.max(leg.at)))
            || (is_remote && held(leg.at))
    }

    fn complete(&mut self, key: LegKey, out: &mut dyn DeliverySink) {
        let Some(state) = self.messages.leg(key) else { return };
        let (way, extent, message) = (state.way, state.extent, state.message);
        let Some(flow) = self.flows.flow(way) else { return };
        let is_remote = flow.receiver.is_none() && !flow.marks.was_received(extent);
        let has_sends = flow.has_sends;
        let (flow_key, from, to) = (flow.key, flow.sender, flow.receiver);
        let mut dropped = 0;
        let mut legs = (0..flow.marks.readers(extent).max(1)).map(|reader| {
            let (leg, backwards) = leg::build(flow_key, from, to, flow.marks.path(extent, reader));
            dropped += backwards;
            leg
        });
        let first = legs.next();
        // Only a multicast has more than one reader.
        let others: Vec<Leg> = legs.filter(|leg| leg.times.get(Stage::Read).is_some()).collect();
        self.totals.anomalies += dropped;
        let Some(first) = first else { return };
        let whole = |leg: &Leg| leg.times.get(Stage::Send).is_some() || !has_sends;
        let is_whole = whole(&first);
        let mut ends = Vec::new();
        self.messages.complete(key, first, is_whole, is_remote, &mut ends);
        let Some(message) = self.messages.message(message) else { return };
        let (id, group, stamp) = (message.id, message.row, message.stamp);
        let payload_len = message.payload_len;
        if is_remote && let Some(row) = self.rows.get_mut(group) {
            row.to_remote += 1;
        }
        for end in ends {
            if let Some(ready) = self.delivery(end) {
                self.hand_out(ready, out);
            }
        }
        for leg in others {
            let whole = whole(&leg);
            let legs = ArrayVec::from_iter([leg]);
            let delivery = Delivery { message: id, group, stamp, payload_len, legs };
            self.hand_out(Ready { delivery, whole }, out);
        }
    }

    /// The delivery that ends with this leg.
    fn delivery(&self, end: usize) -> Option<Ready> {
        let mut path: ArrayVec<&LegState, MAX_LEGS> =
            self.messages.path(end).take(MAX_LEGS).collect();
        path.reverse();
        let message = self.messages.message(path.first()?.message)?;
        let mut whole = path.iter().all(|state| state.whole);
        let mut legs: ArrayVec<Leg, MAX_LEGS> =
            path.iter().filter_map(|state| state.leg.clone()).collect();
        whole &= legs.len() == path.len();
        for after in 1..legs.len() {
            let Some((_, begins)) = legs[after].times.seen().next() else { continue };
            whole &= leg::cut_after(&mut legs[after - 1], begins);
        }
        let delivery = Delivery {
            message: message.id,
            group: message.row,
            stamp: message.stamp,
            payload_len: message.payload_len,
            legs,
        };
        Some(Ready { delivery, whole })
    }

    fn hand_out(&mut self, ready: Ready, out: &mut dyn DeliverySink) {
        let Ready { delivery, whole } = ready;
        if delivery.stamp.is_some_and(|stamp: Stamp| stamp.warmup) {
            return;
        }
        let Some(read) = read_at(&delivery) else { return };
        let one_way = delivery.one_way().filter(|_| whole);
        let now = self.now;
        let Some(row) = self.rows.get_mut(delivery.group) else { return };
        row.counts.delivered += 1;
        row.stats.delivered(now, read, delivery.payload_len, one_way);
        let Some(one_way) = one_way else {
            row.counts.uncovered += 1;
            return;
        };
        row.counts.matched += 1;
        row.stats.matched(&delivery, one_way);
        if delivery.legs[0].times.get(Stage::Send).is_none() {
            row.without_send += 1;
        }
        self.note_roles(&delivery);
        out.delivery(&delivery);
    }

    fn note_roles(&mut self, delivery: &Delivery) {
        let pid = |task: Option<wirelap_events::TaskId>, socket| {
            task.map(|task| task.pid).filter(|&pid| pid != Pid(0)).or(self.sockets.pid(socket))
        };
        let mut roles: ArrayVec<(Pid, fn(&mut crate::rows::Role)), { 2 * MAX_LEGS }> =
            ArrayVec::new();
        for (index, leg) in delivery.legs.iter().enumerate() {
            let is_last = index + 1 == delivery.legs.len();
            if let Some(pid) = pid(leg.sender, leg.from) {
                roles.push((
                    pid,
                    if index == 0 { |r| r.publishes = true } else { |r| r.forwards = true },
                ));
            }
            if let Some(pid) = pid(leg.reader, leg.to) {
                roles.push((
                    pid,
                    if is_last { |r| r.subscribes = true } else { |r| r.forwards = true },
                ));
            }
        }
        let Some(row) = self.rows.get_mut(delivery.group) else { return };
        for (pid, note) in roles {
            if row.roles.len() < crate::rows::PROCESSES || row.roles.contains_key(&pid) {
                note(row.roles.entry(pid).or_default());
            }
        }
    }

    /// Gives up the messages whose time has come.
    pub(crate) fn expire(&mut self, all: bool) {
        while let Some((row, _, left)) = self.messages.expire(self.now, all) {
            self.count_leftover(row, left);
        }
    }

    fn count_leftover(&mut self, row: GroupId, left: crate::join::Leftover) {
        if let Some(row) = self.rows.get_mut(row) {
            row.counts.delivered += left.unjoined;
            row.counts.uncovered += left.unjoined + left.unread;
        }
    }

    /// Forgets the marks that nobody will ask for.
    fn prune(&mut self, way: Way) {
        let patience = self.now - Nanos(self.config.hold.0.saturating_mul(10));
        let first = self.flows.flow(way).and_then(|flow| flow.pending.front()).copied();
        let first = first.and_then(|key| self.messages.leg(key)).map(|leg| leg.extent.start);
        let Some(flow) = self.flows.flow_mut(way) else { return };
        match &mut flow.marks {
            Marks::Tcp(marks) => {
                let next = flow.bytes.next().unwrap_or(Offset(0));
                let open = flow.stream.as_ref().map_or(u64::MAX, |stream| stream.pending_bytes());
                let decoded = Offset(next.0.saturating_sub(open));
                marks.prune(first.map_or(decoded, |first| first.min(decoded)));
            }
            Marks::Udp(marks) => {
                let next = marks.next();
                marks.prune(first.map_or(next, |first| first.min(next)), patience);
            }
        }
    }

    /// Once a second: forgets what is closed.
    pub(crate) fn sweep(&mut self) {
        if self.now < self.swept + SWEEP {
            return;
        }
        self.swept = self.now;
        let limit = self.now - self.config.patience;
        let is_over = |conversation: &Conversation| {
            conversation.closed && !conversation.active && conversation.seen < limit
        };
        let over: Vec<Way> = self
            .flows
            .iter()
            .filter(|(_, conversation)| is_over(conversation))
            .map(|(way, _)| way)
            .collect();
        for way in over {
            self.forget(way);
        }
        self.sockets.sweep(limit);
    }

    /// Forgets a conversation; what it added up to stays.
    pub(crate) fn forget(&mut self, way: Way) {
        let row = self.row_of(way);
        let Some(gone) = self.flows.remove(way) else { return };
        self.totals.undecoded += gone.undecoded_bytes();
        self.totals.mark_evictions +=
            gone.flows.iter().map(|flow| flow.marks.evicted()).sum::<u64>();
        if matches!(gone.state, State::Decoding(..)) {
            self.totals.uncaptured += gone.uncaptured;
        }
        if let Some(row) = row.and_then(|row| self.rows.get_mut(row)) {
            crate::ledger::add(&mut row.past, &gone.ledger.overhead());
        }
    }
}
