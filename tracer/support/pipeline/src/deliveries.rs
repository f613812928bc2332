//! Messages made up for tests and for looking at the screen by hand. They belong to the rows of [`crate::snapshots::five`].

use wirelap_correlate::{DelayCause, VerdictKind};
use wirelap_events::{
    ByteRange, Circumstances, Comm, Delivery, DropCause, FlowId, FlowKey, FlowRange, GroupId,
    Holder, Hop, Leg, LegOffCpu, MessageId, Nagle, Nanos, NetNs, OffCpu, OffCpuReason, Offset, Pid,
    Recovery, Segment, SenderSocket, SleepCall, Stage, Stamp, TaskId, Tid, TopicId, Transport,
    TxState,
};
use wirelap_test_support::delivered;

/// The row of the brokered messages: mqtt at mosquitto.
pub const BROKERED: GroupId = GroupId(2);
/// Beginning of the observation of [`crate::snapshots::five`], in nanoseconds.
const BEGIN: u64 = 100_000_000_000;

/// A message that is made up.
#[derive(Clone, Debug)]
pub struct MadeUp {
    /// The message.
    pub delivery: Delivery,
    /// Cause of the message's delay; `None` if nothing held it up.
    pub cause: Option<DelayCause>,
}

/// Brokered messages of every kind that was delivered: ordinary ones, and one for each cause that these can have.
pub fn all() -> Vec<MadeUp> {
    let mut all: Vec<MadeUp> =
        (0..40).map(|at| MadeUp { delivery: ordinary(at), cause: None }).collect();
    all.push(made(contended(41), VerdictKind::RunQueueContention, 0, Segment::RunQueue, 3_404_000));
    all.push(made(delayed(42), VerdictKind::NagleDelayedAck, 1, Segment::SocketTx, 40_100_000));
    all.push(made(lost(43), VerdictKind::Retransmission, 0, Segment::Loss, 204_000_000));
    all
}

fn made(delivery: Delivery, kind: VerdictKind, leg: usize, segment: Segment, ns: u64) -> MadeUp {
    MadeUp { delivery, cause: Some(DelayCause { kind, leg, segment, time: Nanos(ns) }) }
}

/// An ordinary message through the broker, 2 ms after the one before.
pub fn ordinary(number: u32) -> Delivery {
    let at = BEGIN + 5_000_000_000 + u64::from(number) * 2_000_000;
    let longer = u64::from(number % 7) * 900;
    let first = [0, 400, 3_100, 4_000, 6_200, 9_000, 11_800, 15_000 + longer, 17_300 + longer];
    let second = [29_000, 29_300, 32_500, 33_200, 35_900, 38_000, 40_100, 44_600, 47_200];
    brokered(number, first.map(|ns| at + ns), second.map(|ns| at + ns + longer))
}

/// A message whose readers had to wait for a CPU that others had.
pub fn contended(number: u32) -> Delivery {
    let at = BEGIN + 6_000_000_000;
    let first = [0, 400, 3_100, 4_000, 6_200, 9_000, 11_800, 3_415_800, 3_418_000];
    let second = [3_451_000, 3_451_300, 3_454_500, 3_455_200, 3_457_900, 3_460_000, 3_462_100];
    let mut all = [0; 9];
    all[..7].copy_from_slice(&second);
    (all[7], all[8]) = (3_466_600, 3_469_200);
    let mut delivery = brokered(number, first.map(|ns| at + ns), all.map(|ns| at + ns));
    let hog = holder(991, "stress-ng-cpu", 3_390_000);
    delivery.legs[0].chain = vec![Hop {
        holder: hog,
        migrated: true,
        left: Some(Nanos(at - 812_000)),
        ..hop(4_021, 4_021, at + 11_800, at + 3_415_800)
    }];
    // The broker reads with one thread and sends with another one.
    delivery.legs[1].sender = Some(task(4_021, 4_025));
    delivery.legs[1].before = vec![Hop {
        holder: holder(991, "stress-ng-cpu", 6_000),
        reason: OffCpuReason::Asleep,
        sleep: SleepCall::Lock,
        left: Some(Nanos(at + 3_418_100)),
        from_irq: false,
        ..hop(4_021, 4_025, at + 3_424_000, at + 3_433_000)
    }];
    let dwell = OffCpu {
        asleep: Nanos(2_100),
        waited: Nanos(1_200),
        preemptions: 1,
        holder: holder(991, "stress-ng-cpu", 1_100),
        ..OffCpu::NONE
    };
    delivery.off_cpu = [LegOffCpu::NONE, LegOffCpu { dwell: Some(dwell), ..LegOffCpu::NONE }]
        .into_iter()
        .collect();
    delivery
}

/// A message that Nagle's algorithm kept in the broker's socket until a delayed acknowledgement came.
pub fn delayed(number: u32) -> Delivery {
    let at = BEGIN + 7_000_000_000;
    let first = [0, 400, 3_100, 4_000, 6_200, 9_000, 11_800, 15_000, 17_300];
    let second = [29_000, 29_300, 40_132_500, 40_133_200, 40_135_900, 40_138_000, 40_140_100];
    let mut all = [0; 9];
    all[..7].copy_from_slice(&second);
    (all[7], all[8]) = (40_144_600, 40_147_200);
    let mut delivery = brokered(number, first.map(|ns| at + ns), all.map(|ns| at + ns));
    let circumstances = &mut delivery.legs[1].circumstances;
    circumstances.socket.acked = Some(Nanos(at + 40_131_000));
    if let Some(tx) = &mut circumstances.socket.tx {
        (tx.nagle, tx.in_flight, tx.segments_out) = (Nagle::On, 98, 1);
    }
    delivery
}

