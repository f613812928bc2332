//! Legs in little room: the data kept of a leg of which nothing more is expected.
//!
//! A message that went through a broker is remembered for seconds, for a reader that gets it later. A leg of which only packets are
//! known, as in a capture, is kept in a few words meanwhile, so that tens of thousands of them fit into the CPU's caches.

use super::compact::{CompactLeg, SeenStages};
use wirelap_events::{
    Circumstances, FlowKey, FlowRange, Heard, Leg, LegHosts, LegPath, Nanos, Stage, StageTimes,
    TaskId,
};
use wirelap_flow::{FlowEnds, PacketTimes, begin_and_end};

/// Stages of a leg of which only packets are known: it began, left, came in, and ends with that.
const STAGES: usize = 4;

/// The data kept of a leg.
#[derive(Debug)]
pub enum KeptLeg {
    /// More is expected.
    Open,
    /// Only its packets are known.
    Packets(PacketLeg),
    /// Everything that was seen of it.
    Whole(Box<Leg>),
    /// Everything that was seen of it. A delivery was handed out with it, and others may be with those to whom it goes on late.
    Compact(CompactLeg),
    /// Handed out, and nothing went on from it: legs beside it ask only who sent it, and when.
    HandedOut { sender: Option<TaskId>, send: Option<Nanos> },
}

/// A leg of which only packets are known.
#[derive(Clone, Copy, Debug)]
pub struct PacketLeg {
    stages: SeenStages,
    /// Times of the stages that were seen; there may be fewer.
    times: [Nanos; STAGES],
    heard: Option<Heard>,
    hosts: LegHosts,
    start_up: bool,
}

impl PacketLeg {
    /// The packets of a leg of a flow; `None` if more than packets is known of it.
    fn of(leg: &Leg, ends: &FlowEnds, range: FlowRange) -> Option<PacketLeg> {
        let LegPath { heard, hosts, .. } = leg.circumstances.path;
        let start_up = leg.circumstances.start_up;
        let is_bare = leg.from.is_none()
            && leg.to.is_none()
            && leg.sender.is_none()
            && leg.reader.is_none()
            && leg.chain.is_empty()
            && leg.before.is_empty()
            && leg.flow_range == range
            && leg.flow == ends.flow
            && leg.circumstances == of_packets(heard, hosts, start_up);
        if !is_bare || leg.times.seen().nth(STAGES).is_some() {
            return None;
        }
        Some(PacketLeg::new(&leg.times, heard, hosts, start_up))
    }

    /// A leg that packets alone tell of, and that begins and ends with them.
    pub fn alone(seen: PacketTimes, hosts: LegHosts, start_up: bool) -> PacketLeg {
        let mut times = StageTimes::default();
        for (stage, at) in [(Stage::Xmit, seen.xmit), (Stage::Rx, seen.rx)] {
            if let Some(at) = at {
                times.set(stage, at);
            }
        }
        begin_and_end(&mut times, seen.began);
        PacketLeg::new(&times, seen.heard, hosts, start_up)
    }

    fn new(seen: &StageTimes, heard: Option<Heard>, hosts: LegHosts, start_up: bool) -> PacketLeg {
        let mut times = [Nanos(0); STAGES];
        times.iter_mut().zip(seen.seen()).for_each(|(place, (_, at))| *place = at);
        PacketLeg { stages: SeenStages::of(seen), times, heard, hosts, start_up }
    }

    fn seen(&self) -> impl Iterator<Item = (Stage, Nanos)> + '_ {
        self.stages.with(&self.times)
    }

    fn at(&self, stage: Stage) -> Option<Nanos> {
        self.stages.at(stage, &self.times)
    }

    /// Makes `place` the leg, in this flow.
    pub fn put(&self, flow: FlowKey, range: FlowRange, place: &mut Leg) {
        place.flow = flow;
        (place.from, place.to, place.sender, place.reader) = (None, None, None, None);
        place.times = StageTimes::default();
        self.seen().for_each(|(stage, at)| place.times.set(stage, at));
        place.chain.clear();
        place.before.clear();
        place.flow_range = range;
        place.circumstances = of_packets(self.heard, self.hosts, self.start_up);
    }
}

