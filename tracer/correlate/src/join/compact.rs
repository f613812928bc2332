//! A leg in little room: encoded, without what is the same for all legs of its flow.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wirelap_events::{
    Circumstances, FlowRange, Leg, Nanos, Saturate, SocketId, Stage, StageTimes, TaskId,
};
use wirelap_flow::FlowEnds;

/// Room for every leg. A leg that needed more would be kept whole.
const MOST_BYTES: usize = 2048;

/// Stages that were seen, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn with(mut self, times: &[Nanos]) -> impl Iterator<Item = (Stage, Nanos)> + '_ {
        std::iter::from_fn(move || self.take_first()).zip(times.iter().copied())
    }

    /// Takes the first one off, in the order of [`Stage::ALL`].
    fn take_first(&mut self) -> Option<Stage> {
        let stage = Stage::ALL.get(self.0.trailing_zeros() as usize).copied()?;
        self.0 &= self.0.saturating_sub(1);
        Some(stage)
    }
}

/// A leg of a flow that is known elsewhere, encoded: the sender, which stages were seen and when, then all the rest.
#[derive(Debug)]
pub struct CompactLeg(Box<[u8]>);

/// The part of a leg that is encoded as it is.
#[derive(Serialize, Deserialize)]
struct Rest {
    from: Option<SocketId>,
    to: Option<SocketId>,
    reader: Option<TaskId>,
    flow_range: FlowRange,
    circumstances: Circumstances,
}

impl CompactLeg {
    /// Encodes a leg; `None` if it is not of this flow, or larger than any should be.
    pub fn of(leg: &Leg, ends: &FlowEnds) -> Option<CompactLeg> {
        if leg.flow != ends.flow {
            return None;
        }
        let mut buffer = [0; MOST_BYTES];
        let mut writer = Writer { buffer: &mut buffer, len: 0 };
        writer.write(&(leg.sender, SeenStages::of(&leg.times)))?;
        let mut before = 0;
        for (_, Nanos(at)) in leg.times.seen() {
            writer.write(&at.wrapping_sub(before))?;
            before = at;
        }
        for hops in [&leg.chain, &leg.before] {
            writer.write(&hops.len())?;
            hops.iter().try_for_each(|hop| writer.write(hop))?;
        }
        let (from, to, reader, flow_range) = (leg.from, leg.to, leg.reader, leg.flow_range);
        let circumstances = leg.circumstances;
        writer.write(&Rest { from, to, reader, flow_range, circumstances })?;
        Some(CompactLeg(writer.written().into()))
    }

    /// Makes `place` the leg, which is of this flow. Returns false if it cannot be decoded, which does not happen.
    pub fn put(&self, ends: &FlowEnds, place: &mut Leg) -> bool {
        place.flow = ends.flow;
        place.times = StageTimes::default();
        let is_whole = self.read(place).is_some();
        debug_assert!(is_whole, "what was encoded is decoded");
        is_whole
    }

    fn read(&self, place: &mut Leg) -> Option<()> {
        let mut bytes = &*self.0;
        place.sender = read(&mut bytes)?;
        for time in Times::of(&mut bytes)? {
            let (stage, at) = time?;
            place.times.set(stage, at);
        }
        for hops in [&mut place.chain, &mut place.before] {
            hops.clear();
            for _ in 0..read::<usize>(&mut bytes)? {
                hops.push(read(&mut bytes)?);
            }
        }
        let Rest { from, to, reader, flow_range, circumstances } = read(&mut bytes)?;
        (place.from, place.to, place.reader, place.flow_range) = (from, to, reader, flow_range);
        place.circumstances = circumstances;
        Some(())
    }

    /// The thread that sent it, and when.
    pub fn sent(&self) -> (Option<TaskId>, Option<Nanos>) {
        let sender = read(&mut &*self.0).flatten();
        (sender, self.at(Stage::Send))
    }

    /// Time at which it passed a stage.
    pub fn at(&self, stage: Stage) -> Option<Nanos> {
        let mut bytes = &*self.0;
        read::<Option<TaskId>>(&mut bytes)?;
        let mut times = Times::of(&mut bytes)?.flatten();
        times.find_map(|(seen, at)| (seen == stage).then_some(at))
    }
}