/// A message of which a packet was lost on the first leg.
pub fn lost(number: u32) -> Delivery {
    let at = BEGIN + 8_000_000_000;
    let first = [0, 400, 204_003_100, 204_004_000, 204_006_200, 204_009_000, 204_011_800];
    let mut all = [0; 9];
    all[..7].copy_from_slice(&first);
    (all[7], all[8]) = (204_015_000, 204_017_300);
    let second = [
        204_029_000,
        204_029_300,
        204_032_500,
        204_033_200,
        204_035_900,
        204_038_000,
        204_040_100,
        204_044_600,
        204_047_200,
    ];
    let mut delivery = brokered(number, all.map(|ns| at + ns), second.map(|ns| at + ns));
    delivery.legs[0].times.set(Stage::Lost, Nanos(at + 3_100));
    let circumstances = &mut delivery.legs[0].circumstances;
    circumstances.loss.resent = true;
    circumstances.loss.recovery = Some(Recovery::Timeout);
    circumstances.loss.dropped = Some(DropCause::Filter);
    delivery
}

/// A message that the broker has read and nobody got.
pub fn undelivered(number: u32) -> Delivery {
    let mut delivery = ordinary(number);
    delivery.legs.pop();
    delivery
}

/// A message of another program, over UDP and IPv6, of which two stages of one leg were seen. Its names and figures are extreme.
pub fn extreme() -> Delivery {
    let ends = ["[fe80::dead:beef:dead:beef]:65535", "[ff02::1234:5678:9abc:def0]:65534"];
    let [src, dst] = ends.map(|end| end.parse().unwrap());
    let leg = Leg {
        flow: FlowKey::new(Transport::Udp, src, dst, NetNs(0)),
        sender: Some(task(4_194_303, 4_194_304)),
        flow_range: range(0, u64::MAX >> 8),
        ..delivered::leg(&[(Stage::Send, BEGIN + 1), (Stage::Read, BEGIN + 86_400_000_000_000)])
    };
    Delivery {
        message: MessageId(u64::MAX),
        group: BROKERED,
        payload_len: u64::MAX >> 8,
        topic: Some(TopicId(1)),
        ..delivered::delivery([leg])
    }
}

/// Two legs with all stages from send to read, in nanoseconds.
fn brokered(number: u32, first: [u64; 9], second: [u64; 9]) -> Delivery {
    let offset = u64::from(number) * 98;
    let one = leg((40_020, 1_883), (4_020, 4_021), first, offset);
    let two = leg((1_883, 40_022), (4_021, 4_022), second, offset);
    Delivery {
        message: MessageId(1_000 + u64::from(number)),
        group: BROKERED,
        stamp: Some(Stamp { stream: 0, seq: number, reply: false, warmup: false }),
        topic: Some(TopicId(0)),
        ..delivered::delivery([one, two])
    }
}

fn leg(ports: (u16, u16), pids: (u32, u32), times: [u64; 9], offset: u64) -> Leg {
    const STAGES: [Stage; 9] = [
        Stage::Send,
        Stage::Sent,
        Stage::Queue,
        Stage::Xmit,
        Stage::Rx,
        Stage::Ready,
        Stage::Wakeup,
        Stage::Running,
        Stage::Read,
    ];
    let stages: Vec<_> = STAGES.into_iter().zip(times).collect();
    let tx = TxState {
        window: 65_536,
        mss: 65_483,
        cwnd: 10,
        nagle: Nagle::Off,
        send_buffer: 2_626_560,
        ..TxState::default()
    };
    Leg {
        flow: delivered::flow(ports.0, ports.1),
        sender: Some(task(pids.0, pids.0)),
        reader: Some(task(pids.1, pids.1)),
        chain: vec![hop(pids.1, pids.1, times[6], times[7])],
        flow_range: range(offset, 78),
        circumstances: Circumstances {
            socket: SenderSocket { tx: Some(tx), send_len: 78, ..SenderSocket::default() },
            ..Circumstances::default()
        },
        ..delivered::leg(&stages)
    }
}

fn range(offset: u64, len: u64) -> FlowRange {
    FlowRange { flow: FlowId(7), range: ByteRange::new(Offset::START.plus(offset), len) }
}

fn hop(pid: u32, tid: u32, woken: u64, running: u64) -> Hop {
    let (woken, running) = (Nanos(woken), Nanos(running));
    Hop { task: task(pid, tid), woken, running, from_irq: true, ..Hop::default() }
}

fn holder(pid: u32, name: &str, held: u64) -> Holder {
    Holder { task: task(pid, pid), comm: Comm::from_name(name), held: Nanos(held) }
}

fn task(pid: u32, tid: u32) -> TaskId {
    TaskId { pid: Pid(pid), tid: Tid(tid) }
}