/// The circumstances that packets alone tell of.
fn of_packets(heard: Option<Heard>, hosts: LegHosts, start_up: bool) -> Circumstances {
    let path = LegPath { heard, hosts, ..LegPath::default() };
    Circumstances { path, start_up, ..Circumstances::default() }
}

impl KeptLeg {
    /// The data to keep of a leg with these bytes of a flow, and the box that it does not need.
    pub fn of(leg: Box<Leg>, ends: &FlowEnds, range: FlowRange) -> (KeptLeg, Option<Box<Leg>>) {
        match PacketLeg::of(&leg, ends, range) {
            Some(packets) => (KeptLeg::Packets(packets), Some(leg)),
            None => (KeptLeg::Whole(leg), None),
        }
    }

    /// True if nothing more is expected.
    pub fn is_known(&self) -> bool {
        !matches!(self, KeptLeg::Open)
    }

    /// Makes `place` the leg, which has these bytes of a flow. Returns false while more is expected, and when it was handed out.
    pub fn put(&self, ends: &FlowEnds, range: FlowRange, place: &mut Leg) -> bool {
        match self {
            KeptLeg::Open | KeptLeg::HandedOut { .. } => return false,
            KeptLeg::Packets(packets) => packets.put(ends.flow, range, place),
            KeptLeg::Whole(leg) => place.clone_from(leg),
            KeptLeg::Compact(leg) => return leg.put(ends, place),
        }
        true
    }

    /// True if it is known when the leg was read.
    pub fn was_read(&self) -> bool {
        matches!(self, KeptLeg::HandedOut { .. }) || self.read_at().is_some()
    }

    /// Time at which the leg was read; `None` where that is not known, or not kept.
    pub fn read_at(&self) -> Option<Nanos> {
        match self {
            KeptLeg::Open | KeptLeg::HandedOut { .. } => None,
            KeptLeg::Packets(packets) => packets.at(Stage::Read),
            KeptLeg::Whole(leg) => leg.times.get(Stage::Read),
            KeptLeg::Compact(leg) => leg.at(Stage::Read),
        }
    }

    /// The thread that sent the leg, and when, as far as that is known; `None` while more is
    /// expected.
    pub fn sent(&self) -> Option<(Option<TaskId>, Option<Nanos>)> {
        match self {
            KeptLeg::Open => None,
            KeptLeg::Packets(packets) => Some((None, packets.at(Stage::Send))),
            KeptLeg::Whole(leg) => Some((leg.sender, leg.times.get(Stage::Send))),
            KeptLeg::Compact(leg) => Some(leg.sent()),
            KeptLeg::HandedOut { sender, send } => Some((*sender, *send)),
        }
    }

    /// True if only the leg's reader was seen here, and its packets coming in.
    pub fn has_only_reader(&self) -> bool {
        let KeptLeg::Whole(leg) = self else { return false };
        let has = |stage| leg.times.get(stage).is_some();
        leg.from.is_none() && leg.to.is_some() && has(Stage::Rx) && !has(Stage::Send)
    }

    /// The box of a leg that is forgotten, if it has one.
    pub fn into_room(self) -> Option<Box<Leg>> {
        match self {
            KeptLeg::Whole(leg) => Some(leg),
            KeptLeg::Open
            | KeptLeg::Packets(_)
            | KeptLeg::Compact(_)
            | KeptLeg::HandedOut { .. } => None,
        }
    }

    /// A delivery was handed out with it. Returns its box, if it needs that no more.
    pub fn compact(&mut self, ends: &FlowEnds) -> Option<Box<Leg>> {
        let KeptLeg::Whole(leg) = self else { return None };
        let compact = CompactLeg::of(leg, ends)?;
        std::mem::replace(self, KeptLeg::Compact(compact)).into_room()
    }

    /// Marks the leg as handed out. Returns its box, if it has one.
    pub fn hand_out(&mut self) -> Option<Box<Leg>> {
        let KeptLeg::Whole(leg) = self else { return None };
        let handed_out =
            KeptLeg::HandedOut { sender: leg.sender, send: leg.times.get(Stage::Send) };
        std::mem::replace(self, handed_out).into_room()
    }
}

#[cfg(test)]
mod tests {
    use super::super::leg::nothing;
    use super::*;
    use wirelap_events::{
        ByteRange, FlowId, FlowKey, Hop, NetNs, Offset, SocketId, Transport, TxState,
    };
    use wirelap_flow::Node;