/// The stages that were seen, which follow an encoded leg's sender; `None` for what cannot be decoded.
struct Times<'a, 'b> {
    stages: SeenStages,
    at: u64,
    bytes: &'a mut &'b [u8],
}

impl<'a, 'b> Times<'a, 'b> {
    fn of(bytes: &'a mut &'b [u8]) -> Option<Times<'a, 'b>> {
        Some(Times { stages: read(bytes)?, at: 0, bytes })
    }
}

impl Iterator for Times<'_, '_> {
    type Item = Option<(Stage, Nanos)>;

    fn next(&mut self) -> Option<Self::Item> {
        let stage = self.stages.take_first()?;
        let since = read::<u64>(self.bytes);
        Some(since.map(|since| {
            self.at = self.at.wrapping_add(since);
            (stage, Nanos(self.at))
        }))
    }
}

/// Takes a value off the bytes.
fn read<T: DeserializeOwned>(bytes: &mut &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    *bytes = rest;
    Some(value)
}

/// Values one after the other.
struct Writer<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl Writer<'_> {
    /// `None` if there is no room for the value.
    fn write(&mut self, value: &impl Serialize) -> Option<()> {
        let written = postcard::to_slice(value, self.buffer.get_mut(self.len..)?).ok()?.len();
        self.len.grow(written);
        Some(())
    }

    fn written(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{
        AckRoundTrip, ByteRange, Comm, Cpu, Credit, DropCause, EarlierBytes, FanOut, FlowId,
        FlowKey, Heard, Holder, Hop, LegHosts, LegLosses, LegPath, LinkQueue, MAX_HOPS,
        MessageRequest, MissingBytes, NetNs, OffCpuReason, Offset, Pid, ReaderArrival, Receipt,
        Recovery, Release, ReplicaWait, RequestLimits, SendPermission, SenderSocket, SleepCall,
        Tid, Transport, TxState,
    };
    use wirelap_flow::Node;

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
                socket: SenderSocket {
                    tx: Some(TxState::default()),
                    send_len: 9,
                    ..SenderSocket::default()
                },
                start_up: true,
                ..Circumstances::default()
            },
        }
    }

    fn largest_release() -> Release {
        let ever = Nanos(u64::MAX);
        let recovery = Some(Recovery::Retry);
        let receipt = Receipt {
            sent: ever,
            left: ever,
            arrived: Some(ever),
            lost: ever,
            recovery,
            nagle: true,
            is_window_full: true,
        };
        Release {
            sent: ever,
            left: ever,
            arrived: ever,
            read: ever,
            waited: ever,
            nagle: true,
            resent: true,
            recovery,
            receipt: Some(receipt),
        }
    }

    /// Every stage, backwards, so that the times between them are large.
    fn farthest_times() -> StageTimes {
        let mut times = StageTimes::default();
        let stages = Stage::ALL.into_iter().zip(0_u64..);
        stages.for_each(|(stage, at)| times.set(stage, Nanos(u64::MAX - at)));
        times
    }

    fn largest_path(queue: LinkQueue) -> LegPath {
        let ever = Nanos(u64::MAX);
        LegPath {
            hosts: LegHosts { from: 255, to: 255, error: Nanos(u64::MAX) },
            distance: ever,
            round_trip: Some(AckRoundTrip { time: ever, least: ever, is_without_queue: true }),
            qdisc_queue: Some(queue),
            queue: Some(queue),
            deferred: true,
            deferred_since: ever,
            heard: Some(Heard { at: ever, delayed: true }),
        }
    }

    fn largest_request() -> MessageRequest {
        let ever = Nanos(u64::MAX);
        MessageRequest {
            made: Some(ever),
            by: Some(TaskId { pid: Pid(u32::MAX), tid: Tid(u32::MAX) }),
            read: Some(ever),
            there: Some(ever),
            free_since: Some(ever),
            between: ever,
            resent: true,
            after_loss: true,
            limits: Some(RequestLimits { longest: ever, least_bytes: u64::MAX }),
            filled: Some(ever),
            awaits_commit: true,
        }
    }

    /// A leg of which everything is known, in the numbers that take most room.
    fn largest() -> Leg {
        let ever = Nanos(u64::MAX);
        let task = TaskId { pid: Pid(u32::MAX), tid: Tid(u32::MAX) };
        let tx = TxState {
            in_flight: u32::MAX,
            unsent: u32::MAX,
            window: u32::MAX,
            mss: u32::MAX,
            cwnd: u32::MAX,
            segments_out: u32::MAX,
            send_buffer: u32::MAX,
            pacing: u64::MAX,
            min_rtt: u32::MAX,
            ..TxState::default()
        };
        let earlier =
            EarlierBytes { since: ever, time: ever, tx, send_len: u32::MAX, no_room: true };
        let queue = LinkQueue { from: ever, to: ever, longest: ever, least: ever, rate: u64::MAX };
        let release = largest_release();
        let recovery = release.recovery;
        let hop = Hop {
            task,
            woken: ever,
            running: ever,
            left: Some(ever),
            reason: OffCpuReason::Preempted,
            from_irq: true,
            cpu: Some(Cpu(u16::MAX)),
            migrated: true,
            holder: Holder { task, comm: Comm([0xFF; 16]), held: ever },
            sleep: SleepCall::Poll,
        };
        let times = farthest_times();
        let range = ByteRange { start: Offset(u64::MAX), end: Offset(u64::MAX) };
        let by = Some(task);
        let credit = Credit { at: ever, full: ever, own: ever, unknown: ever, by };
        Leg {
            flow: ends(1).flow,
            from: Some(SocketId(u64::MAX)),
            to: Some(SocketId(u64::MAX)),
            sender: Some(task),
            reader: Some(task),
            times,
            chain: vec![hop; MAX_HOPS],
            before: vec![hop; MAX_HOPS],
            flow_range: FlowRange { flow: FlowId(u64::MAX), range },
            circumstances: Circumstances {
                socket: SenderSocket {
                    tx: Some(tx),
                    send_len: u32::MAX,
                    whole_segment: true,
                    acked: Some(ever),
                    no_room: true,
                    awaited_room: ever,
                    is_room_unseen: true,
                    behind: Some(earlier),
                    held_before: Some(earlier),
                    held_in_write: Some(earlier),
                },
                loss: LegLosses {
                    resent: true,
                    behind: true,
                    overtook: true,
                    in_write: ever,
                    in_socket: ever,
                    missing: Some((ever, ever)),
                    missing_by: Some(MissingBytes { by_receiver: true, recovery }),
                    shrunk_window: true,
                    recovery,
                    dropped: Some(DropCause::Other),
                },
                path: largest_path(queue),
                request: largest_request(),
                subscription: ReaderArrival {
                    ready: Some(ever),
                    sender_was_gone: true,
                    handed_over: true,
                    has_expired: true,
                },
                permission: SendPermission {
                    release: Some(release),
                    credit: Some(credit),
                    throttled: ever,
                    answers_in_turn: true,
                    requests_unread: Some((ever, ever)),
                    publisher_unread: Some((ever, ever)),
                    at_earlier: ever,
                    replica: Some(ReplicaWait { time: ever, server: Some(task) }),
                },
                unread: Some((ever, ever)),
                reader_unobserved: true,
                start_up: true,
                fan_out: Some(FanOut { position: u32::MAX, readers: u32::MAX, first_sent: ever }),
            },
        }
    }

    #[test]
    fn even_the_largest_leg_is_encoded_and_a_usual_one_takes_little() {
        let encoded = |leg: &Leg| CompactLeg::of(leg, &ends(1)).unwrap().0.len();
        assert!((1600..MOST_BYTES).contains(&encoded(&largest())), "{}", encoded(&largest()));
        assert!(encoded(&leg()) * 4 < size_of::<Leg>(), "{}", encoded(&leg()));
    }

    #[test]
    fn a_leg_comes_out_as_it_went_in() {
        let mut rare = leg();
        rare.circumstances.loss.resent = true;
        rare.circumstances.socket.acked = Some(Nanos(8));
        for leg in [leg(), rare, largest()] {
            let compact = CompactLeg::of(&leg, &ends(1)).unwrap();
            let mut place = self::leg();
            place.times.set(Stage::Read, Nanos(90));
            assert!(compact.put(&ends(1), &mut place));
            assert_eq!(place, leg);
            assert_eq!(compact.sent(), (leg.sender, leg.times.get(Stage::Send)));
            for stage in Stage::ALL {
                assert_eq!(compact.at(stage), leg.times.get(stage));
            }
        }
        assert!(CompactLeg::of(&leg(), &ends(2)).is_none());
    }
}
