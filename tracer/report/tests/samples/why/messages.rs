//! Slow messages and what held them up.

use wirelap_correlate::WorstMessage;
use wirelap_events::{
    Circumstances, Comm, Delivery, Holder, Hop, Leg, LegOffCpu, MessageId, Nagle, Nanos, OffCpu,
    OffCpuReason, Pid, SenderSocket, Stage, Stamp, TaskId, Tid, TxState,
};
use wirelap_test_support::delivered;

fn leg(ports: (u16, u16), ends: (TaskId, TaskId), stages: &[(Stage, u64)]) -> Leg {
    let (sender, reader) = (Some(ends.0), Some(ends.1));
    Leg { flow: delivered::flow(ports.0, ports.1), sender, reader, ..delivered::leg(stages) }
}

fn message<const N: usize>(seq: Option<u32>, legs: [Leg; N]) -> WorstMessage {
    let delivery = Delivery {
        message: MessageId(4_711),
        stamp: seq.map(|seq| Stamp { stream: 0, seq, reply: true, warmup: false }),
        ..delivered::delivery(legs)
    };
    WorstMessage { one_way: delivery.one_way().unwrap(), delivery }
}

fn task(id: u32) -> TaskId {
    TaskId { pid: Pid(id), tid: Tid(id) }
}

/// Nagle and delayed acknowledgement, twice.
pub fn held_up() -> WorstMessage {
    let first = [(Stage::Send, 1_000_000), (Stage::Queue, 1_010_000), (Stage::Read, 1_040_000)];
    let second = [
        (Stage::Send, 1_100_000),
        (Stage::Queue, 45_100_000),
        (Stage::Ready, 45_110_000),
        (Stage::Read, 45_140_000),
    ];
    let mut second = leg((1883, 40_002), (task(77), task(71)), &second);
    second.circumstances = Circumstances {
        socket: SenderSocket {
            tx: Some(TxState {
                in_flight: 84,
                mss: 65_483,
                nagle: Nagle::On,
                ..TxState::default()
            }),
            send_len: 84,
            acked: Some(Nanos(45_090_000)),
            ..SenderSocket::default()
        },
        ..Circumstances::default()
    };
    message(Some(1_234), [leg((40_001, 1883), (task(70), task(77)), &first), second])
}

/// The reader's CPU was asleep.
pub fn across_idle() -> WorstMessage {
    let stages = [
        (Stage::Send, 1_000),
        (Stage::Queue, 2_000),
        (Stage::Ready, 3_000),
        (Stage::Wakeup, 3_500),
        (Stage::Running, 29_000),
        (Stage::Read, 30_000),
    ];
    let mut leg = leg((40_001, 40_002), (task(70), task(71)), &stages);
    leg.chain.push(Hop {
        task: task(71),
        woken: Nanos(3_500),
        running: Nanos(29_000),
        holder: Holder { task: task(0), comm: Comm::from_name("swapper/1"), held: Nanos(25_000) },
        ..Hop::default()
    });
    leg.circumstances.path.deferred = true;
    message(Some(7), [leg])
}

/// The broker's thread is ready, and another has the CPU.
pub fn outrun(number: u64, broker: TaskId, by: TaskId) -> WorstMessage {
    let first = [
        (Stage::Send, 1_000_000),
        (Stage::Ready, 1_010_000),
        (Stage::Wakeup, 1_012_000),
        (Stage::Running, 9_012_000),
        (Stage::Read, 9_020_000),
    ];
    let second = [(Stage::Send, 10_100_000), (Stage::Ready, 10_110_000), (Stage::Read, 10_140_000)];
    let mut first = leg((40_001, 1883), (task(70), broker), &first);
    first.chain.push(Hop {
        task: broker,
        woken: Nanos(1_012_000),
        running: Nanos(9_012_000),
        left: Some(Nanos(500_000)),
        reason: OffCpuReason::Asleep,
        from_irq: true,
        migrated: false,
        holder: Holder { task: by, comm: Comm::from_name("stress-ng-cpu"), held: Nanos(7_900_000) },
        ..Hop::default()
    });
    let reader = OffCpu {
        asleep: Nanos(0),
        waited: Nanos(600_000),
        preemptions: 3,
        holder: Holder { task: by, comm: Comm::from_name("stress-ng-cpu"), held: Nanos(250_000) },
        ..OffCpu::NONE
    };
    let mut second = leg((1883, 40_002), (broker, task(71)), &second);
    second.before.push(Hop {
        task: broker,
        woken: Nanos(10_000_000),
        running: Nanos(10_010_000),
        left: Some(Nanos(9_030_000)),
        reason: OffCpuReason::Blocked,
        ..Hop::default()
    });
    let mut worst = message(None, [first, second]);
    worst.delivery.off_cpu =
        [LegOffCpu { reader: Some(reader), ..LegOffCpu::NONE }, LegOffCpu::NONE]
            .into_iter()
            .collect();
    worst.delivery.message = MessageId(number);
    worst
}