    fn ends() -> FlowEnds {
        let addr = "127.0.0.1:1".parse().unwrap();
        let node = Node { pid: None, addr, scope: NetNs(0), netns: None, party: None };
        let flow = FlowKey::new(Transport::Tcp, addr, addr, NetNs(0));
        FlowEnds { flow, sender: node, receiver: node }
    }

    fn range() -> FlowRange {
        FlowRange { flow: FlowId(3), range: ByteRange::new(Offset(5), 7) }
    }

    /// The leg that is put into the place of another one.
    fn out(kept: &KeptLeg) -> Option<Leg> {
        let mut place = packets();
        place.chain = vec![Hop::default(); 2];
        place.sender = Some(TaskId::default());
        kept.put(&ends(), range(), &mut place).then_some(place)
    }

    fn packets() -> Leg {
        let mut times = StageTimes::default();
        times.set(Stage::Xmit, Nanos(5));
        times.set(Stage::Rx, Nanos(6));
        times.set(Stage::Read, Nanos(6));
        let (heard, start_up) = (Some(Heard { at: Nanos(9), delayed: true }), true);
        let hosts = LegHosts { from: 1, to: 2, error: Nanos(3) };
        Leg {
            times,
            flow_range: range(),
            circumstances: of_packets(heard, hosts, start_up),
            ..nothing(ends().flow)
        }
    }

    #[test]
    fn a_leg_of_packets_alone_is_kept_as_it_was() {
        let (kept, spare) = KeptLeg::of(Box::new(packets()), &ends(), range());
        assert!(spare.is_some() && matches!(kept, KeptLeg::Packets(_)) && kept.was_read());
        assert_eq!(out(&kept), Some(packets()));
    }

    #[test]
    fn a_leg_of_which_more_is_known_is_kept_whole() {
        let mut others = [packets(), packets(), packets(), packets()];
        others[0].to = Some(SocketId(7));
        others[1].circumstances.socket.tx = Some(TxState::default());
        others[2].times.set(Stage::Queue, Nanos(4));
        others[2].times.set(Stage::Lost, Nanos(3));
        others[3].flow_range.range.end = Offset(70);
        for leg in others {
            let (kept, spare) = KeptLeg::of(Box::new(leg.clone()), &ends(), range());
            assert!(spare.is_none());
            assert_eq!(out(&kept), Some(leg));
        }
    }

    #[test]
    fn a_leg_that_others_go_on_from_is_the_same_in_little_room() {
        let mut whole = packets();
        (whole.sender, whole.to) = (Some(TaskId::default()), Some(SocketId(7)));
        whole.times.set(Stage::Send, Nanos(2));
        let (mut kept, _) = KeptLeg::of(Box::new(whole.clone()), &ends(), range());
        let told = |kept: &KeptLeg| (kept.sent(), kept.read_at(), kept.was_read(), out(kept));
        let before = told(&kept);
        assert!(kept.compact(&ends()).is_some() && matches!(kept, KeptLeg::Compact(_)));
        assert_eq!(told(&kept), before);
        assert_eq!(out(&kept), Some(whole.clone()));
        // Of another flow than its ends are, it stays whole.
        whole.flow.src.set_port(9);
        let (mut kept, _) = KeptLeg::of(Box::new(whole.clone()), &ends(), range());
        assert!(kept.compact(&ends()).is_none() && matches!(kept, KeptLeg::Whole(_)));
        assert_eq!(out(&kept), Some(whole));
    }

    #[test]
    fn of_a_leg_that_was_handed_out_its_sender_is_known() {
        let mut whole = packets();
        whole.sender = Some(TaskId::default());
        whole.times.set(Stage::Send, Nanos(2));
        whole.times.clear(Stage::Xmit);
        let (mut kept, _) = KeptLeg::of(Box::new(whole), &ends(), range());
        let sent = kept.sent();
        assert_eq!(sent, Some((Some(TaskId::default()), Some(Nanos(2)))));
        assert!(kept.hand_out().is_some() && kept.hand_out().is_none());
        assert!(kept.is_known() && kept.was_read() && out(&kept).is_none());
        assert_eq!(kept.sent(), sent);
    }
}
