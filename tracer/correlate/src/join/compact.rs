//! A leg in little room: without the stages that were not seen, and what is the same for all legs of its flow.

use crate::ids::FlowEnds;
use wirelap_events::{
    Circumstances, FlowRange, Hop, Leg, Nanos, SocketId, Stage, StageTimes, TaskId, TxState,
};

/// Which stages were seen, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenStages(u16);

impl SeenStages {
    pub fn of(times: &StageTimes) -> SeenStages {
        SeenStages(times.seen().fold(0, |bits, (stage, _)| bits | 1 << stage as u16))
    }

    /// The time of a stage among those of the stages that were seen; `None` if it was not seen.
    pub fn at(self, stage: Stage, times: &[Nanos]) -> Option<Nanos> {
        let bit = 1_u16 << stage as u16;
        let before = (self.0 & bit.wrapping_sub(1)).count_ones() as usize;
        (self.0 & bit != 0).then(|| times.get(before).copied()).flatten()
    }

    /// The stages with their times, which are in the same order.
    pub fn with(self, times: &[Nanos]) -> impl Iterator<Item = (Stage, Nanos)> + '_ {
        let mut bits = self.0;
        let stages = std::iter::from_fn(move || {
            let stage = Stage::ALL.get(bits.trailing_zeros() as usize).copied()?;
            bits &= bits.saturating_sub(1);
            Some(stage)
        });
        stages.zip(times.iter().copied())
    }
}

/// A leg of a flow that is known elsewhere.
#[derive(Debug)]
pub struct CompactLeg {
    from: Option<SocketId>,
    to: Option<SocketId>,
    sender: Option<TaskId>,
    reader: Option<TaskId>,
    stages: SeenStages,
    /// Of the stages that were seen.
    times: Box<[Nanos]>,
    chain: Box<[Hop]>,
    before: Box<[Hop]>,
    flow_range: FlowRange,
    tx: Option<TxState>,
    send_len: u32,
    whole_segment: bool,
    deferred: bool,
    start_up: bool,
    /// All circumstances, if there are others than those above.
    others: Option<Box<Circumstances>>,
}

impl CompactLeg {
    /// Of a leg, whose wake chains are taken out; `None` if it is not of this flow.
    pub fn of(leg: &mut Leg, ends: &FlowEnds) -> Option<CompactLeg> {
        if leg.flow != ends.flow {
            return None;
        }
        let Circumstances { tx, send_len, whole_segment, deferred, start_up, .. } =
            leg.circumstances;
        let usual = Circumstances {
            tx,
            send_len,
            whole_segment,
            deferred,
            start_up,
            ..Circumstances::default()
        };
        Some(CompactLeg {
            from: leg.from,
            to: leg.to,
            sender: leg.sender,
            reader: leg.reader,
            stages: SeenStages::of(&leg.times),
            times: leg.times.seen().map(|(_, at)| at).collect(),
            chain: std::mem::take(&mut leg.chain).into(),
            before: std::mem::take(&mut leg.before).into(),
            flow_range: leg.flow_range,
            tx,
            send_len,
            whole_segment,
            deferred,
            start_up,
            others: (leg.circumstances != usual).then(|| Box::new(leg.circumstances)),
        })
    }

    /// Makes `place` the leg, which is of this flow.
    pub fn put(&self, ends: &FlowEnds, place: &mut Leg) {
        place.flow = ends.flow;
        (place.from, place.to) = (self.from, self.to);
        (place.sender, place.reader) = (self.sender, self.reader);
        place.times = StageTimes::default();
        self.seen().for_each(|(stage, at)| place.times.set(stage, at));
        place.chain.clear();
        place.chain.extend_from_slice(&self.chain);
        place.before.clear();
        place.before.extend_from_slice(&self.before);
        place.flow_range = self.flow_range;
        let usual = || Circumstances {
            tx: self.tx,
            send_len: self.send_len,
            whole_segment: self.whole_segment,
            deferred: self.deferred,
            start_up: self.start_up,
            ..Circumstances::default()
        };
        place.circumstances = self.others.as_deref().copied().unwrap_or_else(usual);
    }

    /// Who sent it.
    pub fn sender(&self) -> Option<TaskId> {
        self.sender
    }

    /// When it passed a stage.
    pub fn at(&self, stage: Stage) -> Option<Nanos> {
        self.stages.at(stage, &self.times)
    }

    fn seen(&self) -> impl Iterator<Item = (Stage, Nanos)> + '_ {
        self.stages.with(&self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Node;
    use wirelap_events::{ByteRange, FlowId, FlowKey, NetNs, Offset, Tid, Transport};

    fn ends(port: u16) -> FlowEnds {
        let addr = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let node = Node { pid: None, addr, scope: NetNs(0), netns: None, party: None };
        let flow = FlowKey::new(Transport::Tcp, addr, addr, NetNs(0));
        FlowEnds { flow, sender: node, receiver: node }
    }

    fn leg() -> Leg {
        let mut times = StageTimes::default();
        Stage::ALL.into_iter().step_by(2).zip(5..).for_each(|(s, at)| times.set(s, Nanos(at)));
        let hop =
            |tid| Hop { task: TaskId { tid: Tid(tid), ..TaskId::default() }, ..Hop::default() };
        Leg {
            flow: ends(1).flow,
            from: Some(SocketId(1)),
            to: None,
            sender: Some(TaskId::default()),
            reader: None,
            times,
            chain: vec![hop(1), hop(2)],
            before: vec![hop(3)],
            flow_range: FlowRange { flow: FlowId(3), range: ByteRange::new(Offset(5), 7) },
            circumstances: Circumstances {
                tx: Some(TxState::default()),
                send_len: 9,
                start_up: true,
                ..Circumstances::default()
            },
        }
    }

    #[test]
    fn a_leg_comes_out_as_it_went_in() {
        let mut rare = leg();
        rare.circumstances.resent = true;
        rare.circumstances.acked = Some(Nanos(8));
        for leg in [leg(), rare] {
            let compact = CompactLeg::of(&mut leg.clone(), &ends(1)).unwrap();
            let mut place = self::leg();
            place.times.set(Stage::Read, Nanos(90));
            compact.put(&ends(1), &mut place);
            assert_eq!(place, leg);
            assert_eq!(
                (compact.sender(), compact.at(Stage::Sent)),
                (leg.sender, leg.times.get(Stage::Sent))
            );
            assert_eq!(compact.at(Stage::Send), leg.times.get(Stage::Send));
        }
        assert!(CompactLeg::of(&mut leg(), &ends(2)).is_none());
        assert!(size_of::<CompactLeg>() * 3 < size_of::<Leg>());
    }
}
